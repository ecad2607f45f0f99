"""Names of the standard library that programs often use without importing them.

Names with several likely modules, such as `path` or `dumps`, are left out.
"""

from __future__ import annotations

import builtins


def words(text: str) -> frozenset[str]:
    """Split a text into its words."""
    return frozenset(text.split())


NAMES: dict[str, tuple[str, ...]] = {
    module: tuple(names.split())
    for module, names in {
        "abc": "ABC ABCMeta abstractmethod",
        "argparse": "ArgumentDefaultsHelpFormatter ArgumentError ArgumentParser ArgumentTypeError"
        " BooleanOptionalAction RawDescriptionHelpFormatter RawTextHelpFormatter",
        "ast": "NodeTransformer NodeVisitor literal_eval",
        "asyncio": "create_task gather wait_for TaskGroup",
        "base64": "b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode"
        " urlsafe_b64decode urlsafe_b64encode",
        "binascii": "hexlify unhexlify",
        "bisect": "bisect_left bisect_right insort insort_left insort_right",
        "calendar": "day_abbr day_name isleap leapdays month_abbr month_name monthrange timegm",
        "cmath": "phase polar",
        "collections": "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple",
        "concurrent.futures": "ProcessPoolExecutor ThreadPoolExecutor",
        "configparser": "ConfigParser RawConfigParser",
        "contextlib": "AbstractAsyncContextManager AbstractContextManager AsyncExitStack ContextDecorator ExitStack"
        " aclosing asynccontextmanager closing contextmanager nullcontext redirect_stderr redirect_stdout suppress",
        "copy": "deepcopy",
        "csv": "DictReader DictWriter",
        "dataclasses": "FrozenInstanceError InitVar KW_ONLY asdict astuple dataclass field is_dataclass make_dataclass",
        "datetime": "MAXYEAR MINYEAR UTC date datetime timedelta timezone tzinfo",
        "decimal": "Decimal DivisionByZero InvalidOperation ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR"
        " ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP getcontext localcontext setcontext",
        "difflib": "Differ SequenceMatcher get_close_matches ndiff unified_diff",
        "enum": "Enum EnumMeta Flag IntEnum IntFlag StrEnum auto",
        "fractions": "Fraction",
        "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce singledispatch"
        " singledispatchmethod total_ordering update_wrapper wraps",
        "glob": "iglob",
        "graphlib": "CycleError TopologicalSorter",
        "hashlib": "blake2b blake2s md5 pbkdf2_hmac sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512"
        " sha512 shake_128 shake_256",
        "heapq": "heapify heappop heappush heappushpop heapreplace nlargest nsmallest",
        "html": "unescape",
        "html.parser": "HTMLParser",
        "inspect": "currentframe getdoc getfullargspec getmembers getsource isabstract isclass iscoroutinefunction"
        " isfunction isgenerator isgeneratorfunction ismethod ismodule isroutine signature",
        "io": "BufferedReader BufferedWriter BytesIO IOBase RawIOBase StringIO TextIOBase TextIOWrapper",
        "ipaddress": "IPv4Address IPv4Network IPv6Address IPv6Network ip_address ip_interface ip_network",
        "itertools": "accumulate batched chain combinations combinations_with_replacement cycle dropwhile filterfalse"
        " groupby islice pairwise permutations product starmap takewhile tee zip_longest",
        "json": "JSONDecodeError JSONDecoder JSONEncoder",
        "keyword": "iskeyword kwlist",
        "logging": "FileHandler StreamHandler basicConfig getLogger",
        "math": "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees erf erfc exp exp2"
        " expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm"
        " ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi prod radians sin sinh sqrt sumprod tan tanh"
        " tau trunc ulp",
        "mimetypes": "guess_extension guess_type",
        "numbers": "Complex Integral Number Rational Real",
        "operator": "add and_ attrgetter floordiv itemgetter methodcaller mul neg or_ sub truediv xor",
        "os": "PathLike cpu_count environ fspath getcwd getenv getpid listdir makedirs scandir urandom",
        "os.path": "abspath basename dirname expanduser expandvars getmtime getsize isdir isfile normpath realpath"
        " relpath splitext",
        "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath",
        "pickle": "PickleError Pickler PicklingError Unpickler UnpicklingError",
        "pprint": "PrettyPrinter pformat",
        "queue": "Empty Full LifoQueue PriorityQueue Queue SimpleQueue",
        "random": "Random SystemRandom betavariate choice choices expovariate gauss getrandbits normalvariate randbytes"
        " randint randrange shuffle triangular uniform",
        "re": "DOTALL IGNORECASE MULTILINE Match Pattern findall finditer fullmatch",
        "secrets": "compare_digest randbelow token_bytes token_hex token_urlsafe",
        "shutil": "copyfile copyfileobj copytree rmtree",
        "socket": "AF_INET AF_INET6 SOCK_DGRAM SOCK_STREAM gethostbyname gethostname",
        "statistics": "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean"
        " linear_regression mean median median_grouped median_high median_low multimode pstdev pvariance quantiles"
        " stdev variance",
        "string": "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable"
        " punctuation whitespace",
        "struct": "calcsize",
        "subprocess": "CalledProcessError CompletedProcess DEVNULL PIPE Popen STDOUT TimeoutExpired check_call"
        " check_output",
        "sys": "argv exc_info float_info getrecursionlimit getsizeof maxsize setrecursionlimit stderr stdin stdout"
        " version_info",
        "tempfile": "NamedTemporaryFile SpooledTemporaryFile TemporaryDirectory TemporaryFile gettempdir mkdtemp"
        " mkstemp",
        "textwrap": "dedent",
        "threading": "BoundedSemaphore Condition Event Lock RLock Semaphore Thread current_thread get_ident",
        "time": "monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep time_ns",
        "traceback": "format_exc format_exception print_exc",
        "types": "BuiltinFunctionType CodeType CoroutineType FrameType FunctionType GeneratorType LambdaType"
        " MappingProxyType MethodType ModuleType SimpleNamespace TracebackType",
        "typing": "Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable"
        " BinaryIO Callable ClassVar Collection Concatenate Container ContextManager Coroutine DefaultDict Deque Dict"
        " Final FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator KeysView List Literal LiteralString"
        " Mapping MutableMapping MutableSequence MutableSet NamedTuple Never NewType NoReturn NotRequired Optional"
        " ParamSpec Protocol ReadOnly Required Reversible Self Sequence Set Sized SupportsAbs SupportsFloat"
        " SupportsIndex SupportsInt SupportsRound TYPE_CHECKING Text TextIO Tuple Type TypeAlias TypeAliasType"
        " TypeGuard TypeIs TypeVar TypeVarTuple TypedDict Union Unpack ValuesView assert_never cast"
        " dataclass_transform final get_args get_origin get_type_hints no_type_check overload override"
        " runtime_checkable",
        "unicodedata": "combining east_asian_width",
        "unittest": "TestCase",
        "unittest.mock": "AsyncMock MagicMock Mock",
        "urllib.error": "URLError",
        "urllib.parse": "parse_qs parse_qsl quote_plus unquote unquote_plus urldefrag urlencode urljoin urlparse"
        " urlsplit urlunparse urlunsplit",
        "urllib.request": "urlopen urlretrieve",
        "uuid": "UUID uuid1 uuid3 uuid4 uuid5",
        "warnings": "catch_warnings filterwarnings simplefilter",
        "weakref": "WeakKeyDictionary WeakSet WeakValueDictionary",
        "zipfile": "ZipFile",
        "zlib": "adler32 crc32",
        "zoneinfo": "ZoneInfo",
    }.items()
}
"""For each module of the standard library, the names that code often uses."""

MODULE_OF = {name: module for module, names in NAMES.items() for name in names}
"""The module of each name."""

WITH_ATTRIBUTES = words(
    "chain date datetime defaultdict environ float_info stderr stdin stdout timedelta timezone version_info"
)
"""Lower-case names of objects whose attributes code often uses, unlike those of functions."""

TWINS = words("bisect copy datetime fnmatch glob pprint random time")
"""Modules that have a member of the same name. Code uses both equally often."""

OF_DATETIME = words(
    "combine fromisocalendar fromisoformat fromordinal fromtimestamp max min now resolution strftime strptime today"
    " utcfromtimestamp utcnow"
)
"""Attributes of the class `datetime.datetime` that do not exist in the module `datetime`."""

ALIASES = {
    "ET": "import xml.etree.ElementTree as ET",
    "dt": "import datetime as dt",
    "hq": "import heapq as hq",
    "mp": "import multiprocessing as mp",
    "np": "import numpy as np",
    "osp": "import os.path as osp",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "tk": "import tkinter as tk",
}
"""Common aliases of modules in the standard library, and of three well-known others."""

SUBMODULES = sorted(
    words(
        "collections.abc concurrent.futures email.message email.mime.multipart email.mime.text email.policy email.utils"
        " html.entities html.parser http.client http.cookiejar http.cookies http.server importlib.metadata"
        " importlib.resources importlib.util json.decoder logging.config logging.handlers multiprocessing.pool"
        " multiprocessing.shared_memory unittest.mock urllib.error urllib.parse urllib.request wsgiref.simple_server"
        " xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils"
    )
)
"""Submodules that need their own import. For example, `import xml` does not load `xml.etree.ElementTree`."""

WITH_EFFECT = frozenset({"antigravity", "this", "test", "idlelib", "lib2to3", "turtledemo"})
"""Modules that are never suggested. Their import has side effects, or programs rarely need them."""

_NEWER_BUILTINS = words("BaseExceptionGroup EncodingWarning ExceptionGroup PythonFinalizationError aiter anext")
BUILTINS = _NEWER_BUILTINS.union(dir(builtins))
"""Builtins of every Python since 3.8. The user's Python may be newer than AdaCoder's."""
