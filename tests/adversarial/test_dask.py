"""A hostile worker or scheduler of a Dask cluster tries to run code in the process that started the run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'adacoder[arena]'")

from support.dask_cluster import Site, site  # imports first, because they may skip the tests

OFFERS = ("--nthreads", "2", "--resources", "openai=2")
SHORT = ("--samples", "1", "--patience", "0")
HARM = "harm"
EVIL = f"""
import pickle
import sys
from distributed import get_worker
from distributed.protocol import to_serialize
import distributed.worker
from adacoder.arena import dask_worker

class Evil(Exception):
    def __reduce__(self):
        return eval, ("'arena' in __import__('sys').argv and open({HARM!r}, 'w').close()",)

honest = dask_worker.do
evil = pickle.dumps(Evil())
"""
"""An object that makes a file if `adacoder arena` unpickles it. Workers and schedulers may unpickle it."""
RESULT = """
async def do(*_):
    return Evil()
dask_worker.do = do
"""
ERROR = """
async def do(*_):
    raise Evil
dask_worker.do = do
message = distributed.worker.error_message
distributed.worker.error_message = lambda error: {**message(ValueError()), "exception": to_serialize(evil)}
"""
TRACEBACK = """
async def do(*_):
    raise ValueError
dask_worker.do = do
message = distributed.worker.error_message
distributed.worker.error_message = lambda error: {**message(error), "traceback": to_serialize(evil)}
"""
TYPE = """
distributed.worker.pickle.dumps = lambda *_, **__: evil
"""
WARNING = """
async def do(*arguments):
    get_worker().log_event("warn", {"message": evil, "category": evil})
    return await honest(*arguments)
dask_worker.do = do
"""
ADMISSION = """
dask_worker.refusal = lambda *_: Evil()
"""
WORKERS = {
    "result": RESULT,
    "error": ERROR,
    "traceback": TRACEBACK,
    "type": TYPE,
    "warning": WARNING,
    "admission": ADMISSION,
}
SCHEDULER = """
from distributed import Scheduler
from distributed.protocol.serialize import ToPickle
identity = Scheduler.identity
more = {"more": ToPickle(Evil())}
Scheduler.identity = lambda self, **options: {**identity(self, **options), **(more if options else {})}
"""
UNPROTECTED = """
import sys
import distributed
sys.addaudithook = lambda hook: None
subscribe = distributed.Client.subscribe_topic
distributed.Client.subscribe_topic = property(lambda self: subscribe.__get__(self), lambda *_: None)
"""
"""Start a run with Dask's own client, which has no protection."""


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path, starts=False) as opened:
        yield opened


@pytest.mark.parametrize("attack", WORKERS.values(), ids=WORKERS)
def test_no_code_of_a_worker_runs_here(attack: str, at: Site) -> None:
    at.cluster.schedule()
    at.cluster.work("evil", *OFFERS, before=EVIL + attack)
    said = at.on_cluster(*SHORT).end()[1]
    assert not (at.folder / HARM).exists(), said
    assert "Traceback" not in "\n".join(said)
    at.rows.unlink(missing_ok=True)
    at.on_cluster(*SHORT, before=UNPROTECTED).end()
    assert (at.folder / HARM).exists()  # control: the unprotected client runs the code


def test_no_code_of_a_scheduler_runs_here(at: Site) -> None:
    at.cluster.schedule(before=EVIL + SCHEDULER)
    at.cluster.work("one", *OFFERS)
    said = at.on_cluster(*SHORT).end()[1]
    assert not (at.folder / HARM).exists(), said
    assert "Traceback" not in "\n".join(said)
    at.on_cluster(*SHORT, before=UNPROTECTED).end()
    assert (at.folder / HARM).exists()  # control: the unprotected client runs the code


def test_an_evil_worker_is_left_out_and_another_does_its_cells(at: Site) -> None:
    at.cluster.schedule()
    at.cluster.work("evil", *OFFERS, before=EVIL + RESULT)
    at.cluster.work("honest", *OFFERS)
    code, said = at.on_cluster().end()
    assert code == 0, said
    assert sum("is left out: its answer is not a row of its cell." in line for line in said) == 1
    assert not (at.folder / HARM).exists()


OPENSSL = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def certificate(folder: Path, name: str) -> dict[str, str]:
    """Make a certificate authority and a certificate. Return the settings with which Dask uses them everywhere."""
    key, made = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        [*OPENSSL, "-subj", f"/CN={name}", "-days", "1", "-keyout", key, "-out", made], check=True, capture_output=True
    )
    tls = "DASK_DISTRIBUTED__COMM__TLS"
    roles = [(f"{tls}__{role}__KEY", f"{tls}__{role}__CERT") for role in ("SCHEDULER", "WORKER", "CLIENT")]
    files = {name: str(path) for names in roles for name, path in zip(names, (key, made), strict=True)}
    return {**files, f"{tls}__CA_FILE": str(made), "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}


def test_tls_needs_no_flag_and_the_right_certificate(at: Site) -> None:
    at.cluster.environment = certificate(at.folder, "ours")
    at.cluster.schedule("--protocol", "tls")
    at.cluster.work("one", *OFFERS)
    assert at.cluster.address.startswith("tls://")
    code, said = at.on_cluster(*SHORT).end()
    assert code == 0, said
    at.cluster.environment = certificate(at.folder, "another")
    code, said = at.on_cluster(*SHORT).end()
    assert (code, said[-1].split(" at ")[0]) == (2, "No Dask scheduler answers")
    at.cluster.environment = {}
    code, said = at.on_cluster(*SHORT).end()
    assert (code, said[-1].split(" for ")[0]) == (2, "Dask has no certificates")
