"""Write a project to disk, and return the context that a model gets from it."""

from __future__ import annotations

import textwrap
from pathlib import Path

from adacoder.domain import Target
from adacoder.source.context import Piece, pieces
from adacoder.source.locate import locate

SHOP = '''
"""A shop."""
from models import Order as Ordered
import os

try:
    from typing import Self
except ImportError:
    Self = None
if TYPE_CHECKING:
    from models import Basket

LIMIT = 3  # articles
OTHER = {"a": 1}


def helper(x: int) -> int:
    """Help with x.

    It helps in three ways.
    >>> helper(1)
    1
    """
    return x


def unrelated(y):
    return y


class Base:
    """What all have."""

    kind: str = "base"
    if os.sep:
        pass
    else:
        unlikely = 1

    def __init__(self):
        self.items = []

    def count(self) -> int:
        return len(self.items)

    @helper
    def sized(
        self,
        size: int = 1,
    ):
        """How big it is."""
        return size

    def target(self, order: Ordered, basket: "Basket", path: os.PathLike) -> None:
        """Use helper up to the limit.

        >>> Base().target(None)
        """
        self.hidden = 1
'''

MODELS = '''
class Order:
    """What was ordered."""

    first: int = 1

    def __init__(self, number):
        self.number = number


Basket = list[Order]
'''

SHAPES = '''
from abc import ABC, abstractmethod

class Root:
    def name(self): ...

class Shape(Root, ABC):
    """Something with an area."""
    unit = "cm"

    @abstractmethod
    def area(self) -> float:
        """The area, in square units.

        Never negative.

        >>> Square(2).area()
        4
        """
        raise NotImplementedError(hidden)

    def scaled(self, by): ...
    def _cached(self): ...
'''

SQUARE = '''
from shapes import Shape
import shapes

class Square({base}):
    def scaled(self, by): ...
    def area(self) -> float:
        """Doc."""
'''

TYPES = '''
from __future__ import annotations
from enum import Enum
from typing import NamedTuple, Protocol, TypedDict, NewType
from dataclasses import dataclass

class Line(NamedTuple):
    article: str

@dataclass
class Order:
    """What was ordered."""
    lines: list[Line]
    _hidden: int = 0

    def total(self) -> float: ...
    def _secretly(self): ...

class Colour(Enum):
    RED = 1

class Options(TypedDict, total=False):
    fast: bool

class Readable(Protocol):
    def read(self) -> str: ...

Number = NewType("Number", int)
type Pairs = list[tuple[Order, int]]
'''


class Project:
    """A workspace on disk, made from texts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, **modules: str) -> None:
        """Write modules. The name `pkg__in__a` means `pkg/a.py`, and `pkg____init__` means `pkg/__init__.py`."""
        for name, text in modules.items():
            path = self.folder / f"{name.replace('____init__', '/__init__').replace('__in__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")

    def target(self, qualname: str, text: str, file: str = "shop.py") -> Target:
        """Write `text` to a file. Return its function `qualname`."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = textwrap.dedent(text)
        path.write_text(text, encoding="utf-8")
        return locate(text, path, self.folder, qualname=qualname)

    def pieces(self, qualname: str, text: str, file: str = "shop.py", **overlays: str) -> tuple[Piece, ...]:
        """Write `text` to a file. Return the pieces of context for its function `qualname`."""
        opened = {self.folder / f"{name}.py": textwrap.dedent(text) for name, text in overlays.items()}
        return pieces(self.target(qualname, text, file), opened)


def of(found: tuple[Piece, ...], *kinds: str) -> list[str]:
    return [piece.text for piece in found if piece.kind in kinds]


def whole(found: tuple[Piece, ...]) -> str:
    return "\n".join(piece.text for piece in found)


def new_project(tmp_path: Path) -> Project:
    return Project(tmp_path)


HOSTILE = """
from gi import Thing
from native import Other
from models import Order
def f(a: Thing, b: Other, c: Order):
    '''Doc.'''
"""
