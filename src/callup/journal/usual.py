"""What most entries of a log have in common, for packing to refer to: it saves a third of a small entry.

It is part of the format: a log can be read only with the text it was packed with. So it is spelt out here, and not made
by whichever libraries are installed.
"""

# fmt: off
USUAL = (
    rb'{"__metadata__":{"callup":"00000000{\"number\":1,\"wanted\":10,\"reasons\":[\"late\",'
    rb'\"no reply\",\"not finite\",\"not needed\"],\"dropped\":{},\"weights\":\"0\",\"record\":{'
    rb'\"available\":100,\"digest\":\"0123456789abcdef\",\"abandoned\":false,\"qcid\":0.0,'
    rb'\"class_counts\":[1,2,3],\"accuracy\":0.1,\"loss\":0.2,\"recall\":[0.3,0.4],'
    rb'\"validation_accuracy\":0.5,\"validation_loss\":0.6,\"notes\":{},\"seconds\":0.7,\"clock\":0.8,'
    rb'\"ledger\":{\"messages\":20,\"bytes_down\":10000,\"bytes_up\":10000,\"probes\":0,'
    rb'\"local_steps\":0}}}"},"probe loss":{"dtype":"F64","shape":[10],"data_offsets":[0,80]},'
    rb'"signal duration":{"dtype":"F64","shape":[10],"data_offsets":[0,80]},"signal kept":{'
    rb'"dtype":"F64","shape":[10],"data_offsets":[80,160]},"signal loss":{"dtype":"F64","shape":[10],'
    rb'"data_offsets":[80,160]},"signal loss_rms":{"dtype":"F64","shape":[10],"data_offsets":[160,'
    rb'240]},"asked":{"dtype":"U16","shape":[10],"data_offsets":[240,260]},"failed":{"dtype":"U16",'
    rb'"shape":[0],"data_offsets":[260,260]},"probed loss":{"dtype":"U16","shape":[10],'
    rb'"data_offsets":[260,280]},"replied":{"dtype":"U8","shape":[10],"data_offsets":[280,300]},'
    rb'"why":{"dtype":"U16","shape":[0],"data_offsets":[300,300]},"available bits":{"dtype":"U8",'
    rb'"shape":[13],"data_offsets":[300,313]},"kept":{"dtype":"BOOL","shape":[10],"data_offsets":[313,'
    rb'323]}} '
)
