"""Run cells on an existing Dask cluster. Dask chooses a worker for each cell.

Workers run `dask_worker.py`, and need the same versions of AdaCoder, Python and Dask. Only this process writes rows.

A worker runs any code that this process or the scheduler sends, because Dask sends pickles. The other direction is
protected: `refuse_pickles` lets only plain data into this process.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import pickle
import re
import sys
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import CancelledError as Lost
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adacoder
from adacoder.arena.cells import Cell, Plan, ServerTrouble, digest, keep
from adacoder.arena.dask_worker import CellAnswer, Run, do, leave, refusal, versions
from adacoder.arena.rows import Row, checked, parse
from adacoder.domain import AdaCoderError
from adacoder.foreign_json import read_json
from adacoder.models.backends import kind_and_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client, Future

_ADDRESS = re.compile(
    r"(?:(?P<scheme>tls|tcp)://)?(?:\[(?P<ip>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?/?", re.ASCII
)
_CONNECTS = 10.0
"""Time limit to connect to the scheduler, in seconds."""
_ANSWERS = 60.0
"""Time limit for a worker's answer, in seconds. The worker may have to import AdaCoder first."""
_LOOKS = 1.0
"""Seconds between updates of the list of workers."""
_ENDS = 5.0
"""Time limit to end a run and close the connection, in seconds."""
_INSTALL = f"pip install 'adacoder[arena]=={adacoder.__version__}' there."
_GO_ON = "run the same command to go on."


class ClusterError(AdaCoderError):
    """The cluster cannot be used, or does not answer."""


class RefusedPickle(pickle.UnpicklingError, AttributeError):
    """A pickle contains more than plain data.

    This is an AttributeError, because Dask drops the traceback of an AttributeError.
    """


def require_trusted(address: str, *, without_tls: bool) -> None:
    """Check that the connection to the scheduler is encrypted, local, or accepted by the user.

    Raises:
        ClusterError: the address is invalid; or the scheduler is on another machine, the connection is not encrypted,
            and `without_tls` is False.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ClusterError(
            f"'{address}' is not the address of a Dask scheduler: write tls://HOST:PORT or tcp://HOST:PORT."
        )
    if found["scheme"] != "tls" and not without_tls and not _is_loopback(found["ip"] or found["name"]):
        raise ClusterError(
            f"The cluster at {address} is on another machine and its connection is not encrypted: others on the network"
            " could read and change your tasks and rows. Use tls:// with Dask's certificates, or accept the risk with"
            " --dask-without-tls."
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_pickles() -> None:
    """Make this process refuse pickles that import anything but `bytes`, until the process ends.

    Dask unpickles answers in several places, and has no setting to prevent this. A pickle without imports contains only
    numbers, texts and collections. Dask uses `bytes` in every error.
    """

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "pickle.find_class" and arguments != ("builtins", "bytes"):
            raise RefusedPickle(f"refused: {arguments[0]}.{arguments[1]}")

    sys.addaudithook(hook)


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Client]:
    """Connect to the scheduler at `address`.

    Raises:
        ClusterError: no scheduler answers, Dask lacks certificates, or Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("A cluster needs Dask: pip install 'adacoder[arena]'.") from None
    refuse_pickles()
    for name in ("distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))):
        logging.getLogger(name).disabled = True  # AdaCoder reports these errors itself, in one sentence each
    warnings.filterwarnings("ignore", module=r"distributed\b")
    client: Client = Client(  # type: ignore[no-untyped-call]  # Dask's
        address, asynchronous=True, timeout=_CONNECTS, set_as_default=False, direct_to_workers=False
    )
    client.subscribe_topic = lambda *_: None  # type: ignore[method-assign]  # otherwise workers could print on this terminal
    try:
        await client
    except TypeError:
        raise ClusterError(
            f"Dask has no certificates for {address}: name them in its configuration"
            " (distributed.comm.tls.ca-file and distributed.comm.tls.client)."
        ) from None
    except (OSError, ValueError, pickle.UnpicklingError) as error:
        raise ClusterError(f"No Dask scheduler answers at {address}: start one with `dask scheduler`.") from error
    try:
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            await client.close(_ENDS)  # type: ignore[no-untyped-call]  # Dask's


class Cluster:
    """Asynchronous context manager that runs cells on the workers of a cluster."""

    def __init__(
        self,
        client: Any,
        plan: Plan,
        rows: Path,
        records: Path | None,
        tell: Callable[[str], object],
        *,
        own: Path | None,
    ) -> None:
        """Journals are written into a folder beside the file `rows`.

        `records` is the folder for recorded conversations. `tell` is called with a message about each unusable worker.
        `own` is the folder of the user's code, if the tasks come from this code.
        """
        self._client = client
        self._address = client.scheduler.address
        self._plan = plan
        self._journals = rows.parent / f"{rows.stem}.journals"
        self._records = records
        self._tell = tell
        self._run = Run(plan.settings, digest(plan.settings), own, has_records=records is not None)
        self._workers: dict[str, Mapping[str, int]] = {}
        """Slots of each worker by resource. A resource is a model's id or a kind of server, such as `ollama`."""
        self._left_out: set[str] = set()
        self._servers: dict[str, str] = {}
        self._reading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Cluster:
        """Connect to the current workers of the cluster.

        Raises:
            ClusterError: the scheduler or all workers are unusable, or no worker offers the resource for a model.
        """
        await self._require_same_versions()
        await self._look()
        self._servers = dict(self._served())
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._client.status == "running":
            with suppress(Exception):  # an answer of a worker can raise any error
                async with asyncio.timeout(_ENDS):
                    await self._client.run(leave, self._run.id, workers=[*self._workers], on_error="ignore")

    async def _require_same_versions(self) -> None:
        """Check that the scheduler has the same versions as this process. The scheduler also unpickles cells.

        Raises:
            ClusterError: the scheduler has other versions, or is gone.
        """
        theirs: object = None
        try:
            async with asyncio.timeout(_ANSWERS):
                theirs = await self._client.run_on_scheduler(versions)
        except (OSError, TimeoutError) as error:
            raise self._gone from error
        except Exception as error:  # Dask raises the error that occurred in the scheduler
            raise ClusterError(f"The Dask scheduler at {self._address} cannot run AdaCoder: {_INSTALL}") from error
        if theirs != versions():
            has = f"The Dask scheduler at {self._address} has {theirs}, and not {versions()}"
            raise ClusterError(f"{has}: install the same there.")

    def _served(self) -> Iterator[tuple[str, str]]:
        """Yield each model with the resource that it needs.

        The resource is the model's id if a worker offers it, and otherwise the kind of server.

        Raises:
            ClusterError: no worker offers a resource for some model.
        """
        offered = {name for slots in self._workers.values() for name in slots}
        for model in self._plan.models:
            kind = kind_and_name(model)[0]
            if not {model, kind} & offered:
                raise ClusterError(
                    f"No worker of the cluster at {self._address} offers '{kind}' or '{model}': start one with"
                    f" `dask worker {self._address} --resources {kind}=1`."
                )
            yield model, model if model in offered else kind

    def server_of(self, model: str) -> str:
        """Return the resource that a model needs."""
        return self._servers[model]

    def slots_of(self, server: str) -> int:
        """Return how many cells all workers together can run for a resource."""
        return sum(slots.get(server, 0) for slots in self._workers.values())

    async def done(self, cell: Cell) -> Row:
        """Run a cell and return its row, after writing the journal and the recorded conversation.

        Raises:
            ServerTrouble: the cell failed, and the model is not the cause.
            ClusterError: the scheduler is gone.
            RowsError: the journal cannot be written.
        """
        server = self.server_of(cell.model)
        while workers := await self._offering(server):
            future = self._client.submit(
                do, self._run, cell, workers=[*workers], resources={server: 1}, pure=False, allow_other_workers=False
            )
            try:
                if (row := await self._row(future, cell, workers)) is not None:
                    return row
            finally:
                future.release()
            await asyncio.sleep(_LOOKS)
        why = f"No worker of the cluster offers '{server}' now: start one, then {_GO_ON}"
        raise ServerTrouble(ClusterError(why), passes=True)

    async def _offering(self, server: str) -> set[str]:
        """Return the addresses of usable workers that offer the resource `server`.

        Raises:
            ClusterError: the scheduler is gone.
        """
        if self._watching is not None and self._watching.done():
            await self._watching
        reading = self._client._handle_report_task  # noqa: SLF001  # this task ends when a message is refused
        if self._client.status in ("closing", "closed") or reading.done():
            raise self._gone
        return {address for address, slots in self._workers.items() if server in slots}

    async def _row(self, future: Future[Any], cell: Cell, workers: set[str]) -> Row | None:
        """Wait for the row of a cell. Return None if the cell must be submitted to the workers again.

        Raises:
            ServerTrouble: the cell failed, and the model is not the cause.
        """
        reading = asyncio.create_task(self._read(future))
        try:
            while not reading.done():
                if not workers & await self._offering(self.server_of(cell.model)):
                    return None
                await asyncio.wait({reading}, timeout=_LOOKS)
            answer = reading.result()
            row = parse(answer.row)
        except (Lost, OSError):  # the scheduler restarted, or the worker with the result is gone
            return None
        except ClusterError:
            raise
        except Exception as error:
            if future.status == "error":
                why = "Workers failed at the same cell: read their logs."
                raise ServerTrouble(ClusterError(why), passes=False) from error
            answer, row = CellAnswer(), None
        finally:
            reading.cancel()
        if answer.is_trouble:
            raise ServerTrouble(AdaCoderError(answer.why), passes=answer.passes)
        if row is not None and row.key == cell.key:
            return self._kept(cell, row, answer)
        for address in (await self._client.who_has([future])).get(future.key, ()):
            self._leave_out(address, answer.why or "its answer is not a row of its cell.")
        return None

    async def _read(self, future: Future[Any]) -> CellAnswer:
        """Wait for a worker's answer.

        Answers are read one by one, because Dask drops a whole batch of answers if one of them is bad.
        """
        await future.exception()  # type: ignore[no-untyped-call]  # Dask's
        async with self._reading:
            answer: CellAnswer = checked(CellAnswer, read_json(await future.result()))
        return answer

    def _kept(self, cell: Cell, row: Row, answer: CellAnswer) -> Row:
        if answer.record is not None and self._records is not None:
            keep(self._records / f"{cell.name}.conversation", answer.record)
        path = self._journals / f"{cell.name}.md"
        keep(path, answer.journal)
        return replace(row, journal=f"{self._journals.name}/{path.name}")

    @property
    def _gone(self) -> ClusterError:
        return ClusterError(f"The Dask scheduler at {self._address} does not answer: start it, then {_GO_ON}")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOKS)
            await self._look()

    async def _look(self) -> None:
        """Update the list of workers.

        Raises:
            ClusterError: the scheduler is gone.
        """
        try:
            async with asyncio.timeout(_ANSWERS):
                found: Mapping[str, Any] = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        except (OSError, TimeoutError, AttributeError) as error:
            raise self._gone from error
        self._workers = {address: slots for address, slots in self._workers.items() if address in found}
        self._left_out &= found.keys()
        new = found.keys() - self._workers.keys() - self._left_out
        await asyncio.gather(*(self._admit(address, _slots(found[address])) for address in new))

    async def _admit(self, address: str, slots: Mapping[str, int]) -> None:
        """Add a worker if it can take part in the run."""
        why: object = RefusedPickle()
        with suppress(Exception):  # an answer of a worker can raise any error
            async with asyncio.timeout(_ANSWERS):
                told = await self._client.run(refusal, versions(), self._run, workers=[address], on_error="return")
            why = told[address]
        if why is None:
            self._workers[address] = slots
        elif isinstance(why, str):
            self._leave_out(address, why)
        else:
            self._leave_out(address, f"it cannot run AdaCoder: {_INSTALL}")

    def _leave_out(self, address: str, why: str) -> None:
        self._workers.pop(address, None)
        if address not in self._left_out:
            self._left_out.add(address)
            self._tell(f"The worker {address} is left out: {why}")


def _slots(worker: Mapping[str, Any]) -> Mapping[str, int]:
    """Return a worker's slots by resource. No resource has more slots than the worker has threads."""
    most = worker["nthreads"]
    return {name: int(min(amount, most)) for name, amount in worker["resources"].items() if amount >= 1}
