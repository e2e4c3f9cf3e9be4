"""The selector, a process of its own: holds the key, sees the inner products, tells nothing but ids.

python selector.py 3        for three clients; prints its address and its key, and runs until its input ends
"""

from __future__ import annotations

import json
import sys
import threading

from callup.privacy.loopback import Listener
from callup.privacy.selecting import SelectorParty

clients = int(sys.argv[1])
party = SelectorParty("fed-cbs", classes=10, roster=range(clients), seed=1, minimum=clients, sealed=True)
listener = Listener(party.answer)
threading.Thread(target=listener.serve_forever, daemon=True).start()
host, port = listener.address
print(json.dumps({"selector-at": f"{host}:{port}", "key": party.address}), flush=True)
sys.stdin.read()
