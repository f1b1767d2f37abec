"""Which addresses a page may come from, checked on the very address that is connected to.

A name is resolved once, every address it has is judged, and the connection goes to one of these: a
name that answers differently the second time (DNS rebinding) gains nothing. Redirects are new
requests and pass through the same transport.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from agents.tools.base import ToolError
from agents.tools.cassette import LastingError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Awaitable[list[str]]]

_REFUSED = tuple(
    ipaddress.ip_network(net) for net in ("168.63.129.16/32", "192.88.99.0/24", "fec0::/10")
)
"""Public by the book only: Azure's platform service, the 6to4 relays, old site-local addresses."""
_TUNNELS = tuple(ipaddress.IPv6Network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48"))
"""IPv6 ranges that carry any IPv4 address inside; the others are known to `ipaddress`."""


@dataclass(frozen=True)
class AddressPolicy:
    """Refuses all but public addresses; `allowed` (networks) are let through before that.

    Loopback, private, link-local (cloud metadata among them), shared, multicast and reserved ranges
    are no public addresses, also when an IPv6 address wraps them.
    """

    allowed: tuple[str, ...] = ()

    def refuses(self, text: str) -> bool:
        """Whether the numeric address `text` must not be connected to."""
        address: Address = ipaddress.ip_address(text.partition("%")[0])
        for network in self.allowed:
            if address in ipaddress.ip_network(network):
                return False
        if isinstance(address, ipaddress.IPv6Address):
            inner = address.ipv4_mapped or address.sixtofour
            if inner is not None:
                return self.refuses(str(inner))
            if address.teredo is not None or any(address in net for net in _TUNNELS):
                return True
        if any(address in net for net in _REFUSED):
            return True
        return not address.is_global or address.is_multicast or address.is_reserved


async def resolve(host: str, port: int) -> list[str]:
    """The numeric addresses of `host` by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def trusted() -> ssl.SSLContext:
    """Certificates of SSL_CERT_FILE where it is set (a site's own), else those of certifi."""
    import certifi

    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())


class PinnedTransport(httpx.AsyncBaseTransport):
    """Connects to the address that was judged, and keeps the name for TLS and the Host header.

    Proxies are not used: they resolve names by themselves.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        # No connection is used twice: two names may share an address, but not a certificate.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._inner = httpx.AsyncHTTPTransport(
            verify=tls or trusted(), limits=limits, trust_env=False
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; raises `ToolError` if its address is refused."""
        url = request.url
        if url.scheme not in ("http", "https") or not url.host:
            raise LastingError(f"Only http and https pages can be read, not {str(url)[:200]}.")
        try:
            addresses = await self._resolver(url.host, url.port or 0)
        except OSError:
            raise ToolError(f"There is no server named {url.host}.") from None
        for address in addresses:
            if self._policy.refuses(address):
                raise LastingError(f"{url.host} is not a public address and is not read.")
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        *others, last = dict.fromkeys(addresses)
        try:
            for address in others:
                with contextlib.suppress(httpx.ConnectError):  # a dead one; the next may live
                    return await self._connect(request, url, address)
            return await self._connect(request, url, last)
        finally:
            request.url = url  # redirects are relative to the name

    async def _connect(self, request: httpx.Request, url: httpx.URL, to: str) -> httpx.Response:
        request.url = url.copy_with(host=to)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()
