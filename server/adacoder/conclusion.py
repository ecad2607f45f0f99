"""Decide the status of a request, such as `verified`, from the verdict about its best candidate."""

from __future__ import annotations

from dataclasses import replace

from adacoder.domain import UNPARSED, Attempt, FailureKind, Outcome, ProjectTestStatus, Status, Target, Verdict


def conclude(target: Target, attempt: Attempt, rounds: int) -> Outcome:
    """Turn an attempt into an Outcome. Only this function decides that a function is `verified`.

    An example that shows an output, or a test of the project, must have run the function. All such examples and tests
    must pass, and every example that no directive skips must have a result. A memorised answer, or a test that passed
    only at the second try, leaves the function unverified.

    For a class or a module, one passed example is enough, whatever code it ran.
    """
    verdict = attempt.verdict
    passed, total = verdict.examples_passed, verdict.total(target)
    if verdict.failure is None:
        is_proved = verdict.is_proved or (passed > 0 and not target.is_function)
        is_proved = is_proved and verdict.answers(target.examples)
        is_proved = is_proved and not any(result.skipped for result in verdict.results)
        unstable = next((test.name for test in verdict.tests if test.status is ProjectTestStatus.UNSTABLE), None)
        status = Status.VERIFIED if is_proved and unstable is None else Status.UNVERIFIED
        reason = None if is_proved else _why_nothing_is_proved(target, verdict)
        if is_proved and unstable is not None:
            reason = f"The test {unstable} failed, and then passed with the same code: find out why before you keep it."
    elif verdict.failure.kind is FailureKind.MEMORISED:
        status, reason = Status.UNVERIFIED, f"{verdict.failure.message} Read it before you keep it."
    elif passed:
        status = Status.PARTIAL
        reason = (f"Only {passed} of {total} examples passed. " if passed < total else "") + verdict.failure.message
    else:
        status, reason = Status.FAILED, verdict.failure.message
    edits = verdict.edits if status.is_offered else ()
    notes = attempt.candidate.notes if attempt.candidate.function else ()
    if edits and target.is_function and not target.is_documented:
        notes = (*notes, f"'{target.name}' has no docstring, so only tests decide: read it before you keep it.")
    return Outcome(status, target, reason, attempt.candidate, verdict, rounds, edits, notes=notes)


def conclude_check(target: Target, attempt: Attempt, rounds: int) -> Outcome:
    """Turn a check of the current text into an Outcome.

    This is like `conclude`, with two further statuses. If the file does not parse, the status is `error`. If an example
    needs something that isolation denies, the status is `denied`.
    """
    outcome = conclude(target, attempt, rounds)
    failure = attempt.verdict.failure
    if failure is None:
        return outcome
    if not attempt.verdict.parses and failure.kind in UNPARSED:
        return replace(outcome, status=Status.ERROR, reason=failure.message)
    if failure.kind is FailureKind.DENIED:
        return replace(outcome, status=Status.DENIED, reason=failure.message)
    return outcome


def _why_nothing_is_proved(target: Target, verdict: Verdict) -> str:
    name = target.name
    if verdict.tests:
        return f"No example and no test that counts was seen to run '{name}' and pass, so nothing could be verified."
    if not target.examples:
        informal = "" if target.in_class else f" and shows no call with its result, such as `{name}(…) == …`"
        return f"The docstring of '{name}' has no >>> examples{informal}, so nothing could be verified."
    if verdict.imports and not verdict.defines:
        return f"The imported module does not define '{name}', and doctest does not find it: it was not checked."
    if all(example.skipped for example in target.examples) or all(result.skipped for result in verdict.results):
        return f"All examples of '{name}' are skipped, so nothing could be verified."
    if any(result.skipped for result in verdict.results):
        return f"Some examples of '{name}' were skipped while they ran, so nothing could be verified."
    if not verdict.answers(target.examples):
        return f"Not all examples of '{name}' ran, so nothing could be verified."
    if not target.has_wants and any(example.skipped and example.want for example in target.examples):
        return f"All examples of '{name}' that show an output are skipped, so nothing could be verified."
    if not target.has_wants:
        return f"No example of '{name}' shows an output, so nothing could be verified."
    instead = dict.fromkeys(result.ran for result in verdict.results if result.ran)
    told = f": {', and '.join(instead)}" if instead else ""
    ran = "was seen to run" if "` is a " in told else "ran"
    return f"No example that shows an output {ran} '{name}', so nothing could be verified{told}."
