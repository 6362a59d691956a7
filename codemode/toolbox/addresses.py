"""Which network addresses programs may reach through `web_fetch`: those of the public internet, no others.

Judged after resolution, for each connection: a name that leads somewhere else the next time, a redirect or an
odd spelling of an address (`0x7f.1`, `2130706433`) changes nothing.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")
# `is_global` of the older Pythons counts these as public
_NOT_PUBLIC = tuple(
    map(
        IPv6Network,
        ("64:ff9b:1::/48", "fec0::/10", "5f00::/16", "3fff::/20", "2001::/23", "::/96"),
    )
)
_NOT_PUBLIC_4 = (IPv4Address("192.0.0.0"), IPv4Address("192.88.99.0"))  # each a /24


def is_public(address: str) -> bool:
    """False for everything that is not certainly an address of the public internet."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return _is_public_4(found) if isinstance(found, IPv4Address) else _is_public_6(found)


def _is_public_4(address: IPv4Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return all(int(address) >> 8 != int(network) >> 8 for network in _NOT_PUBLIC_4)


def _is_public_6(address: IPv6Address) -> bool:
    # an IPv4 address in disguise is judged as what it leads to
    for inner in (address.ipv4_mapped, address.sixtofour):
        if inner is not None:
            return _is_public_4(inner)
    if address in _NAT64:
        return _is_public_4(IPv4Address(int(address) & 0xFFFFFFFF))
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(address in network for network in _NOT_PUBLIC)
