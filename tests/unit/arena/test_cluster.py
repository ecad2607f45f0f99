"""The cluster addresses that are accepted without a flag."""

from __future__ import annotations

import pytest

from adacoder.arena.cluster import ClusterError, require_trusted


@pytest.mark.parametrize(
    "address",
    [
        *("tcp://127.0.0.1:8786", "127.0.0.1:8786", "localhost:8786", "tcp://localhost", "tcp://[::1]:8786"),
        *("tcp://127.9.9.9:1", "tls://example.com:8786", "tls://10.0.0.1", "tls://[fd00::1]:8786"),
    ],
)
def test_this_machine_or_encryption_needs_no_flag(address: str) -> None:
    require_trusted(address, without_tls=False)


@pytest.mark.parametrize(
    "address",
    [
        *("tcp://10.0.0.1:8786", "10.0.0.1", "example.com:8786", "tcp://[fd00::1]:8786", "0.0.0.0:8786", "127.1:8786"),
        *("localhost.example.com:1", "tcp://127.0.0.1.example.com:1", "tcp://[::ffff:10.0.0.1]:1", "2130706433:1"),
    ],
)
def test_another_machine_needs_encryption_or_the_flag(address: str) -> None:
    with pytest.raises(ClusterError, match=r"not encrypted: .* tls:// .* --dask-without-tls"):
        require_trusted(address, without_tls=False)
    require_trusted(address, without_tls=True)


@pytest.mark.parametrize(
    "address",
    [
        *("ucx://127.0.0.1:1", "ws://localhost:1", "inproc://127.0.0.1/1/1", "TLS2://a:1", "scheduler.json/x", ""),
        *(
            "tcp://127.0.0.1@example.com:1",
            "tcp://example.com#127.0.0.1:1",
            "/tmp/scheduler.json",
            "tcp://127.0.0.1:1\n",
        ),
    ],
)
def test_what_is_no_address_is_refused_with_the_flag_too(address: str) -> None:
    with pytest.raises(ClusterError, match="is not the address"):
        require_trusted(address, without_tls=True)
