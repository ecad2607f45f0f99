"""Offer code actions for the function under the cursor, and for pages of documentation.

Editors request actions at every movement of the cursor, so this module only reads the text. An action runs a command
instead of an edit, because an editor does not wait until a model has written a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lsprotocol import types
from pygls.capabilities import get_capability

from adacoder.domain import JSON, PAGE, Candidate, FailureKind, Target, TargetError
from adacoder.lsp.features import COMMAND, FIX_KIND, GENERATE_KIND, JOURNAL_KIND
from adacoder.lsp.jobs.results import KeptResult
from adacoder.lsp.showing.diagnostics import DIFFERS, SOURCE, UNREACHED
from adacoder.lsp.showing.evidence import Evidence
from adacoder.lsp.snapshot import Snapshot
from adacoder.project import is_page
from adacoder.report.differences import answers
from adacoder.source.notebook import alone

_LOOKED_THROUGH = 20_000
"""Maximum length of a text that is parsed for each request. To parse such a text takes up to 10 ms."""


_PREFERRED = (COMMAND + "fix", COMMAND + "generate")


@dataclass(frozen=True, slots=True)
class FileState:
    """Facts about the functions of a file that the text of the file does not show."""

    running: Mapping[str, str] = field(default_factory=dict)
    """Ids of running jobs. The keys are qualified names of functions."""
    kept: Sequence[KeptResult] = ()
    last_job: Callable[[str], str | None] = lambda name: None
    """Callback that returns the id of the last job on the function with the given qualified name."""
    failing: frozenset[str] = frozenset()
    """Qualified names of the functions that fail their examples in the current text."""
    asking: Mapping[str, Evidence] = field(default_factory=dict)
    """Evidence with an open question. The keys are qualified names of functions."""
    earlier: Callable[[Target], Sequence[Candidate]] = lambda target: ()
    """Callback that returns the earlier candidates for a function."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A code action, before the conversion for the client."""

    kind: str
    title: str
    command: str
    obstacle: str | None = None
    """The reason why the action is unavailable, or None."""
    diagnostics: tuple[types.Diagnostic, ...] = ()
    """The diagnostics that the action fixes."""
    arguments: Mapping[str, JSON] | None = None
    """The arguments of the action's command. None stands for the function at the cursor."""
    is_urgent: bool = False
    """True if the editor should show a light bulb for the action."""


def code_actions(
    snapshot: Snapshot,
    line: int,
    context: types.CodeActionContext,
    client: types.ClientCapabilities,
    state: FileState | None = None,
) -> list[types.CodeAction | types.Command]:
    """Return the actions for the function at `line`, or for a page of documentation.

    The most useful action is the first.

    Only urgent actions are returned if the editor asks by itself to show a light bulb. Urgent actions generate a stub,
    fix a failing function, answer a question, or concern a job or its result.

    An unavailable action is returned only if the client asks for its kind and can show the reason.
    """
    state = state or FileState()
    target, obstacle = (None, None) if is_page(snapshot.path) else _function_around(snapshot, line)
    own = [each for each in context.diagnostics if each.source == SOURCE]
    failed = tuple(each for each in own if each.code not in (UNREACHED, DIFFERS))
    asked = tuple(each for each in own if each.code == DIFFERS)
    is_asked = context.trigger_kind is not types.CodeActionTriggerKind.Automatic
    if is_page(snapshot.path):
        offers = _of_page(snapshot, failed, state)
    elif target is None:
        offers = [*_documenting(snapshot, line), *_impossible(obstacle)]
    elif target.qualname in state.running:
        offers = [*_of_state(target, state), *_journal(target, state)]  # only one job may work on a function at a time
    else:
        offers = [*_answers(target, asked, state), *_of_state(target, state), *_needed(snapshot, target, failed, state)]
        offers += [*_more(snapshot, target, state), *_journal(target, state)] if is_asked else []
    offers = [*_testing(snapshot, line), *offers]
    return _chosen(offers, context, client, _argument(snapshot, line, target))


def explained(
    params: types.CodeActionParams, reason: str, client: types.ClientCapabilities
) -> list[types.CodeAction | types.Command]:
    """Return an action whose title is the reason why a document has no actions.

    If the editor can show unavailable actions, return the usual actions, marked as unavailable for this reason.
    """
    title = Offer(GENERATE_KIND, f"AdaCoder: {reason}", COMMAND + "generate")
    is_shown = params.context.only and _shows_obstacles(client)
    here: dict[str, JSON] = {"uri": params.text_document.uri, "position": {"line": params.range.start.line}}
    return _chosen(_impossible(reason) if is_shown else [title], params.context, client, here)


def _chosen(
    offers: Sequence[Offer],
    context: types.CodeActionContext,
    client: types.ClientCapabilities,
    here: Mapping[str, JSON],
) -> list[types.CodeAction | types.Command]:
    """Return the offers that the client requested. An offer without arguments gets the arguments `here`."""
    is_asked = context.trigger_kind is not types.CodeActionTriggerKind.Automatic
    offers = [each for each in offers if _is_wanted(each.kind, context.only) and (is_asked or each.is_urgent)]
    if not (context.only and _shows_obstacles(client)):
        offers = [offer for offer in offers if offer.obstacle is None]
    return [_in_terms_of(client, offer, [offer.arguments or here]) for offer in offers]


def _shows_obstacles(client: types.ClientCapabilities) -> bool:
    return bool(get_capability(client, "text_document.code_action.disabled_support", False))


def _of_page(snapshot: Snapshot, failed: tuple[types.Diagnostic, ...], state: FileState) -> list[Offer]:
    """Return the actions for a page of documentation. They only concern examples."""
    from adacoder.source.pages import may_have_examples

    name = snapshot.path.name
    if (job_id := state.running.get(PAGE)) is not None:
        return [_about_job(f"AdaCoder: cancel '{name}'", "cancel", job_id)]
    if not may_have_examples(snapshot.text):
        return []
    check = Offer(GENERATE_KIND, f"AdaCoder: check the examples of '{name}'", COMMAND + "check")
    shown = failed if PAGE in state.failing else ()
    return [*_accepting(snapshot, shown), *_clearing(name, failed), check]


def _of_state(target: Target, state: FileState) -> list[Offer]:
    """Return the actions to cancel a running job, and to view, insert or discard kept results."""
    offers: list[Offer] = []
    if (job_id := state.running.get(target.qualname)) is not None:
        offers.append(_about_job(f"AdaCoder: cancel '{target.name}'", "cancel", job_id))
    for result in state.kept:
        if result.fits(target):
            insert = _about_job(f"Insert {result.title}", "insert", result.job_id)
            offers += [
                *([] if job_id else [insert]),
                _about_job(f"Show difference: {result.what}", "difference", result.job_id),
                _about_job(f"Discard {result.what}", "discard", result.job_id),
            ]
    return offers


def _answers(target: Target, asked: tuple[types.Diagnostic, ...], state: FileState) -> list[Offer]:
    """Return an action for each possible answer to the open question about the function."""
    evidence = state.asking.get(target.qualname)
    if evidence is None or evidence.question is None:
        return []
    place: dict[str, JSON] = {"uri": evidence.uri, "qualifiedName": evidence.qualname, "call": evidence.question.call}
    return [
        Offer(
            FIX_KIND,
            f"AdaCoder: {words[0].lower()}{words[1:]}",
            COMMAND + "answer",
            diagnostics=asked,
            arguments={**place, "answer": answer.value},
            is_urgent=True,
        )
        for answer, words in answers(evidence.question).items()
    ]


def _about_job(title: str, command: str, job_id: str) -> Offer:
    return Offer(GENERATE_KIND, title, COMMAND + command, arguments={"jobId": job_id}, is_urgent=True)


def _needed(snapshot: Snapshot, target: Target, failed: tuple[types.Diagnostic, ...], state: FileState) -> list[Offer]:
    """Return the actions that generate and fix the function. The more useful action is the first."""
    title = f"AdaCoder: generate function '{target.name}'"
    generate = Offer(GENERATE_KIND, title, COMMAND + "generate", is_urgent=target.is_stub)
    if failed:
        command = COMMAND + ("generate" if target.is_stub else "fix")
        fix = Offer(FIX_KIND, "Fix with AdaCoder", command, diagnostics=failed, is_urgent=True)
        # The outputs of a candidate that is not in the file must not be accepted.
        shown = failed if target.qualname in state.failing else ()
        return [fix, generate, *_accepting(snapshot, shown), *_clearing(target.name, failed)]
    unwritten = f"'{target.name}' has no body yet: generate it." if target.is_stub else None
    fails = target.qualname in state.failing and not target.is_stub
    fix = Offer(FIX_KIND, "Fix with AdaCoder", COMMAND + "fix", unwritten, is_urgent=fails)
    return [fix, generate] if fails else [generate, fix]


def _clearing(name: str, failed: tuple[types.Diagnostic, ...]) -> list[Offer]:
    title = f"AdaCoder: clear what failed in '{name}'"
    return [Offer(FIX_KIND, title, COMMAND + "clear", diagnostics=failed, is_urgent=True)] if failed else []


def _accepting(snapshot: Snapshot, failed: Sequence[types.Diagnostic]) -> list[Offer]:
    """Return an action for each wrong output. The action replaces the expected output by the actual output."""
    return [
        Offer(
            FIX_KIND,
            "AdaCoder: insert the actual output",
            COMMAND + "acceptOutput",
            diagnostics=(each,),
            arguments={
                "uri": snapshot.uri,
                "version": snapshot.version,
                "position": {"line": each.range.start.line, "character": 0},
            },
        )
        for each in failed
        if each.code == FailureKind.WRONG_OUTPUT
    ]


def _journal(target: Target, state: FileState) -> list[Offer]:
    job_id = state.last_job(target.qualname)
    if job_id is None:
        return []
    arguments: dict[str, JSON] = {"jobId": job_id, "format": "markdown", "show": True}
    title = f"AdaCoder: show the journal of '{target.name}'"
    return [Offer(JOURNAL_KIND, title, COMMAND + "journal", arguments=arguments)]


def _more(snapshot: Snapshot, target: Target, state: FileState) -> list[Offer]:
    """Return the actions that are less often needed. They show no light bulb."""
    offers: list[Offer] = []
    if not target.is_stub or state.earlier(target):
        offers.append(Offer(GENERATE_KIND, f"AdaCoder: another candidate for '{target.name}'", COMMAND + "another"))
    if not (target.has_wants or target.of_class):
        title = f"AdaCoder: suggest examples for '{target.name}'"
        offers.append(Offer(GENERATE_KIND, title, COMMAND + "suggestExamples"))
    if not target.is_stub and target.examples:
        offers.append(Offer(GENERATE_KIND, f"AdaCoder: check the examples of '{target.name}'", COMMAND + "check"))
    if _needs_stubs(target):
        title = f"AdaCoder: generate all stubs in this {'cell' if target.module.cells else 'file'}"
        offers.append(Offer(GENERATE_KIND, title, COMMAND + "generateAll"))
    return offers


def _needs_stubs(target: Target) -> bool:
    """Return whether to offer to generate all stubs of the file.

    The offer is made if `target` is one of several stubs, or uses a stub. A long text is not parsed, and the offer is
    made for every stub.
    """
    target = alone(target)
    if len(target.text) > _LOOKED_THROUGH:
        return target.is_stub
    from adacoder.source.dependence import stubs_used
    from adacoder.source.stubs import documented_stubs

    return len(documented_stubs(target.text)) > 1 if target.is_stub else bool(stubs_used(target, target.source))


def _documenting(snapshot: Snapshot, line: int) -> list[Offer]:
    """Return the action that writes a docstring skeleton, if the function has no docstring."""
    from adacoder.source.locate import undocumented

    found = undocumented(snapshot.code, snapshot.path, line=line)
    if found is None:
        return []
    title = f"AdaCoder: '{found.name}' has no docstring: write the skeleton of one"
    return [Offer(GENERATE_KIND, title, COMMAND + "writeDocstring")]


def _testing(snapshot: Snapshot, line: int) -> list[Offer]:
    """Return the action to make the test at `line` pass."""
    from adacoder.settings.pytest_files import files_with_tests
    from adacoder.source.locate import test_at

    test = test_at(snapshot.text, line) if files_with_tests(snapshot.folder)(snapshot.path) else None
    if test is None:
        return []
    title = f"Fix with AdaCoder: make '{test.rpartition('::')[2]}' pass"
    return [Offer(FIX_KIND, title, COMMAND + "fixTest")]


def _impossible(obstacle: str | None) -> list[Offer]:
    return [
        Offer(GENERATE_KIND, "AdaCoder: generate function", COMMAND + "generate", obstacle, is_urgent=True),
        Offer(FIX_KIND, "Fix with AdaCoder", COMMAND + "fix", obstacle, is_urgent=True),
    ]


def _is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Return whether a client that asks for the kinds `only` accepts `kind`. A kind `a` includes the kind `a.b`."""
    return not only or any(not each or f"{kind}.".startswith(f"{each}.") for each in map(_text, only))


def _text(kind: str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _function_around(snapshot: Snapshot, line: int) -> tuple[Target | None, str | None]:
    """Return the function at `line`, or the reason why there is no function."""
    try:
        return snapshot.find(line=line), None
    except TargetError as error:
        return None, str(error)


def _argument(snapshot: Snapshot, line: int, target: Target | None) -> dict[str, JSON]:
    return {
        "uri": snapshot.uri,
        "version": snapshot.version,
        "position": {"line": line, "character": 0},
        "qualifiedName": target.qualname if target else None,
    }


def _in_terms_of(
    client: types.ClientCapabilities, offer: Offer, arguments: Sequence[Mapping[str, JSON]]
) -> types.CodeAction | types.Command:
    """Convert an offer to a code action. For a client that does not support code actions, convert it to a command."""
    command = types.Command(title=offer.title, command=offer.command, arguments=[*arguments])
    if get_capability(client, "text_document.code_action.code_action_literal_support", None) is None:
        return command
    tags = get_capability(client, "text_document.code_action.tag_support.value_set", None) or ()
    has_tag = types.CodeActionTag.LlmGenerated in tags
    return types.CodeAction(
        title=offer.title,
        kind=offer.kind,
        command=command if offer.obstacle is None else None,
        disabled=types.CodeActionDisabled(offer.obstacle) if offer.obstacle else None,
        diagnostics=[*offer.diagnostics] or None,
        is_preferred=True if offer.diagnostics and offer.command in _PREFERRED else None,
        tags=[types.CodeActionTag.LlmGenerated] if has_tag and offer.kind != JOURNAL_KIND else None,
    )
