"""The server: collects shares it cannot read, and asks the selector's process whom to call."""

from __future__ import annotations

import functools

import numpy as np
from flwr.app import Array, ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

import callup.flower
from callup.flower.sharing import collect
from callup.privacy.loopback import exchange
from callup.privacy.serving import ServerParty

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    settings = context.run_config
    host, _, port = str(settings["selector-at"]).partition(":")
    party = ServerParty("fed-cbs", functools.partial(exchange, (host, int(port))))
    collect(grid, party, seconds=240)
    how = {name: settings[name] for name in ("k", "seed", "run")}
    strategy = callup.flower.Selecting(FedAvg(fraction_evaluate=0.0, min_available_nodes=3), party.selector, **how)
    strategy.start(grid, ArrayRecord({"w": Array(np.zeros(4, np.float32))}), int(settings["num-server-rounds"]))
