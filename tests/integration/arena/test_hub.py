"""Downloads of tasks: with the real library from a stand-in for the hub, and with a stand-in for the library."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from adacoder.arena.formats import load
from adacoder.arena.hub import NAMES, download
from adacoder.arena.tasks import TasksError

COMMIT = "a" * 40
PLACE = "openai/openai_humaneval"
CARD = """---
configs:
- config_name: openai_humaneval
  data_files:
  - split: test
    path: openai_humaneval/test-*
---
"""


def humaneval(number: int) -> dict[str, object]:
    return {
        "task_id": f"HumanEval/{number}",
        "prompt": 'def double(x):\n    """Twice x."""\n',
        "canonical_solution": "    return 2 * x\n",
        "test": "def check(candidate):\n    assert candidate(21) == 42\n",
        "entry_point": "double",
    }


def mbpp(number: int) -> dict[str, object]:
    return {
        "task_id": number,
        "text": "Double.",
        "code": "def f(x):\n    return 2 * x",
        "test_list": ["assert f(1) == 2"],
    }


class Library:
    """A stand-in for the library `datasets`. It has the same splits as the hub."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.splits: dict[str, list[dict[str, object]]] = {"test": [humaneval(number) for number in (10, 2)]}
        module = ModuleType("datasets")
        module.load_dataset = self.load_dataset  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "datasets", module)

    def load_dataset(self, place: str, configuration: str, *, cache_dir: str) -> dict[str, list[dict[str, object]]]:
        assert Path(cache_dir).is_dir()
        self.asked.append((place, configuration))
        return self.splits


def test_a_file_of_tasks_comes_of_it_once_with_its_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(monkeypatch)
    path = download("humaneval", tmp_path)
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (tmp_path / "humaneval.jsonl.sha256").read_text() == f"{checksum}  humaneval.jsonl\n"
    tasks = load(path, tmp_path)
    assert (tasks.dataset, tasks.checksum) == ("humaneval", f"sha256:{checksum}")
    assert [task.id for task in tasks.tasks] == ["HumanEval/2", "HumanEval/10"]
    assert download("humaneval", tmp_path) == path
    assert library.asked == [(PLACE, "openai_humaneval")]


def test_all_splits_of_mbpp_are_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(monkeypatch)
    library.splits = {"train": [mbpp(601)], "test": [mbpp(11)], "prompt": [mbpp(2)]}
    tasks = load(download("mbpp", tmp_path), tmp_path)
    assert (tasks.dataset, [task.id for task in tasks.tasks]) == ("mbpp", ["MBPP/2", "MBPP/11", "MBPP/601"])
    assert library.asked == [("google-research-datasets/mbpp", "full")]


def test_a_file_that_was_changed_is_not_taken_for_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Library(monkeypatch)
    path = download("humaneval", tmp_path)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(TasksError, match="differs from the download"):
        download("humaneval", tmp_path)


@pytest.mark.parametrize("splits", [{}, {"test": [{"other": 1}]}])
def test_what_holds_no_tasks_is_not_kept(
    splits: dict[str, list[dict[str, object]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Library(monkeypatch).splits = splits
    with pytest.raises(TasksError, match="no tasks"):
        download("humaneval", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_or_the_hub_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable(Library):
        def load_dataset(self, *_: object, **__: object) -> dict[str, list[dict[str, object]]]:
            raise ConnectionError("Connection refused\nand much more")

    Unreachable(monkeypatch)
    with pytest.raises(TasksError) as refused:
        download("humaneval", tmp_path)
    assert str(refused.value) == f"{PLACE} cannot be downloaded: Connection refused"
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(TasksError, match=r"pip install 'adacoder\[hub\]'"):
        download("humaneval", tmp_path)
    with pytest.raises(TasksError, match=", ".join(NAMES)):
        download("swe-bench", tmp_path)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def standin(files: dict[str, bytes]) -> Iterator[str]:
    """Run a hub with one data set. Yield the hub's address."""
    at = f"/api/datasets/{PLACE}"
    place = f"/datasets/{PLACE}/resolve/"

    class Hub(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            name = path.removeprefix(place).partition("/")[2]
            below = path.removeprefix(f"{at}/tree/{COMMIT}").strip("/")
            if path.startswith(place) and name in files:
                self._send(200, files[name], ETag=f'"{hashlib.sha1(files[name]).hexdigest()}"')
            elif path.startswith(f"{at}/tree/"):
                found = [
                    {"type": "file", "path": each, "size": len(data), "oid": COMMIT}
                    for each, data in files.items()
                    if each.rpartition("/")[0] == below
                ]
                if not below:
                    folders = {each.partition("/")[0] for each in files if "/" in each}
                    found += [{"type": "directory", "path": each, "size": 0, "oid": COMMIT} for each in folders]
                self._send(200, json.dumps(found).encode())
            elif path == at or path.startswith(f"{at}/revision/"):
                told = {"id": PLACE, "sha": COMMIT, "private": False, "gated": False, "tags": [], "downloads": 0}
                siblings = [{"rfilename": each} for each in files]
                self._send(200, json.dumps({**told, "likes": 0, "siblings": siblings}).encode())
            else:
                self._send(404, b"{}", **{"X-Error-Code": "EntryNotFound"})

        do_HEAD = do_GET  # noqa: N815

        def _send(self, code: int, body: bytes, **headers: str) -> None:
            self.send_response(code)
            kept = {"Content-Type": "application/json", "X-Repo-Commit": COMMIT, "Content-Length": str(len(body))}
            for name, value in {**kept, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_the_real_library_downloads_from_a_hub(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist([humaneval(number) for number in (10, 2)]), table)
    files = {"README.md": CARD.encode(), "openai_humaneval/test-00000-of-00001.parquet": table.getvalue()}
    script = (
        "import sys; from pathlib import Path; from adacoder.arena.hub import download; download('humaneval', Path())"
    )
    with standin(files) as address:
        environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert [task.id for task in load(tmp_path / "humaneval.jsonl", tmp_path).tasks] == ["HumanEval/2", "HumanEval/10"]
