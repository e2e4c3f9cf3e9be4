"""`callup dashboard RUN`: a page of this machine that follows a run while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from callup.cli.options import AsFormat, Format, Open
from callup.cli.terminal import say
from callup.core.errors import UsageError

PORT = 7007


def dashboard(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of several such as a race.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = PORT,
    host: Annotated[
        str, typer.Option(help="Of which address to listen; others can look in with the token.")
    ] = "127.0.0.1",
    open: Open = False,
    format: AsFormat = Format.table,
) -> None:
    """Follow a run in the browser while it goes on; reads only. End with Ctrl-C."""
    import json
    import secrets

    from callup.dashboard.live_run import runs_below

    runs_below(folder)  # no run: said now, not in the browser
    try:
        import uvicorn

        from callup.dashboard.server import dashboard as application
    except ImportError as error:
        raise UsageError(
            f"the dashboard needs {error.name}; install it with: pip install 'callup[dashboard]'"
        ) from error
    token = secrets.token_urlsafe(16)
    server = uvicorn.Server(
        uvicorn.Config(
            application(folder, token, host), host=host, port=port, log_level="warning", timeout_graceful_shutdown=1
        )
    )
    listening = server.config.bind_socket()
    listening.listen(64)  # from here on the address that is printed answers
    address = f"http://{host}:{listening.getsockname()[1]}/?token={token}"
    if format is Format.json:
        print(json.dumps({"success": True, "address": address}), flush=True)
    else:
        print(address, flush=True)
    say("whoever has this address can look; end with Ctrl-C")
    if open:
        import webbrowser

        webbrowser.open(address)
    server.run(sockets=[listening])
