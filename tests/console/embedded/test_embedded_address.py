"""HOST and PORT: what is accepted, what is refused, and in which words."""

from __future__ import annotations

import errno
import socket

import pytest

from console.embedded.address import Address, read_address
from console.embedded.errors import EmbeddedError


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, "http://127.0.0.1:8000/"),
        ({"HOST": "", "PORT": ""}, "http://127.0.0.1:8000/"),
        ({"HOST": "localhost", "PORT": "81"}, "http://localhost:81/"),
        ({"HOST": "::1"}, "http://[::1]:8000/"),
        ({"HOST": "0.0.0.0", "TASKDECK_ALLOWED_HOSTS": "a.example"}, "http://127.0.0.1:8000/"),
    ],
)
def test_address_is_shown_as_what_a_browser_here_can_open(environ: dict[str, str], url: str) -> None:
    assert read_address(environ).url == url


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_host_that_others_can_reach_is_refused_without_allowed_hosts(host: str) -> None:
    with pytest.raises(EmbeddedError, match=f"HOST={host} .*TASKDECK_ALLOWED_HOSTS"):
        read_address({"HOST": host})

    assert read_address({"HOST": host, "TASKDECK_ALLOWED_HOSTS": "tasks.example.org"}).known_as == "tasks.example.org"


@pytest.mark.parametrize("port", ["abc", "0", "65536", "-1", "80.0", "²"])
def test_port_that_is_none_is_refused(port: str) -> None:
    with pytest.raises(EmbeddedError, match="is not a port"):
        read_address({"PORT": port})


def test_busy_port_is_refused_with_a_free_one_to_choose() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]

        with pytest.raises(EmbeddedError) as caught:
            Address("127.0.0.1", port, known_as="127.0.0.1").require_free()

    start, _, suggested = str(caught.value).rpartition("=")
    assert start == f"Port {port} is already in use. Choose another: make run PORT"
    Address("127.0.0.1", int(suggested), known_as="127.0.0.1").require_free()


def test_busy_port_on_all_addresses_counts_for_loopback_too() -> None:
    with socket.create_server(("0.0.0.0", 0)) as busy, pytest.raises(EmbeddedError, match="already in use"):
        Address("127.0.0.1", busy.getsockname()[1], known_as="127.0.0.1").require_free()


def test_host_of_another_machine_is_refused(free_port: int) -> None:
    with pytest.raises(EmbeddedError, match=r"HOST=192\.0\.2\.7 is not an address of this machine"):
        Address("192.0.2.7", free_port, known_as="x").require_free()


def test_port_without_permission_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, free_port: int) -> None:
    class Forbidden(socket.socket):
        def bind(self, address: object) -> None:
            raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Forbidden)

    with pytest.raises(EmbeddedError, match=f"Port {free_port} may not be used by this account"):
        Address("127.0.0.1", free_port, known_as="x").require_free()
