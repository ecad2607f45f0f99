"""What `source/splice.py` is made of.

`signature` and `rename` put a candidate into the target's words, `quotes` into the file's. `brought` says what comes
along, `helpers` under which names, `around` what is there already. `layout` says where it goes, `import_block` and
`import_names` how imports join the file's own. `inner` is for a function that can only go in whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adacoder.domain import Edit, Span


@dataclass(frozen=True, slots=True)
class Splice:
    """A target's module with a candidate in place."""

    edits: tuple[Edit, ...]
    """What turns `target.text` into `text`, in order; none if nothing changes."""
    text: str
    function: Span
    """The whole function in `text`, decorators included."""
    added: tuple[Span, ...] = ()
    """Where in `text` the imports and definitions stand that the candidate brought."""
