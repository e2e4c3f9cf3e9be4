"""Messages over sockets of this machine: parties as processes, for tests and trials.

There is no encryption of the line and nobody proves who it is. A deployment carries the same messages through its own
secured channels.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import struct
from collections.abc import Callable

from callup.core.errors import CallupError, InputError
from callup.privacy.wire import Message

_LENGTH = struct.Struct("<Q")
_LARGEST = 1 << 31
_PATIENCE = 60.0
Address = tuple[str, int]


def exchange(address: Address, data: bytes, timeout: float = _PATIENCE) -> bytes:
    """Sends one message and returns the answer; a refusal comes back as the error it was."""
    try:
        with socket.create_connection(address, timeout) as line:
            line.sendall(_LENGTH.pack(len(data)) + data)
            answer = _receive(line)
    except OSError as error:
        raise InputError(f"no answer from {address[0]}:{address[1]}: {error}") from error
    if Message.kind_of(answer) == "refused":
        raise InputError(Message.decode(answer, "refused").word("reason"))
    return answer


class Listener(socketserver.TCPServer):
    """Answers one message at a time, on a free port of the loopback interface."""

    allow_reuse_address = True

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.answer = answer
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> Address:
        host, port = self.socket.getsockname()
        return str(host), int(port)


class _Handler(socketserver.BaseRequestHandler):
    server: Listener

    def handle(self) -> None:
        self.request.settimeout(_PATIENCE)  # who says nothing does not keep the others waiting for ever
        with contextlib.suppress(OSError):  # a line that was cut is the other side's to notice
            try:
                answer = self.server.answer(_receive(self.request))
            except CallupError as error:
                answer = Message("refused", {"reason": str(error)}).encode()
            self.request.sendall(_LENGTH.pack(len(answer)) + answer)


def _receive(line: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    if length > _LARGEST:
        raise InputError(f"a message of {length} bytes is larger than any there is")
    return _exactly(line, length)


def _exactly(line: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = line.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the line was cut")
        parts += part
    return bytes(parts)
