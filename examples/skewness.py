"""Who holds unusual data? FedACS's analysis on its own: one vector from each client, no training.

Run it with:  python examples/skewness.py
"""

import numpy as np

from callup import stream
from callup.analytics.skewness import analyse

rng = stream(0, "example")
patterns = rng.normal(size=(5, 50))  # what samples of each of five classes look like, on average

# Eight clients of 400 samples. Part of each client's data is of its favourite class, the rest is spread evenly.
part = {11: 0.0, 12: 0.5, 13: 0.1, 14: 0.7, 15: 0.2, 16: 0.9, 17: 0.05, 18: 0.35}
favourite = np.eye(5)[[0, 1, 2, 3, 4, 0, 1, 2]]
shares = [p * love + (1 - p) / 5 for p, love in zip(part.values(), favourite, strict=True)]

# A client sends the mean over its samples and keeps the samples. A gradient, which is such a mean, does as well.
samples = [patterns[rng.choice(5, 400, p=mix)] + rng.normal(size=(400, 50)) for mix in shares]
insights = [own.mean(axis=0) for own in samples]

found = analyse(insights, ids=part, sizes=[400] * 8)
print("client  reward    ln P  favourite class")
for client in found.ranking:
    row = found.ids.tolist().index(client)
    print(f"{client:6}  {found.reward[row]:6.2f}  {found.log_p[row]:6.0f}  {part[client]:15.0%}")
if found.estimated_bounds:
    print("Bounds were estimated from the vectors: trust the order, not ln P.")
