"""Record the calls that HumanEval's own tests make. EvalPlus gets these calls, because its own data must be downloaded.

Standard input is a JSON list of tasks. Each task's `check` runs on its canonical solution. Standard output is a JSON
list with a Python literal for each task: `([[ARGUMENT…]…], [RESULT…], [SECONDS…])`.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import sys
import time


def calls(task: dict[str, str]) -> str:
    """Return the calls of one task, as a Python literal."""
    inputs: list[list[object]] = []
    results: list[object] = []
    times: list[float] = []
    namespace: dict[str, object] = {}
    exec(task["prompt"] + task["canonical_solution"] + "\n" + task["test"], namespace)
    function, check = namespace[task["entry_point"]], namespace["check"]
    assert callable(function)
    assert callable(check)

    def recorder(*arguments: object) -> object:
        inputs.append(copy.deepcopy(list(arguments)))
        began = time.perf_counter()
        result = function(*arguments)
        times.append(time.perf_counter() - began)
        results.append(copy.deepcopy(result))
        return result

    check(recorder)
    return repr((inputs, results, times))


if __name__ == "__main__":
    tasks = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        recorded = [calls(task) for task in tasks]
    print(json.dumps(recorded))
