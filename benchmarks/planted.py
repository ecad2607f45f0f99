"""Measure how many planted faults `adacoder compare` finds.

    planted.py [--only NAME]

The functions are from toolz, boltons and the standard library. Each gets a fault that its examples miss. A function is
left out and named if its library is missing, or has another version. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from adacoder.checks import Checks
from adacoder.domain import AdaCoderError, Example, Level, Status, Target
from adacoder.project import Project
from adacoder.report.differences import since_before
from adacoder.settings import Settings
from adacoder.source.docstring import add_examples
from adacoder.source.locate import locate, undocumented
from adacoder.source.skeleton import skeleton
from adacoder.source.text import apply_edits
from adacoder.task import Task


@dataclass(frozen=True, slots=True)
class Fault:
    """A function and a change that makes it wrong."""

    function: str
    """The function, as `module:name`."""
    right: str
    wrong: str
    calls: tuple[str, ...]
    """Calls for the function's examples, for which the fault makes no difference."""


FAULTS = (
    Fault("textwrap:indent", "return line.strip()", "return line", ("indent('a\\nb', '- ')",)),
    Fault("colorsys:rgb_to_hsv", "4.0+gc-rc", "3.0+gc-rc", ("rgb_to_hsv(1.0, 0.5, 0.0)",)),
    Fault("colorsys:hls_to_rgb", "if s == 0.0:", "if s <= 0.3:", ("hls_to_rgb(0.5, 0.25, 1.0)",)),
    Fault("calendar:isleap", "or year % 400 == 0", "", ("isleap(2024)", "isleap(1900)")),
    Fault("calendar:leapdays", "y2 -= 1", "y2 -= 0", ("leapdays(2001, 2007)",)),
    Fault("statistics:median", "(data[i - 1] + data[i]) / 2", "data[i]", ("median([1, 3, 5])",)),
    Fault("statistics:median_low", "data[n // 2 - 1]", "data[n // 2]", ("median_low([1, 3, 5])",)),
    Fault("statistics:multimode", "if count == maxcount]", "if count == maxcount][:1]", ("multimode('aab')",)),
    Fault("string:capwords", "str.capitalize", "str.title", ("capwords('hello big world')",)),
    Fault("html:escape", '"&#x27;"', '"&#39;"', ("""escape('<a> & "b"')""",)),
    Fault("shlex:quote", "return \"''\"", "return s", ("quote('a b')", "quote('ab')")),
    Fault("email.utils:unquote", "len(str) > 1", "len(str) > 0",
          ("unquote('\"a\"')", "unquote('<a>')", "unquote('a')")),
    Fault("inspect:cleandoc", "while lines and not lines[-1]:", "while not lines:", ("cleandoc('a\\n  b\\n  c')",)),
    Fault("difflib:get_close_matches", "_nlargest(n, result)", "_nlargest(3, result)",
          ("get_close_matches('appel', ['ape', 'apple', 'peach'], 3)",)),
    Fault("urllib.parse:unquote_to_bytes", "append(b'%')", "append(b'')", ("unquote_to_bytes('a%20bc')",)),
    Fault("posixpath:basename", "p.rfind(sep)", "p.find(sep)", ("basename('a/b')", "basename('b')")),
    Fault("posixpath:join", "elif not path or path.endswith(sep)", "elif path.endswith(sep)", ("join('a', 'b')",)),
    Fault("genericpath:commonprefix", "if not m: return ''", "if m is None: return ''",
          ("commonprefix(['abc', 'abd'])",)),
    Fault("toolz.itertoolz:partition", "return zip(*args)", "return zip_longest(*args)",
          ("list(partition(2, [1, 2, 3, 4]))",)),
    Fault("toolz.itertoolz:isdistinct", "len(seq) == len(set(seq))", "all(map(operator.ne, seq, seq[1:]))",
          ("isdistinct([1, 2, 3])", "isdistinct([1, 1, 3])")),
    Fault("toolz.itertoolz:interpose", "return iter([])", "return iter([el])", ("list(interpose('a', [1, 2, 3]))",)),
    Fault("toolz.itertoolz:nth", "return seq[n]", "return seq[abs(n)]", ("nth(1, 'ABC')",)),
    Fault("toolz.dicttoolz:valfilter", "if predicate(v):", "if v and predicate(v):",
          ("valfilter(lambda x: x % 2 == 0, {1: 2, 2: 3})",)),
    Fault("toolz.dicttoolz:get_in", "except (KeyError, IndexError, TypeError):", "except KeyError:",
          ("get_in(['a', 0], {'a': [1]})", "get_in(['b'], {'a': [1]}, 0)")),
    Fault("boltons.strutils:ordinalize", "if numstr[-2] == '1':", "if numstr == '11':",
          ("ordinalize(1)", "ordinalize(11)")),
    Fault("boltons.strutils:under2camel", "w.capitalize() or '_'", "w.capitalize()", ("under2camel('camel_test')",)),
    Fault("boltons.strutils:cardinalize", "if count == 1:", "if count <= 1:",
          ("cardinalize('vote', 1)", "cardinalize('vote', 2)")),
    Fault("boltons.iterutils:split_iter", "if cur_group or sep is not None:", "if cur_group:",
          ("list(split_iter([1, 0, 2], 0))",)),
    Fault("boltons.mathutils:ceil", "bisect.bisect_left(options, x)", "bisect.bisect_right(options, x)",
          ("ceil(3, [1, 4, 6])",)),
    Fault("boltons.mathutils:clamp", "if upper < lower:", "if upper <= lower:", ("clamp(1, 0, 5)", "clamp(7, 0, 5)")),
)  # fmt: skip


class Unfit(Exception):
    """A fault that cannot be tried here."""


class Planting:
    """Compares right functions with faulty versions of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = Settings(isolation=Level.LSM, interpreter=Path(sys.executable))
        self._checks = Checks()

    async def found(self, fault: Fault) -> str | None:
        """Return the comparison's report on a fault; None if it finds no difference.

        Raises:
            Unfit: the fault cannot be planted, or the examples find it.
        """
        module, _, name = fault.function.partition(":")
        path = self._folder / f"{module.replace('.', '_')}_copy.py"
        right = self._with_examples(_text(module), path, name, fault.calls)
        function = right.source
        if function.count(fault.right) != 1:
            raise Unfit("its source is different here")
        faulty = right.text.replace(function, function.replace(fault.right, fault.wrong))
        wrong = locate(faulty, path, self._folder, qualname=name)
        project = Project(self._folder)
        tasks = [Task(each, self._settings, project) for each in (right, wrong)]
        calls = tuple(Example(f"{call}\n", "", line) for line, call in enumerate(fault.calls))
        for task in tasks:
            outcome = await self._checks.check(replace(task, target=replace(task.target, examples=calls)))
            if outcome.status is Status.ERROR or outcome.verdict is None or not outcome.verdict.imports:
                raise Unfit(outcome.reason or "it does not run")
        outputs = await self._checks.compare(tasks[0], wrong)
        if {each.call for each in outputs.differs} & set(fault.calls):
            raise Unfit("its examples find the fault")
        return since_before(outputs) if outputs.differs else None

    async def close(self) -> None:
        """End all processes."""
        await self._checks.close()

    def _with_examples(self, text: str, path: Path, name: str, calls: Sequence[str]) -> Target:
        """Return the function with a docstring whose examples make these calls."""
        missing = undocumented(text, path, qualname=name)
        if missing is not None:
            text = apply_edits(text, [skeleton(missing)])
        target = locate(text, path, self._folder, qualname=name)
        shown = [Example(f"{call}\n", "", line) for line, call in enumerate(calls)]
        text = apply_edits(text, [add_examples(target, shown)])
        target = locate(text, path, self._folder, qualname=name)
        own = tuple(each for each in target.examples if each.source.strip() in calls)
        return replace(target, examples=own)


async def measure(only: str) -> dict[str, object]:
    """Try the faults of all functions whose name contains `only`. Return the figures."""
    found: list[str] = []
    missed: list[str] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        planting = Planting(Path(name))
        try:
            for fault in FAULTS:
                if only not in fault.function:
                    continue
                try:
                    said = await planting.found(fault)
                except (Unfit, AdaCoderError) as error:
                    left_out.append(fault.function)
                    print(f"{fault.function}: left out, because {error}", flush=True)
                    continue
                (missed if said is None else found).append(fault.function)
                print(f"{fault.function}: {said or 'missed'}", flush=True)
        finally:
            await planting.close()
    return {"found": len(found), "of": len(found) + len(missed), "missed": missed, "left_out": left_out}


def _text(module: str) -> str:
    spec = find_spec(module) if find_spec(module.partition(".")[0]) else None
    path = None if spec is None else getattr(spec.loader_state, "filename", spec.origin)  # frozen modules, too
    if path is None or not path.endswith(".py"):
        raise Unfit("it is not installed")
    return Path(path).read_text("utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    print(json.dumps(asyncio.run(measure(parser.parse_args().only))))


if __name__ == "__main__":
    main()
