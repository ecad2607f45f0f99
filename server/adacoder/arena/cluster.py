"""Do cells on an existing Dask cluster. Each worker keeps its own service and judge between cells.

The process that started the run keeps the rows and chooses the worker of each cell. So a worker never has more cells
at a time than it offers slots. A new worker takes part, and the cells of a dead worker are done again elsewhere. A
worker is admitted once it has reported the same AdaCoder. It then executes `dask_worker.py`.

Dask sends pickles. So a worker or a scheduler can run any code in this process, even before it is admitted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import CancelledError as Lost
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from adacoder.arena.cells import Cell, Plan, ServerTrouble, digest, keep
from adacoder.arena.dask_worker import Done, Setup, Trouble, Unable, do, join, leave, versions
from adacoder.arena.rows import Row, parse
from adacoder.domain import AdaCoderError
from adacoder.messages import counted
from adacoder.models.backends import kind_and_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client

_ADDRESS = re.compile(
    r"(?:(?P<scheme>tls|tcp)://)?(?:\[(?P<ip>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?/?", re.ASCII
)
_CONNECTS = 10.0
"""Seconds for the scheduler to answer."""
_LOOKS = 1.0
"""Seconds between updates of the list of workers."""
_JOINS = 60.0
"""Seconds to wait at the beginning for the existing workers to join."""
_ENDS = 5.0
"""Seconds at the end for workers to leave the run."""
_MOST_DEATHS = 3
"""Number of workers that may end while they do the same cell. After that the cell is left to the next run."""


class ClusterError(AdaCoderError):
    """A cluster cannot be used, or is gone."""


@dataclass(eq=False)
class _Member:
    """A worker that takes part."""

    address: str
    slots: Mapping[str, int]
    """Cells at a time, by the resource that it offers: the id of a model, or a kind of server."""
    gone: asyncio.Future[None]
    """Done when the worker has left."""
    busy: Counter[str] = field(default_factory=Counter)

    def free(self, server: str) -> int:
        """Number of slots that our cells do not use."""
        return self.slots.get(server, 0) - self.busy[server]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A connected scheduler."""

    address: str
    client: Client


def require_trusted(address: str, *, without_tls: bool) -> None:
    """Return if the user trusts the scheduler at `address`, because with Dask each side can run code on the other.

    Raises:
        ClusterError: it is on another machine, unencrypted and without `without_tls`; or the address is invalid.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ClusterError(
            f"'{address}' is not the address of a Dask scheduler: write tls://HOST:PORT or tcp://HOST:PORT."
        )
    if found["scheme"] != "tls" and not without_tls and not _is_loopback(found["ip"] or found["name"]):
        raise ClusterError(
            f"The cluster at {address} is on another machine and its connection is not encrypted: others on the network"
            " could run code on this machine. Use tls:// with Dask's certificates, or accept the risk with"
            " --dask-without-tls."
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Scheduler]:
    """Connect to the scheduler at `address`.

    Raises:
        ClusterError: no scheduler answers, or Dask is not installed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("A cluster needs Dask: pip install 'adacoder[arena]'.") from None
    for name in ("distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # our own messages say the same in a sentence
    try:
        client: Client = await Client(  # type: ignore[no-untyped-call]  # Dask's
            address, asynchronous=True, timeout=_CONNECTS, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise ClusterError(f"No Dask scheduler answers at {address}: start one with `dask scheduler`.") from error
    try:
        yield Scheduler(address, client)
    finally:
        with suppress(OSError, TimeoutError):
            await client.close(_ENDS)  # type: ignore[no-untyped-call]  # Dask's


class Cluster:
    """Workers of a cluster as the Carrier of a run, inside `async with`."""

    def __init__(
        self,
        scheduler: Scheduler,
        plan: Plan,
        rows: Path,
        records: Path | None,
        tell: Callable[[str], object],
        *,
        is_own: bool,
    ) -> None:
        """Journals are written next to the file `rows`, and recorded conversations to the folder `records`.

        `tell` receives a message about each worker that cannot take part. `is_own`: the tasks are from a folder.
        """
        self._client = scheduler.client
        self._address = scheduler.address
        self._plan = plan
        self._journals = rows.parent / f"{rows.stem}.journals"
        self._records = records
        self._tell = tell
        self._run = uuid4().hex
        tasks = {task.id: task for task in plan.tasks.tasks}
        self._setup = Setup(tasks, plan.settings, digest(plan.settings), is_own, records is not None)
        self._members: dict[str, _Member] = {}
        self._left_out: set[str] = set()
        self._joining: dict[str, asyncio.Task[None]] = {}
        """Admissions under way, by the worker's address."""
        self._servers: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._looking = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Cluster:
        """Admit the existing workers.

        Raises:
            ClusterError: no worker can take part, or no worker offers the resource that a model needs.
        """
        try:
            await self._look()
            if self._joining:
                await asyncio.wait(self._joining.values(), timeout=_JOINS)
            self._servers = dict(self._served())
        except BaseException:
            await self.__aexit__()
            raise
        self._watching = asyncio.create_task(self._watch())
        return self

    def _served(self) -> Iterator[tuple[str, str]]:
        """Yield each model with the resource that workers offer for it: its id, or else its kind.

        Raises:
            ClusterError: no worker offers a resource for some model.
        """
        offered = {name for each in self._members.values() for name in each.slots}
        for model in self._plan.models:
            kind = kind_and_name(model)[0]
            if not {model, kind} & offered:
                raise ClusterError(
                    f"No worker of the cluster at {self._address} offers '{kind}' or '{model}': start one with"
                    f" `dask worker {self._address} --resources {kind}=1`."
                )
            yield model, model if model in offered else kind

    async def __aexit__(self, *_: object) -> None:
        running = [*self._joining.values(), *filter(None, [self._watching])]
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._client.status != "running":
            return
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ENDS):
                await self._client.run(leave, self._run, workers=[*self._members], on_error="ignore")

    def server_of(self, model: str) -> str:
        """Like `Carrier.server_of`: the resource that workers offer for the model."""
        return self._servers[model]

    def slots_of(self, server: str) -> int:
        """Like `Carrier.slots_of`."""
        return sum(each.slots.get(server, 0) for each in self._members.values())

    async def done(self, cell: Cell) -> Row:
        """Like `Carrier.done`. The journal and the recorded conversation are written before it returns.

        Raises:
            ServerTrouble: the cell failed, but not because of its model.
            ClusterError: the scheduler is gone.
            RowsError: the journal cannot be written.
        """
        server, deaths = self.server_of(cell.model), 0
        while deaths < _MOST_DEATHS:
            member = await self._free(server)
            match await self._on(member, server, cell):
                case Done() as done:
                    row = parse(done.row)
                    if row is not None and row.key == cell.key:
                        return self._kept(cell, row, done)
                    self._leave_out(member.address, "its answer is not a row of its cell.")
                case Trouble(why=why, passes=passes):
                    raise ServerTrouble(AdaCoderError(why), passes=passes)
                case Unable(why=why):
                    self._leave_out(member.address, why)
                case None:  # any process at its address is another one by now
                    deaths += 1
                    self._forget(member)
        died = f"{counted(_MOST_DEATHS, 'worker')} ended while they did the same cell: see what they logged."
        raise ServerTrouble(ClusterError(died), passes=False)

    def _kept(self, cell: Cell, row: Row, done: Done) -> Row:
        if done.record is not None and self._records is not None:
            keep(self._records / f"{cell.name}.conversation", done.record)
        path = self._journals / f"{cell.name}.md"
        keep(path, done.journal)
        return replace(row, journal=f"{self._journals.name}/{path.name}")

    async def _free(self, server: str) -> _Member:
        """Reserve a slot on the worker with the most free slots, once there is a free slot.

        Raises:
            ServerTrouble: no worker offers slots for `server`.
            ClusterError: the scheduler is gone.
        """
        while True:
            await self._still_there()
            offering = [each for each in self._members.values() if server in each.slots]
            if not offering:
                raise ServerTrouble(ClusterError(f"No worker of the cluster offers '{server}' now."), passes=True)
            best = max(offering, key=lambda each: each.free(server))
            if best.free(server) > 0:
                best.busy[server] += 1
                return best
            await self._changed.wait()

    async def _still_there(self) -> None:
        if self._watching is not None and self._watching.done():
            await self._watching
        if self._client.status in ("closing", "closed"):  # the client has given up by itself
            raise self._gone

    @property
    def _gone(self) -> ClusterError:
        return ClusterError(f"The Dask scheduler at {self._address} does not answer any more.")

    async def _on(self, member: _Member, server: str, cell: Cell) -> Done | Trouble | Unable | None:
        """Do a cell in the slot reserved on a worker; None if the worker left meanwhile."""
        from distributed import KilledWorker

        future = self._client.submit(
            do, self._run, cell.key, workers=[member.address], resources={server: 1}, pure=False
        )
        answer: asyncio.Future[Done | Trouble | Unable | None] = asyncio.ensure_future(future.result())
        try:
            await asyncio.wait((answer, member.gone), return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        except (Lost, OSError, KilledWorker):  # the scheduler's state or the worker is gone
            await self._look()
            return None
        finally:
            member.busy[server] -= 1
            self._change()
            answer.cancel()
            future.release()  # type: ignore[no-untyped-call]  # Dask's

    async def _watch(self) -> None:
        """Keep the list of workers up to date.

        Raises:
            ClusterError: the scheduler is gone.
        """
        try:
            while True:
                await asyncio.sleep(_LOOKS)
                await self._look()
        finally:
            for each in self._members.values():
                each.gone.cancel()
            self._change()

    async def _look(self) -> None:
        """Update the list of workers.

        Raises:
            ClusterError: the scheduler is gone.
        """
        async with self._looking:
            try:
                found = await self._workers()
            except (OSError, TimeoutError) as error:
                raise self._gone from error
            for member in [each for address, each in self._members.items() if address not in found]:
                self._forget(member)
            self._left_out &= found.keys()
            for address in found.keys() - self._members.keys() - self._left_out - self._joining.keys():
                self._joining[address] = asyncio.create_task(self._admit(address, _slots(found[address])))

    async def _workers(self) -> Mapping[str, Mapping[str, object]]:
        """The scheduler's description of each worker, by address."""
        scheduler = self._client.scheduler
        if scheduler is None:
            raise ConnectionError
        async with asyncio.timeout(_CONNECTS):
            workers: Mapping[str, Mapping[str, object]] = (await scheduler.identity(n_workers=-1))["workers"]
        return workers

    async def _admit(self, address: str, slots: Mapping[str, int]) -> None:
        """Admit a worker if its AdaCoder is the same."""
        try:
            told = await self._asked(address, versions)
            why = _other(told) or await self._asked(address, join, self._run, self._setup)
            if why is None:
                self._members[address] = _Member(address, slots, asyncio.Future())
                self._change()
            elif not isinstance(why, OSError):  # after an OSError it has left, or is asked again
                self._leave_out(address, str(why))
        finally:
            del self._joining[address]

    async def _asked(self, address: str, function: Callable[..., object], *arguments: object) -> object:
        """Return a worker's answer, or the error that prevented it."""
        told = await self._client.run(function, *arguments, workers=[address], on_error="return")
        return told.get(address, ConnectionError())

    def _leave_out(self, address: str, why: str) -> None:
        if address in self._members:
            self._forget(self._members[address])
        self._left_out.add(address)
        self._tell(f"The worker {address} is left out: {why}")

    def _forget(self, member: _Member) -> None:
        if self._members.get(member.address) is member:
            del self._members[member.address]
        if not member.gone.done():
            member.gone.set_result(None)
        self._change()

    def _change(self) -> None:
        """Wake every task that waits for a slot."""
        self._changed.set()
        self._changed = asyncio.Event()


def _slots(worker: Mapping[str, object]) -> Mapping[str, int]:
    """Slots that a worker offers, at most as many as its threads, because it would not begin more tasks."""
    resources, threads = worker["resources"], worker["nthreads"]
    if not isinstance(resources, dict) or not isinstance(threads, int):
        return {}
    return {name: min(int(amount), threads) for name, amount in resources.items() if amount >= 1}


def _other(told: object) -> str | OSError | None:
    """Return the reason why a worker with these versions cannot take part; None if it can."""
    ours = versions()
    if told == ours:
        return None
    if isinstance(told, OSError):
        return told
    if isinstance(told, tuple):
        return f"it has AdaCoder {told[0]} with rows of version {told[1]}, this is {ours[0]} with {ours[1]}."
    if "No module named 'adacoder" in str(told):  # Dask may wrap the error
        return f"it has no AdaCoder: pip install adacoder=={ours[0]} there."
    return f"it cannot say which AdaCoder it has ({told})."
