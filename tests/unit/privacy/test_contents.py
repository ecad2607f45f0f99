"""Texts that count as secrets, texts that do not, and updates of the patterns for secrets.

Every secret is generated while the tests run.
"""

from __future__ import annotations

import base64
import html
import importlib.util
import json
import random
import re
import string
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest

from adacoder.privacy import contents
from adacoder.privacy.contents import _forms, found_in, without_secrets

ROOT = Path(__file__).parents[3]
_parser = vars(re)["_parser"]  # typeshed leaves it out
_LETTERS = string.ascii_letters + string.digits
ONES = [*_forms().words, *_forms().passages]
MARKS = ("a secret of Kubernetes", "a vault of Ansible")


def instance(source: str, chance: random.Random) -> str:
    """Return a random text that matches a pattern. Ignore lookarounds."""
    return _made(_parser.parse(source.removeprefix(r"\b")), chance)


def _made(parsed: Any, chance: random.Random) -> str:
    return "".join(_part(str(kind), value, chance) for kind, value in parsed)


def _part(kind: str, value: Any, chance: random.Random) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL" | "ANY":
            return "q"
        case "IN":
            pattern = re.compile(_class(value), re.ASCII)
            return chance.choice([each for each in _LETTERS + "+/=-_. \n?&*'\"" if pattern.fullmatch(each)])
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, repeated = value
            count = min(max(least, min(int(most), 3 if least == 0 else least + 8)), int(most)) if least else 0
            return "".join(_made(repeated, chance) for _ in range(count))
        case "SUBPATTERN":
            return _made(value[-1], chance)
        case "BRANCH":
            return _made(chance.choice(value[1]), chance)
        case _:
            return ""


def _class(items: Any) -> str:
    """Return the regular expression of a class of characters."""
    parts = []
    for kind, value in items:
        match str(kind):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(re.escape(chr(value)))
            case "RANGE":
                parts.append("-".join(re.escape(chr(each)) for each in value))
            case _:
                category = str(value).removeprefix("CATEGORY_")
                sign = {"DIGIT": "d", "WORD": "w", "SPACE": "s"}[category.removeprefix("NOT_")]
                parts.append(f"\\{sign.upper() if category.startswith('NOT_') else sign}")
    return f"[{''.join(parts)}]"


def instances(source: str) -> Iterator[str]:
    for seed in range(200):
        yield instance(source, random.Random(seed))


@pytest.mark.parametrize("number", range(len(ONES)))
def test_each_form_finds_and_masks_its_like(number: int) -> None:
    form = ONES[number]
    texts = (f"before{blank}{each}\nafter" for each in instances(form.source) for blank in "\n?")
    text = next(text for text in texts if [*form.spans(text)])
    assert any(sign in text.lower() for sign in form.signs)
    assert found_in(text.encode())
    if form.what not in MARKS:
        assert "…" in without_secrets(text)
        assert all(text[start:end] not in without_secrets(text) for start, end in form.spans(text))


@pytest.mark.parametrize("number", range(len(_forms().named)))
def test_each_named_value_is_found_under_its_name(number: int) -> None:
    form = _forms().named[number]
    name = instance(form.signs[0], random.Random(1))
    made = next(
        each
        for each in instances(form.source)
        if form.pattern.fullmatch(each) and any(map(str.isdigit, each)) and contents.entropy(each) >= 2
    )
    for text in (f'{name}_x = "{made}"', f"{name}: {made}\n", f'"{name}": "{made}",', f"export {name.upper()}={made}"):
        masked = without_secrets(text)
        assert made not in masked or not form.pattern.fullmatch(made)
        assert found_in(text.encode())
    assert found_in(f'other = "{"word" * 8}"'.encode()) is None


@pytest.mark.parametrize("pattern", [form.source for form in _forms().named])
def test_no_value_goes_on_without_end(pattern: str) -> None:
    assert _parser.parse(pattern).getwidth()[1] < 2_000


CHANCE = random.Random(7)
TOKENS = {
    "AWS": "AKIA" + "".join(CHANCE.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16)),
    "GitHub": "ghp_" + "".join(CHANCE.choices(_LETTERS, k=36)),
    "Anthropic": "sk-ant-api03-" + "".join(CHANCE.choices(_LETTERS, k=93)) + "AA",
    "Hugging Face": "hf_" + "".join(CHANCE.choices(string.ascii_letters, k=34)),
}


def percent(text: str) -> str:
    return "".join(f"%{ord(each):02X}" for each in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": percent,
    "percent twice": lambda text: quote(percent(text)),
    "percent thrice": lambda text: quote(quote(percent(text))),
    "one percent": lambda text: f"{text[:3]}%{ord(text[3]):02x}{text[4:]}",
    "after a percent": lambda text: f"k%3D{text}",
    "hexadecimal": lambda text: text.encode().hex(),
    "in capitals": lambda text: text.encode().hex().upper(),
    "hexadecimal, in pairs": lambda text: text.encode().hex(" "),
    "hexadecimal, at an odd place": lambda text: "f" + f"key:{text}".encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, one on": lambda text: base64.b64encode(f"a:{text}".encode()).decode(),
    "base64, two on": lambda text: base64.b64encode(f"aa:{text}:b".encode()).decode(),
    "base64 after letters": lambda text: "xy/" + base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"\xff\xfe:" + text.encode()).decode().rstrip("="),
    "base64 in lines": lambda text: base64.encodebytes(f"{'before ' * 7}{text}".encode()).decode(),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16")).decode(),
    "basic": lambda text: f"Basic {base64.b64encode(f'u:{text}'.encode()).decode()}",
    "JSON's escapes": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "one of JSON's": lambda text: f"\\u{ord(text[0]):04x}{text[1:]}",
    "Python's escapes": lambda text: "".join(f"\\x{ord(each):02x}" for each in text),
    "octal": lambda text: "".join(f"\\{ord(each):03o}" for each in text),
    "after an escape": lambda text: repr(f"\n{text}\n"),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"k": text})),
    "entities": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "bytes": lambda text: repr(text.encode()),
    "quoted for HTML": lambda text: html.escape(f'"{text}"'),
    "a query": lambda text: f"https://x.example/?k={text}&n=1",
    "base64 in a query": lambda text: quote(base64.b64encode(f"{text}?".encode()).decode()),
    "hexadecimal of base64": lambda text: base64.b64encode(text.encode()).hex(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_masked_however_it_is_encoded(token: str, encoding: str) -> None:
    text = f"before {ENCODINGS[encoding](TOKENS[token])} after"
    masked = without_secrets(text)
    assert "…" in masked
    assert ENCODINGS[encoding](TOKENS[token]) not in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert without_secrets(masked) == masked


@pytest.mark.parametrize("encoding", [each for each in ENCODINGS if each != "basic"])
def test_a_harmless_word_stays_however_it_is_encoded(encoding: str) -> None:
    text = f"before {ENCODINGS[encoding]('the-quick-brown-fox-jumps-over')} after"
    assert without_secrets(text) == text


RANDOM = "".join(CHANCE.choices(_LETTERS, k=24))
CALLED = {
    "Python": f'API_KEY = "{RANDOM}"',
    "an annotation": f'token: str = "{RANDOM}"',
    ".env": f"MY_SECRET={RANDOM}\n",
    "YAML": f"auth_token: {RANDOM}\n",
    "JSON": f'{{"clientSecret": "{RANDOM}"}}',
    "TOML": f"api-key = '{RANDOM}'",
    "INI": f"[db]\npasswd={RANDOM}",
    "XML": f"<password>{RANDOM}</password>",
    "a dictionary": f"{{'access_token': '{RANDOM}'}}",
    "a header": f"Authorization: Bearer {RANDOM}1",
    "a header in a dictionary": f"{{'X-Api-Key': '{RANDOM}'}}",
    "a pair": f'("X-Api-Key", "{RANDOM}")',
    "a query": f"https://x.example/?a=1&api_key={RANDOM}&b=2",
    "an option": f"run --db-password {RANDOM}1",
    "a connection": f"postgres://app:{RANDOM}@db/x",
    "a connection without a user": f"redis://:{RANDOM}@cache:6379/0",
    "a DSN": f"SENTRY_DSN=https://{RANDOM}1@o1.ingest.example/12",
    "a password": 'DB_PASSWORD="' + "Tr0ub4dor" + '&3"',
    "Django": 'SECRET_KEY = "' + "django-insecure-" + '8x!k2@#l$9z(q"',
}
NOT_CALLED = (
    'primary_key = "user_id_2"',
    "key = 'report_2024_final.csv'",
    "token = self.tokens[1]",
    "password = getpass.getpass()",
    "password: str = Field(min_length=8)",
    "AUTH_TOKEN=${AUTH_TOKEN}",
    'api_key = "YOUR_API_KEY_12345"',
    'secret = "changeme123"',
    'password = "********"',
    "authorization = request.headers.get(name)",
    "postgres://user:password@localhost/db",
    "redis://[[username]:[password]]@localhost:6379/0",
    f'next_page_token = "{RANDOM}"',
    "key=lambda item: item.value2",
    'cache_key = "a8f5f167f44f4964e6c998dee827110c"',
    "tokens = ['<s>', '</s>', '[PAD]']",
    '{"token": "hello", "id": 12}',
    'auth = ("user", "pass1234")',
)


@pytest.mark.parametrize("text", CALLED.values(), ids=CALLED)
def test_a_value_that_is_called_secret_is_one(text: str) -> None:
    assert found_in(text.encode())
    assert RANDOM not in without_secrets(text)
    assert "…" in without_secrets(text)


@pytest.mark.parametrize("text", NOT_CALLED)
def test_a_value_that_tells_nothing_is_none(text: str) -> None:
    assert found_in(text.encode()) is None


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("renewing_tokens", ROOT / "docs" / "tokens.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_AROUND = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_NAMING = r"""(?i)[\w.-]{0,50}?(?:NAME)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""


def rules(*regexes: tuple[str, str]) -> str:
    return "".join(f"[[rules]]\nid = '{name}'\nentropy = 3\nregex = '''{regex}'''\n" for name, regex in regexes)


def test_the_list_of_forms_is_made_of_the_rules_of_gitleaks() -> None:
    made = tool().data(
        rules(
            ("b-token", rf"\b(bt_(?i)[a-z]{{8}}[[:alnum:]]+){_AROUND}"),
            ("a-token", r"\b(?:aa|bb)cc-[0-9]{4,}\z"),
            ("named-key", _NAMING.replace("NAME", "acme|other") + rf"([a-f0-9]{{32}}){_AROUND}"),
            ("of-files", "(?i)x$"),
            ("x-client-id", "xx-[0-9]{9}"),
            ("generic-api-key", "k"),
        ),
        "9.9",
    )
    lines = [line.split("\t") for line in made.split("\n") if "\t" in line]
    assert lines == [
        ["b-token", "3", "bt_", r"\b(?:bt_(?i:[a-z]{8}[A-Za-z0-9]{1,200}))(?![A-Za-z0-9])"],
        ["named-key", "3", "(?:acme|other)", "(?i:(?:[a-f0-9]{32}))(?![A-Za-z0-9])"],
    ]
    assert "9.9" in made
    assert "MIT License" in made
    assert "a-token, generic-api-key, of-files, x-client-id" in made


def test_the_same_rules_make_the_same_list_in_any_order() -> None:
    one = [("b", "bbb-[0-9]{9}"), ("a", "aaa-[0-9]{9}")]
    assert tool().data(rules(*one)) == tool().data(rules(*reversed(one)))


def test_the_list_of_detectors_is_made_of_the_patterns_that_no_other_list_has() -> None:
    ones = (
        [re.compile("known"), re.compile(r"(a|b)ws.{0,20}([0-9a-z]+)x", re.IGNORECASE)],
        [re.compile("[0-9a-z]{32}-us[0-9]{1,2}")],
        [re.compile("known"), re.compile("of/softlayer/[a-z]{9}")],
    )
    plugins = dict(zip(("aws", "mailchimp", "softlayer"), ones, strict=True))
    made = tool().detectors(lambda name: (f"Kind: {name.partition('.')[0]}", plugins[name.partition(".")[0]]), "9.9")
    lines = [line for line in made.split("\n") if not line.startswith("#")]
    assert lines == [
        "",
        "[forms]",
        "kind-mailchimp\t3\t-us\t[0-9a-z]{32}-us[0-9]{1,2}",
        "kind-softlayer\t3\tof/softlayer/\tof/softlayer/[a-z]{9}",
        "[passages]",
        "kind-aws\t3\tws\t(?i:(?:a|b)ws.{0,20}(?:[0-9a-z]{1,200})x)",
        "",
    ]
    assert "9.9" in made
    assert "Apache License, Version 2.0" in made


HEX = "9ca1080fccd5421ead2a538b1aa770d4"


@pytest.mark.parametrize("path", [f"/tmp/0/{HEX}", f"/home/ada/{HEX}/notes", f"/Users/ada/{HEX}"])
def test_a_path_with_a_random_name_is_not_masked(path: str) -> None:
    assert without_secrets(f"('{path}', 1)") == f"('{path}', 1)"


@pytest.mark.parametrize("text", [HEX, f"qX/0/{HEX}", f"/qX0/{HEX}"])
def test_a_random_text_that_is_no_such_path_is_masked(text: str) -> None:
    assert without_secrets(f"('{text}', 1)") == "('…', 1)"
