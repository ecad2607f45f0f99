"""The URI of a document."""

from __future__ import annotations

from urllib.parse import unquote


class Uri(str):
    """A URI as the client spells it. It equals every other spelling, such as `%20` for a space, also as a key."""

    __slots__ = ()

    # `unquote` may return its argument, so the methods of `str` are called by name.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str.__eq__(unquote(self), unquote(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(unquote(self))
