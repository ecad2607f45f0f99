"""Context for a model besides the task: parts of the module, and related parts of other files."""

from __future__ import annotations

import textwrap

import pytest

from support.surroundings import MODELS, SHAPES, SHOP, SQUARE, TYPES, Project, new_project, of, whole

project = pytest.fixture(new_project)


def test_pieces_come_ranked_and_without_the_targets_own_body(project: Project) -> None:
    project.write(models=MODELS)
    found = project.pieces("Base.target", SHOP)
    assert [piece.kind for piece in found] == [
        *("imports", "class", "docstring", "signature", "signature", "mentioned", "mentioned", "module", "module")
    ]
    assert "hidden" not in whole(found)
    assert "return" not in whole(found)


def test_pieces_are_listed_in_the_order_of_a_module(project: Project) -> None:
    project.write(models=MODELS)
    listed = sorted(project.pieces("Base.target", SHOP), key=lambda piece: piece.position)
    assert [piece.text for piece in listed] == [
        '"""A shop."""',
        (
            "from models import Order as Ordered\nimport os\nfrom typing import Self\n"
            "if TYPE_CHECKING:\n    from models import Basket"
        ),
        (
            "# from models\nclass Order:\n"
            '    """What was ordered."""\n    first: int = 1\n'
            "    def __init__(self, number):\n        self.number = number"
        ),
        "# from models\nBasket = list[Order]",
        "LIMIT = 3  # articles",
        'OTHER = {"a": 1}',
        'def helper(x: int) -> int:\n    """Help with x.\n\n    It helps in three ways.\n    """',
        "def unrelated(y): ...",
        (
            'class Base:\n    """What all have."""\n    kind: str = "base"\n'
            "    def __init__(self):\n        self.items = []\n"
            "    def count(self) -> int: ...\n"
            '    @helper\n    def sized(\n        self,\n        size: int = 1,\n    ):\n        """How big it is."""'
        ),
    ]


def test_the_nearest_of_the_rest_comes_first(project: Project) -> None:
    text = 'A = 1\nB = 2\ndef f(x):\n    """Doc."""\nC = 3\n__all__ = ["f"]\n'
    assert of(project.pieces("f", text), "module") == ["B = 2", "C = 3", "A = 1"]


def test_a_class_shows_what_it_and_its_instances_have(project: Project) -> None:
    (text,) = of(
        project.pieces(
            "Point.target",
            '''
            @dataclass(frozen=True)
            class Point(Shape, metaclass=Meta):
                """A place.

                It has two coordinates.

                >>> Point(1, 2)
                Point(x=1, y=2)
                """
                __slots__ = ("x", "y")
                x: int  # to the right
                y: int = field(
                    default=0, metadata={"unit": "the same unit in which x is given, which is never meters"}
                )
                """Upwards."""
                RED, GREEN = range(2)

                def __init__(me, x, y):
                    """Not me.z = 1."""
                    me.x, me.y = x, y
                    me.name: str = "p"  # for people
                    me.items[0] = 1
                    me.x += 1
                    if x == me.y:
                        me.seen = True

                def move(self, by):
                    self.x = by
                    self.last: list[Move] = [self.all_moves_since_it_began[index] for index in range(self.x, by, -1)]

                def target(self):
                    """Doc."""
                    self.secret = 1

                class Inner:
                    """Within."""
            ''',
        ),
        "class",
    )
    assert text == textwrap.dedent(
        '''\
        @dataclass(frozen=True)
        class Point(Shape, metaclass=Meta):
            """A place.

            It has two coordinates.
            """
            __slots__ = ("x", "y")
            x: int  # to the right
            y: int = ...
            """Upwards."""
            RED, GREEN = range(2)
            def __init__(me, x, y):
                """Not me.z = 1."""
                me.x, me.y = x, y
                me.name: str = "p"  # for people
                me.seen = True
            def move(self, by):
                self.last: list[Move] = ...
            class Inner:
                """Within."""'''
    )


def test_a_nested_class_is_shown_where_it_stands(project: Project) -> None:
    text = 'class A:\n    class B(C):\n        x = 1\n        def f(self):\n            """Doc."""\n'
    assert of(project.pieces("A.B.f", text), "class") == ["class A:\n    class B(C):\n        x = 1"]


def test_of_a_long_class_less_is_shown_of_each_method(project: Project) -> None:
    def around(methods: int) -> str:
        text = 'class A:\n    def __init__(self):\n        self.x = 1\n    def f(self):\n        """As m7."""\n'
        for number in range(methods):
            text += f'    def m{number}(self, argument, other=None):\n        """Method number {number}."""\n'
        (shown,) = of(project.pieces("A.f", text), "class")
        return shown

    assert 'def m5(self, argument, other=None):\n        """Method number 5."""' in around(20)
    assert "def m5(self, argument, other=None): ..." in around(60)
    named = around(200)
    assert "# and: m0, m1," in named
    assert 'def m7(self, argument, other=None):\n        """Method number 7."""' in named
    assert "self.x = 1" in named
    assert len(around(3000)) < 4100


def test_an_enumeration_of_very_many_shows_the_first(project: Project) -> None:
    members = "".join(f"    M{number} = {number}\n" for number in range(100))
    text = f'class E(Enum):\n{members}\ndef f(e: E):\n    """Doc."""\n'
    (shown,) = of(project.pieces("f", text), "signature")
    assert "    M39 = 39\n    # … and 60 more" in shown


def test_a_property_shows_its_setter_and_an_overloaded_method_its_overloads(project: Project) -> None:
    (text,) = of(
        project.pieces(
            "A.size",
            '''
            class A:
                @property
                def size(self) -> int:
                    """Doc."""
                    return self.mine
                @size.setter
                def size(self, value: int) -> None:
                    self._size = value
            ''',
        ),
        "class",
    )
    assert "@size.setter\n    def size(self, value: int) -> None:\n        self._size = value" in text
    assert "mine" not in text


def test_the_overloads_of_a_function_come_first(project: Project) -> None:
    found = project.pieces(
        "f",
        '''
        @overload
        def f(x: int) -> int: ...
        @overload
        def f(x: str) -> str:
            """For text."""
        def f(x):
            """Doc."""
            return 1
        ''',
    )
    assert of(found, "contract") == [
        "@overload\ndef f(x: int) -> int: ...",
        '@overload\ndef f(x: str) -> str:\n    """For text."""',
    ]


@pytest.mark.parametrize("base", ["Shape", "shapes.Shape", "Shape, Generic[T]"])
def test_what_a_base_class_promises_and_gives_is_shown(base: str, project: Project) -> None:
    project.write(shapes=SHAPES)
    found = project.pieces("Square.area", SQUARE.format(base=base))
    assert of(found, "contract") == [
        textwrap.dedent(
            '''\
            # from shapes
            class Shape(Root, ABC):
                @abstractmethod
                def area(self) -> float:
                    """The area, in square units.

                    Never negative.

                    >>> Square(2).area()
                    4
                    """'''
        )
    ]
    assert of(found, "base") == [
        (
            "# from shapes\n"
            'class Shape(Root, ABC):\n    """Something with an area."""\n    unit = "cm"\n    def _cached(self): ...'
        ),
        "# from shapes\nclass Root:\n    def name(self): ...",
    ]


def test_base_classes_that_go_in_circles_end(project: Project) -> None:
    found = project.pieces("A.f", 'class A(B):\n    def f(self):\n        """Doc."""\nclass B(A):\n    y = 1\n')
    assert "y = 1" in whole(found)


@pytest.mark.parametrize(
    ("signature", "shown"),
    [
        ("order: Order", "class Order:"),
        ("orders: list[Order]", "class Order:"),
        ('order: "Order"', "class Order:"),
        ('order: Optional["Order"] = None', "class Order:"),
        ("order: 'dict[str, Order] | None'", "class Order:"),
        ("order: types_.Order", "class Order:"),
        ("colour: Colour = Colour.RED", "class Colour(Enum):\n    RED = 1"),
        ("**options: Unpack[Options]", "class Options(TypedDict, total=False):\n    fast: bool"),
        ("file: Readable", "class Readable(Protocol):\n    def read(self) -> str: ..."),
        ("number: Number", 'Number = NewType("Number", int)'),
        ("pairs: Pairs", "type Pairs = list[tuple[Order, int]]"),
        ("line: Line", "class Line(NamedTuple):\n    article: str"),
    ],
)
@pytest.mark.parametrize(
    "statement",
    [
        "from shop_types import Order, Colour, Options, Readable, Number, Pairs, Line\nimport shop_types as types_",
        "if TYPE_CHECKING:\n    from shop_types import *\n    import shop_types as types_",
        "from again import (\n    Order, Colour, Options, Readable,\n    Number, Pairs, Line, types_)",
    ],
)
def test_types_of_other_files_are_shown(statement: str, signature: str, shown: str, project: Project) -> None:
    project.write(shop_types=TYPES, again="from shop_types import *\nimport shop_types as types_\n")
    found = project.pieces("f", f'{statement}\n\ndef f({signature}):\n    """Doc."""\n')
    (text, *_) = of(found, "signature")
    assert text.startswith("# from shop_types\n")
    assert shown in text
    assert "_secretly" not in text


@pytest.mark.parametrize("here", [True, False])
def test_types_are_shown_with_what_they_are_made_of(here: bool, project: Project) -> None:
    project.write(shop_types=TYPES)
    before = TYPES if here else "from shop_types import Order"
    found = project.pieces("f", f'{before}\n\ndef f(order: Order):\n    """Doc."""\n')
    assert [text.splitlines()[-2:] for text in of(found, "part")] == [["class Line(NamedTuple):", "    article: str"]]


def test_what_the_own_class_is_made_of_is_shown(project: Project) -> None:
    project.write(shop_types=TYPES)
    text = '''
    from shop_types import Order, Line, Options
    class Cart:
        order: Order
        def __init__(self, options: Options):
            self.lines: dict[str, Line] = {}
        def f(self):
            """Doc."""
    '''
    found = whole(project.pieces("Cart.f", text))
    assert all(f"# from shop_types\n{each}" in found for each in ("@dataclass", "class Line", "class Options"))


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("pkg/shop.py", "from .models import Order"),
        ("pkg/shop.py", "from . import models"),
        ("pkg/shop.py", "from pkg.models import Order"),
        ("pkg/__init__.py", "from .models import Order"),
        ("pkg/sub/shop.py", "from ..models import Order"),
        ("my-script.py", "from pkg.models import Order"),
    ],
)
def test_packages_are_followed(file: str, statement: str, project: Project) -> None:
    project.write(pkg____init__="", pkg__in__models=MODELS, pkg__in__sub____init__="")
    name = "models.Order" if statement.endswith("models") else "Order"
    found = project.pieces("f", f'{statement}\n\ndef f(order: {name}):\n    """Doc."""\n', file)
    assert [text.splitlines()[:2] for text in of(found, "signature")] == [["# from pkg.models", "class Order:"]]


def test_folders_without_init_are_followed(project: Project) -> None:
    project.write(pkg__in__models=MODELS)
    found = project.pieces("f", 'import pkg.models\n\ndef f(order: pkg.models.Order):\n    """Doc."""\n')
    assert "class Order:" in whole(found)


def test_a_module_of_the_project_may_be_called_like_one_of_the_library(project: Project) -> None:
    project.write(queue=MODELS)
    found = project.pieces("f", 'from queue import Order\n\ndef f(order: Order):\n    """Doc."""\n')
    assert "# from queue\nclass Order:" in whole(found)


def test_what_the_docstring_mentions_ranks_above_what_it_does_not(project: Project) -> None:
    project.write(rules="RATE = 2\ndef applied(x): ...\ndef other(x): ...\n")
    found = project.pieces(
        "f",
        '''
        from rules import other, RATE, applied
        def far(): ...
        def near(): ...
        def f(x):
            """As far as it may be `applied`, at the rate."""
        ''',
    )
    assert of(found, "mentioned") == [
        "def far(): ...",
        "# from rules\nRATE = 2",
        "# from rules\ndef applied(x): ...",
    ]
    assert of(found, "imported", "module") == ["# from rules\ndef other(x): ...", "def near(): ..."]


def test_what_a_plain_import_binds_is_not_listed(project: Project) -> None:
    project.write(rules="RATE = 2\n")
    assert [piece.kind for piece in project.pieces("f", 'import rules\ndef f():\n    """Doc."""\n')] == ["imports"]


def test_how_the_module_uses_the_function_is_shown(project: Project) -> None:
    found = project.pieces(
        "f",
        '''
        def f(x):
            """As f(0) does."""
            return f(x - 1)
        def g(y):
            """Not f(1)."""
            # nor f(2)
            self.f(3)
            return [
                f(each)  # here
                for each in y
            ]
        print(f(4), "text of this kind")
        print(f(5))
        ''',
    )
    assert of(found, "call") == [
        (
            "# how f is used in this module:\n"
            "return [\n    f(each)  # here\n    for each in y\n]\n"
            'print(f(4), "text of this kind")'
        )
    ]


@pytest.mark.parametrize(
    ("decorator", "line", "is_shown"),
    [
        ("", "self.f(1)", True),
        ("", "A.f(a, 1)", True),
        ("", "f(1)", False),
        ("", "other.f(1)", False),
        ("@property", "x = self.f + 1", True),
        ("@functools.cached_property", "return self.f", True),
        ("@property", "self.f = 1", False),
        ("@property", "self.first", False),
    ],
)
def test_how_the_class_uses_a_method_is_shown(decorator: str, line: str, is_shown: bool, project: Project) -> None:
    text = f'class A:\n    {decorator}\n    def f(self):\n        """Doc."""\n    def g(self):\n        {line}\n'
    expected = [f"# how A.f is used in this module:\n{line}"] if is_shown else []
    assert of(project.pieces("A.f", text), "call") == expected


@pytest.mark.parametrize(
    "statement",
    [
        'KEY = "{long}"',
        'KEY = """{long}"""',
        'KEY = "{long}',
        "KEY = ('a', '''{long}'''  # it's \n)",
        "KEY = f('a',  # it's \n '{long}')",
        'def g(key="{long}"): ...',
        '@decorated("{long}")\ndef g(): ...',
        'class G:\n    key = "{long}"',
        'class G:\n    def __init__(self):\n        self.key = "{long}"',
        'PASSWORD = "hunter{long:.1}"',
        'password: str = "hunter{long:.1}"',
        'LOGIN = {{"user": "me", "api_key": b"hunter{long:.1}"}}',
        'TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"',
        'DATABASE = "postgres://me:hunter{long:.1}@localhost/shop"',
    ],
)
def test_long_strings_and_secrets_are_not_shown(statement: str, project: Project) -> None:
    statement = statement.format(long="xy" * 50)
    found = whole(project.pieces("f", f'{statement}\ndef f(g: G):\n    """See KEY and G."""\n'))
    assert "…" in found
    assert "xyxy" not in found
    assert "hunterx" not in found
    assert "ghp_" not in found


@pytest.mark.parametrize(
    "statement",
    [
        'ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"',
        'FORMAT = "%Y-%m-%dT%H:%M:%S"',
        'TOKEN = r"(?P<name>\\w+)|(?P<number>\\d+)"',
        'PASSWORD_FIELDS = ("password", "again")',
        'password = ""',
        'KIND = "application/x-www-form-urlencoded"',
        "QUOTE = '\"'",
        'SCALE = 1_000  # it\'s "round"',
    ],
)
def test_constants_that_tell_something_are_shown_whole(statement: str, project: Project) -> None:
    assert statement in whole(project.pieces("f", f'{statement}\ndef f():\n    """Doc."""\n'))
