"""Code actions for the function under the cursor.

Editors ask at every movement of the cursor, so this looks at line structure only, and starts nothing. An
action carries a command, never an edit: writing a function takes too long for any editor's
`codeAction/resolve`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types
from pygls.capabilities import get_capability

from adacoder.domain import JSON, Target, TargetError
from adacoder.lsp.memory import Memory
from adacoder.lsp.snapshot import Snapshot

COMMAND = "adacoder.server."
"""Prefix of the ids of all commands."""
GENERATE_KIND = "refactor.rewrite.adacoder"
FIX_KIND = types.CodeActionKind.QuickFix.value
KINDS = [GENERATE_KIND, FIX_KIND]
"""The kinds of all actions."""

_LOOKED_THROUGH = 20_000
"""Characters of a text that is read as a whole at a movement of the cursor, which takes 10 ms."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An action, independent of the client's capabilities."""

    kind: str
    title: str
    command: str
    obstacle: str | None = None
    """The reason why it cannot be done here."""


def code_actions(
    snapshot: Snapshot,
    line: int,
    context: types.CodeActionContext,
    client: types.ClientCapabilities,
    memory: Memory | None = None,
) -> list[types.CodeAction | types.Command]:
    """The actions for the function around `line`, what it needs first; `memory` knows what came of it lately.

    Where the editor asks of its own accord, only what a function plainly needs is worth a lightbulb: a stub its body,
    one that is known to fail a fix. What cannot be done is shown only to somebody who asked for that very kind and
    will see the reason.
    """
    target, obstacle = _function_around(snapshot, line)
    is_asked = context.trigger_kind is not types.CodeActionTriggerKind.Automatic
    found = _needed(snapshot, target, memory or Memory())
    if target is None:
        found = [*_documenting(snapshot, line), *_impossible(obstacle)]
    elif is_asked:
        found += _more(snapshot, target, memory or Memory())
    else:
        found = found[:1] if target.is_stub or found[0].kind == FIX_KIND else []
    offers = [offer for offer in found if _is_wanted(offer.kind, context.only)]
    if not (context.only and get_capability(client, "text_document.code_action.disabled_support", False)):
        offers = [offer for offer in offers if offer.obstacle is None]
    arguments = [_argument(snapshot, line, target)]
    return [_in_terms_of(client, offer, arguments) for offer in offers]


def _needed(snapshot: Snapshot, target: Target | None, memory: Memory) -> list[Offer]:
    """To write a function, or to fix it: what it needs first."""
    if target is None:
        return []
    unwritten = f"'{target.name}' has no body yet: generate it." if target.is_stub else None
    generate = Offer(GENERATE_KIND, f"AdaCoder: generate function '{target.name}'", COMMAND + "generate")
    fix = Offer(FIX_KIND, "Fix with AdaCoder", COMMAND + "fix", unwritten)
    return [fix, generate] if memory.fails(snapshot.path, target) and not target.is_stub else [generate, fix]


def _more(snapshot: Snapshot, target: Target, memory: Memory) -> list[Offer]:
    """What else can be done with a function, for somebody who asks."""
    offers: list[Offer] = []
    if not target.is_stub or memory.candidates(snapshot.path, target):
        offers.append(Offer(GENERATE_KIND, f"AdaCoder: another candidate for '{target.name}'", COMMAND + "another"))
    if not (target.has_wants or target.of_class):
        title = f"AdaCoder: suggest examples for '{target.name}'"
        offers.append(Offer(GENERATE_KIND, title, COMMAND + "suggestExamples"))
    if target.is_stub and _has_more_stubs(snapshot.text):
        offers.append(Offer(GENERATE_KIND, "AdaCoder: generate all stubs in this file", COMMAND + "generateAll"))
    return offers


def _has_more_stubs(text: str) -> bool:
    """Tell whether several functions of `text` are stubs with a docstring; of a long text that is believed."""
    if len(text) > _LOOKED_THROUGH:
        return True
    from adacoder.source.stubs import documented_stubs

    return len(documented_stubs(text)) > 1


def _documenting(snapshot: Snapshot, line: int) -> list[Offer]:
    """The skeleton of a docstring, for a function that has none."""
    from adacoder.source.locate import undocumented

    found = undocumented(snapshot.text, snapshot.path, line=line)
    if found is None:
        return []
    title = f"AdaCoder: '{found.name}' has no docstring: write the skeleton of one"
    return [Offer(GENERATE_KIND, title, COMMAND + "writeDocstring")]


def _impossible(obstacle: str | None) -> list[Offer]:
    return [
        Offer(GENERATE_KIND, "AdaCoder: generate function", COMMAND + "generate", obstacle),
        Offer(FIX_KIND, "Fix with AdaCoder", COMMAND + "fix", obstacle),
    ]


def _is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """True if a client that asks for the kinds `only` wants `kind`; `a.b` is of the kind `a`."""
    return not only or any(not each or f"{kind}.".startswith(f"{each}.") for each in map(_text, only))


def _text(kind: str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _function_around(snapshot: Snapshot, line: int) -> tuple[Target | None, str | None]:
    """The function around `line`, or the reason why there is none."""
    from adacoder.source.locate import locate

    try:
        return locate(snapshot.text, snapshot.path, snapshot.folder, line=line), None
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
    client: types.ClientCapabilities, offer: Offer, arguments: list[dict[str, JSON]]
) -> types.CodeAction | types.Command:
    """Convert an offer to what the client understands: some know only commands."""
    command = types.Command(title=offer.title, command=offer.command, arguments=arguments)
    if get_capability(client, "text_document.code_action.code_action_literal_support", None) is None:
        return command
    tags = get_capability(client, "text_document.code_action.tag_support.value_set", None) or ()
    has_tag = types.CodeActionTag.LlmGenerated in tags
    return types.CodeAction(
        title=offer.title,
        kind=offer.kind,
        command=command if offer.obstacle is None else None,
        disabled=types.CodeActionDisabled(offer.obstacle) if offer.obstacle else None,
        tags=[types.CodeActionTag.LlmGenerated] if has_tag else None,
    )
