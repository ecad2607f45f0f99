"""Where the names that programs use without importing them come from.

Each name stands under the one module that is meant when people write it bare; a name that could as well come
from another module, such as `path` or `dumps`, is left out rather than guessed.
"""

from __future__ import annotations

import sys

NAMES: dict[str, tuple[str, ...]] = {
    module: tuple(names.split())
    for module, names in {
        "abc": "ABC ABCMeta abstractmethod",
        "argparse": "ArgumentParser",
        "ast": "literal_eval",
        "bisect": "bisect_left bisect_right insort insort_left insort_right",
        "calendar": "isleap monthrange",
        "collections": "ChainMap Counter OrderedDict defaultdict deque namedtuple",
        "concurrent.futures": "ProcessPoolExecutor ThreadPoolExecutor",
        "contextlib": "ExitStack closing contextmanager nullcontext redirect_stdout suppress",
        "copy": "deepcopy",
        "dataclasses": "asdict astuple dataclass field",
        "datetime": "date datetime timedelta timezone",
        "decimal": "Decimal InvalidOperation ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_EVEN"
        " ROUND_HALF_UP ROUND_UP getcontext localcontext",
        "difflib": "SequenceMatcher get_close_matches",
        "enum": "Enum Flag IntEnum IntFlag auto",
        "fractions": "Fraction",
        "functools": "cache cached_property cmp_to_key lru_cache partial reduce singledispatch total_ordering wraps",
        "hashlib": "md5 sha1 sha256 sha512",
        "heapq": "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
        "io": "BytesIO StringIO",
        "itertools": "accumulate chain combinations combinations_with_replacement cycle dropwhile"
        " filterfalse groupby islice pairwise permutations product starmap takewhile"
        " zip_longest",
        "math": "acos acosh asin asinh atan atan2 atanh ceil comb copysign cos cosh degrees erf erfc exp"
        " expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf"
        " isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan perm pi prod radians sin sinh"
        " sqrt tan tanh tau trunc",
        "numbers": "Integral Number Rational Real",
        "operator": "add attrgetter itemgetter methodcaller mul",
        "pathlib": "Path PurePath PurePosixPath",
        "random": "choice choices randint randrange shuffle uniform",
        "statistics": "mean median pstdev pvariance stdev variance",
        "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation",
        "textwrap": "dedent",
        "time": "monotonic perf_counter sleep",
        "types": "MappingProxyType SimpleNamespace",
        "typing": "Any AnyStr AsyncIterator Awaitable Callable ClassVar Dict Final FrozenSet Generator"
        " Generic Hashable Iterable Iterator List Literal Mapping MutableMapping NamedTuple"
        " NoReturn Optional Protocol Sequence Set Tuple Type TypeVar TypedDict Union cast overload",
        "urllib.parse": "parse_qs urlencode urljoin urlparse urlsplit",
        "uuid": "uuid4",
    }.items()
}
"""Names under the modules of the standard library that they are meant from."""

_CUSTOMARY = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
}
_WITH_EFFECT = frozenset({"antigravity", "this", "test", "idlelib", "lib2to3", "turtledemo"})
"""Modules that do something when they are imported, or that no function needs."""
_MODULE_OF = {name: module for module, names in NAMES.items() for name in names}


def standard_import(name: str) -> str | None:
    """The statement that imports `name` as people mean it; None if it is nobody's, or more than one's."""
    if name in _CUSTOMARY:
        return _CUSTOMARY[name]
    if name in _MODULE_OF:
        return f"from {_MODULE_OF[name]} import {name}"
    if name in sys.stdlib_module_names and not name.startswith("_") and name not in _WITH_EFFECT:
        return f"import {name}"
    return None
