"""Fetching from a real server on loopback, through the same policy that guards live runs."""

from __future__ import annotations

import datetime
import email.utils
import gzip
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from agents.tools.addresses import AddressPolicy
from agents.tools.base import ToolError
from agents.tools.cassette import LastingError
from agents.tools.fetch import Fetcher
from agents.tools.page import PageConfig
from tests.tools import webserver
from tests.tools.webserver import Server, reply


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with webserver.running() as running:
        yield running


def config(**changes: object) -> PageConfig:
    """Open to 127.0.0.1 alone: 127.0.0.2 is as private as 10.0.0.1."""
    return PageConfig.model_validate({"allowed_networks": ["127.0.0.1/32"], **changes})


class Waits:
    """Waiting that only takes notes."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_a_page_and_its_head(server: Server) -> None:
    server.routes["/a"] = reply(b"<p>hello</p>", kind="text/html; charset=utf-8")
    page = await Fetcher(config()).get(server.url("/a"))
    assert (page.body, page.media_type, page.charset) == (b"<p>hello</p>", "text/html", "utf-8")
    assert page.url == server.url("/a")


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f000002/",
        "http://2130706434/",
    ],
)
async def test_redirects_to_private_addresses_are_refused(server: Server, target: str) -> None:
    server.routes["/r"] = reply(status="302 Found", Location=target)
    with pytest.raises(ToolError, match="not a public address"):
        await Fetcher(config()).get(server.url("/r"))
    assert server.asked == ["/r"]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://x/"])
async def test_redirects_to_other_schemes_are_refused(server: Server, target: str) -> None:
    server.routes["/r"] = reply(status="302 Found", Location=target)
    with pytest.raises(ToolError, match="http"):
        await Fetcher(config()).get(server.url("/r"))


async def test_redirects_are_followed_by_name_and_bounded(server: Server) -> None:
    server.routes["/1"] = reply(status="301 Moved", Location="/2")
    server.routes["/2"] = reply(b"there")
    assert (await Fetcher(config()).get(server.url("/1"))).url == server.url("/2")
    server.routes["/loop"] = reply(status="302 Found", Location="/loop")
    with pytest.raises(LastingError, match="redirects too often"):
        await Fetcher(config()).get(server.url("/loop"))


async def test_without_an_opening_loopback_is_refused(server: Server) -> None:
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(ToolError, match="not a public address"):
            await Fetcher(PageConfig()).get(server.url("/a", host))
    assert server.asked == []


async def test_a_name_is_resolved_once_and_the_judged_address_is_used(server: Server) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]  # the second answer is what rebinding would give

    async def resolver(host: str, port: int) -> list[str]:
        assert (host, port) == ("rebind.example", server.port)
        return answers.pop(0)

    server.routes["/a"] = reply(b"ok")
    page = await Fetcher(config(), resolver=resolver).get(server.url("/a", "rebind.example"))
    assert page.body == b"ok"
    assert f"Host: rebind.example:{server.port}".lower() in server.heads[0].lower()
    assert len(answers) == 1


async def test_one_private_address_among_public_ones_is_enough(server: Server) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "192.168.0.1"]

    with pytest.raises(ToolError, match="not a public address"):
        await Fetcher(config(), resolver=resolver).get(server.url("/a", "two.example"))
    assert server.asked == []


async def test_a_redirected_name_is_judged_again(server: Server) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1" if host == "good.example" else "10.1.2.3"]

    server.routes["/r"] = reply(status="302 Found", Location="http://bad.example/")
    with pytest.raises(ToolError, match=r"bad\.example is not a public address"):
        await Fetcher(config(), resolver=resolver).get(server.url("/r", "good.example"))


def certificate(name: str, folder: Path) -> ssl.SSLContext:
    """A server's context with a certificate of its own making for `name`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    (folder / "cert.pem").write_bytes(made.public_bytes(encoding))
    (folder / "both.pem").write_bytes(secret + made.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


async def test_a_certificate_is_judged_by_the_name_not_by_the_address(tmp_path: Path) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with webserver.running(certificate("pier.example", tmp_path)) as server:
        server.routes["/a"] = reply(b"sealed")
        trusted = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        fetcher = Fetcher(config(), resolver=resolver, tls=trusted)
        page = await fetcher.get(f"https://pier.example:{server.port}/a")
        assert page.body == b"sealed"
        with pytest.raises(ToolError, match="certificate"):
            await fetcher.get(f"https://other.example:{server.port}/a")
        with pytest.raises(ToolError, match="certificate"):  # nobody we trust signed it
            await Fetcher(config(), resolver=resolver).get(f"https://pier.example:{server.port}/a")


@pytest.mark.parametrize("handler", [webserver.drip, webserver.stall])
async def test_a_slow_page_is_left_at_the_limit(server: Server, handler: object) -> None:
    server.routes["/slow"] = handler  # type: ignore[assignment]
    with pytest.raises(ToolError, match=r"within 0\.3 s"):
        await Fetcher(config(seconds=0.3)).get(server.url("/slow"))


async def test_an_endless_body_is_left_at_the_limit(server: Server) -> None:
    server.routes["/flood"] = webserver.flood
    with pytest.raises(LastingError, match="larger than 1000000 bytes"):
        await Fetcher(config(max_bytes=1_000_000)).get(server.url("/flood"))


async def test_gzip_is_unpacked_and_a_bomb_is_not(server: Server) -> None:
    server.routes["/z"] = reply(gzip.compress(b"packed"), Content_Encoding="gzip")
    assert (await Fetcher(config()).get(server.url("/z"))).body == b"packed"
    server.routes["/bomb"] = webserver.bomb()
    with pytest.raises(LastingError, match="larger than"):
        await Fetcher(config()).get(server.url("/bomb"))
    server.routes["/torn"] = reply(b"\x1f\x8bnot gzip", Content_Encoding="gzip")
    with pytest.raises(LastingError, match="damaged"):
        await Fetcher(config()).get(server.url("/torn"))
    server.routes["/br"] = reply(b"x", Content_Encoding="br")
    with pytest.raises(LastingError, match="not asked for"):
        await Fetcher(config()).get(server.url("/br"))


async def test_status_codes(server: Server) -> None:
    with pytest.raises(LastingError, match="HTTP 404"):
        await Fetcher(config()).get(server.url("/none"))
    server.routes["/500"] = reply(status="500 Oops")
    with pytest.raises(ToolError, match="HTTP 500") as caught:
        await Fetcher(config()).get(server.url("/500"))
    assert not isinstance(caught.value, LastingError)


async def test_a_busy_server_is_asked_again_when_it_says(server: Server) -> None:
    date = email.utils.formatdate(time.time() + 5, usegmt=True)
    server.routes["/busy"] = [
        reply(status="429 Busy", Retry_After="3"),
        reply(status="503 Busy", Retry_After=date),
        reply(b"at last"),
    ]
    waits = Waits()
    page = await Fetcher(config(), pause=waits).get(server.url("/busy"))
    assert page.body == b"at last"
    assert waits.seconds[0] == 3
    assert 0 <= waits.seconds[1] <= 5


FAR = "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"
"""No calendar goes that far."""


@pytest.mark.parametrize("retry_after", ["3600", "soon", "", FAR])
async def test_a_server_that_stays_busy(server: Server, retry_after: str) -> None:
    server.routes["/busy"] = reply(status="429 Busy", Retry_After=retry_after)
    waits = Waits()
    with pytest.raises(ToolError, match="busy") as caught:
        await Fetcher(config(), pause=waits).get(server.url("/busy"))
    assert not isinstance(caught.value, LastingError)
    assert waits.seconds == ([] if retry_after == "3600" else [1, 2])


@pytest.mark.parametrize(
    "url", ["http://", "http://[", "http://a b/", "http://\u2603.\u2603:99999/"]
)
async def test_broken_addresses(url: str) -> None:
    with pytest.raises(ToolError):
        await Fetcher(config()).get(url)


async def test_nobody_there() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(ToolError, match="no server named"):
        await Fetcher(config(), resolver=resolver).get("http://nowhere.example/")
    with pytest.raises(ToolError, match="could not be read"):
        await Fetcher(config()).get("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:1:2:3:4:5:6",
        "fd00:ec2::254",
        "fe80::1%eth0",
        "ff02::1",
        "fec0::1",
        "168.63.129.16",
        "192.88.99.1",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "0.0.0.0",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    assert AddressPolicy().refuses(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "2002:101:101::"]
)
def test_addresses_that_are_let_through(address: str) -> None:
    assert not AddressPolicy().refuses(address)


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_changes_nothing(address: object) -> None:
    policy = AddressPolicy()
    assert policy.refuses(f"::ffff:{address}") == policy.refuses(str(address))


async def test_a_dead_address_is_followed_by_the_next(server: Server) -> None:
    server.routes["/a"] = reply(b"here")

    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.9", "127.0.0.1"]  # nobody listens at the first

    options = config(allowed_networks=["127.0.0.0/8"])
    url = server.url("/a").replace("127.0.0.1", "pier.example")
    page = await Fetcher(options, resolver=resolver).get(url)
    assert (page.url, page.body) == (url, b"here")
