"""The address of a server: listening there, and the Host and Origin headers that clients may send.

A page in a browser must not reach a server on this machine by a name that its owner points here.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from codemode.config import ConfigError

_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def listen(host: str, port: int) -> socket.socket:
    """Opens the socket. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as problem:
        listener.close()
        raise ConfigError("http", f"cannot listen at {host}:{port}: {problem.strerror}.") from None
    return listener


def accepted_headers(
    host: str, hosts: Sequence[str], origins: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Patterns of Host and of Origin: those of the address itself, and those given. Raises ConfigError if no
    Host header would be accepted."""
    own = [*_LOCAL] if is_local(host) else [f"[{host}]" if ":" in host else host]
    if _is_any(host):
        own = []
        if not hosts:
            raise ConfigError("http", f"{host} is every address: name the hosts that clients may call it by.")
    allowed = tuple(f"{name}:*" for name in own), tuple(f"http://{name}:*" for name in own)
    return (*allowed[0], *hosts), (*allowed[1], *origins)


def is_accepted(given: str, patterns: Sequence[str]) -> bool:
    """`name:*` is the name with any port, or without one."""
    for pattern in patterns:
        if pattern.endswith(":*"):
            name = pattern[:-2]
            if given == name or (given.startswith(f"{name}:") and given[len(name) + 1 :].isdigit()):
                return True
        elif given == pattern:
            return True
    return False


def shown_address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
