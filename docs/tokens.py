"""Update the patterns for keys and tokens in `privacy/`.

`tokens.py PATH [VERSION]` creates `gitleaks.txt` from a `gitleaks.toml`. `tokens.py` creates `detectors.txt` from the
package detect-secrets, if it is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "server" / "adacoder" / "privacy"
_parser = vars(re)["_parser"]  # typeshed leaves it out

LEFT_OUT = frozenset(
    {
        *("generic-api-key", "hashicorp-tf-password", "sidekiq-sensitive-url"),  # `privacy/contents.py` has such rules
        *("private-key", "kubernetes-secret-yaml", "azure-ad-client-secret", "curl-auth-header", "curl-auth-user"),
        *("pkcs12-file", "nuget-config-password", "freemius-secret-key"),  # recognised by their files, or by a name
        *("jwt-base64", "aws-amazon-bedrock-api-key-short-lived"),  # found after decoding
        *("facebook-access-token", "sourcegraph-access-token"),  # too general: any number or digest next to a word
        *("flutterwave-public-key", "lob-pub-api-key", "mailgun-pub-key", "new-relic-user-api-id"),  # public
    }
)
_PUBLIC = ("-client-id", "-access-id")
"""Endings of the names of rules that find account names. These grant no access."""
_MOST = 2000
"""Maximum number of repetitions for a pattern that sets no limit."""
_SHORTEST_SIGN = 2

_TAIL = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
_TAILS = (_TAIL, r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""", r"(?:[^\w-]|\z)", r"(?:[^a-zA-Z0-9+/]|\z)", r"\b")
_BETWEEN = r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""
_AFTER_NAME = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
_BEFORE_NAME = r"[\w.-]{0,50}?"
_BEGIN, _END = r"\b", "(?![A-Za-z0-9])"

DETECTORS = (
    ("[forms]", "mailchimp.MailchimpDetector", 0),
    ("[forms]", "softlayer.SoftlayerDetector", 1),
    ("[passages]", "aws.AWSKeyDetector", 1),
)
"""Patterns of detect-secrets to use: section, class and number of the pattern.

The others are left out. gitleaks has the same pattern, or the pattern matches words (Artifactory, Cloudant), values
that grant no access (Twilio's accounts, unsigned tokens), or more than real tokens (AWS, Slack, Telegram, Twilio's
keys).
"""
_RANDOM = 3.0
"""Minimum entropy in bits per character of what a pattern of detect-secrets matches."""

_HEAD = """\
# Forms of keys and tokens, made by docs/tokens.py of gitleaks.toml{version}. Do not edit: renew it.
#
# Each line of [forms] has a rule's name, the least entropy of a match in bits a character, texts in small letters of
# which one is in each match, and a pattern, where `\\b` begins a word that may follow an escape sequence. Each line of
# [named] has a name, an entropy, a pattern of what a value is called, and a pattern of the whole value.
#
# These facts are taken from gitleaks, https://github.com/gitleaks/gitleaks, under the MIT License:
#
{license}
#
# Rules that are not taken: {left_out}.
"""
_DETECTORS_HEAD = """\
# Forms of keys and tokens, made by docs/tokens.py of detect-secrets {version}. Do not edit: renew it.
#
# Each line has what `forms.txt` describes. These facts are taken from detect-secrets,
# https://github.com/Yelp/detect-secrets, Copyright Yelp Inc. and others, under the Apache License, Version 2.0:
# https://www.apache.org/licenses/LICENSE-2.0
"""
_LICENSE = """\
MIT License

Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


class Untranslated(ValueError):
    """A rule has a syntax that this program does not know."""


@dataclass(frozen=True, order=True)
class Rule:
    """A rule, as a line of the data file."""

    name: str
    entropy: float
    sign: str
    """Lower-case texts, separated by blanks. Each match contains one of them. In a named rule, this is a pattern of
    names.
    """
    pattern: str

    @property
    def line(self) -> str:
        """The rule as a line of the data."""
        return "\t".join((self.name, f"{self.entropy:g}", self.sign, self.pattern))


def data(toml: str, version: str = "") -> str:
    """Return the data file for the text of a `gitleaks.toml`."""
    forms: set[Rule] = set()
    named: set[Rule] = set()
    left_out: set[str] = set()
    for rule in tomllib.loads(toml)["rules"]:
        name = rule["id"]
        if name in LEFT_OUT or name.endswith(_PUBLIC) or "regex" not in rule:
            left_out.add(name)
            continue
        try:
            for is_named, made in list(_rules(rule)):
                (named if is_named else forms).add(made)
        except (Untranslated, re.error):
            left_out.add(name)
    head = _HEAD.format(
        version=f" {version}" if version else "",
        license="\n".join(f"# {line}".rstrip() for line in _LICENSE.split("\n")),
        left_out=", ".join(sorted(left_out)),
    )
    parts = ("[forms]", *(each.line for each in sorted(forms)), "", "[named]", *(each.line for each in sorted(named)))
    return head + "\n" + "\n".join(parts) + "\n"


def _rules(rule: Mapping[str, Any]) -> Iterator[tuple[bool, Rule]]:
    """Yield the Rules for one rule of gitleaks. The flag is True if a Rule depends on a value's name.

    Raises:
        Untranslated: the rule has an unknown syntax.
    """
    name, entropy = rule["id"], float(rule.get("entropy", 0))
    for part in rule["regex"].split(f"{_TAIL}|"):
        if _BETWEEN in part:
            names, _, value = part.partition(_BETWEEN)
            yield True, Rule(name, entropy, _names(names), _shape(value, ignores_case=part.startswith("(?i)")))
        else:
            pattern = _shape(part, ignores_case=part.startswith("(?i)"))
            signs = _signs(_parser.parse(pattern))
            if not signs:
                raise Untranslated(name)
            yield False, Rule(name, entropy, " ".join(sorted(signs)), pattern)


def _names(regex: str) -> str:
    """Return the pattern of names in the first half of a rule."""
    regex = regex.removeprefix("(?i)")
    while regex.startswith((_BEFORE_NAME, "(?i:")):
        regex = regex.removeprefix(_BEFORE_NAME).removeprefix("(?i:")
    regex = (
        regex.removesuffix(")").removesuffix(_AFTER_NAME) if regex.endswith(")") else regex.removesuffix(_AFTER_NAME)
    )
    pattern = _plain(regex)
    re.compile(pattern)
    return pattern


def _shape(regex: str, *, ignores_case: bool) -> str:
    """Return the pattern of a token, without the surrounding text."""
    regex = regex.removeprefix("(?i)")
    tail = next((tail for tail in _TAILS if regex.endswith(tail)), "")
    regex = regex.removesuffix(tail)
    begin = _BEGIN if regex.startswith(_BEGIN) else ""
    pattern = _plain(regex.removeprefix(_BEGIN))
    if ignores_case:
        pattern = f"(?i:{pattern})"
    return f"{begin}{pattern}{_END if tail else ''}"


def _plain(regex: str) -> str:
    """Translate a pattern from Go. Remove groups, and limit each repetition."""
    made: list[str] = []
    closing = [""]
    is_class = False
    at = 0
    while at < len(regex):
        rest = regex[at:]
        if rest.startswith("\\"):
            piece, put = rest[:2], rest[:2]
        elif is_class:
            piece = "[:alnum:]" if rest.startswith("[:alnum:]") else rest[0]
            put = "A-Za-z0-9" if piece == "[:alnum:]" else piece.replace("[", r"\[")
            is_class = piece != "]"
        elif rest.startswith("(?i)"):
            piece, put = "(?i)", "(?i:"
            closing[-1] += ")"
        elif rest.startswith("["):
            piece = put = "["
            is_class = True
        elif opening := re.match(r"\(\?[a-z-]*:", rest):
            piece = put = opening[0]
            closing.append("")
        elif rest.startswith("(?"):
            raise Untranslated(regex)
        elif rest.startswith("("):
            piece, put = "(", "(?:"
            closing.append("")
        elif rest.startswith(")"):
            piece, put = ")", f"{closing.pop()})"
        elif rest.startswith("|"):
            if closing[-1]:
                raise Untranslated(regex)
            piece = put = "|"
        elif open_end := re.match(r"\{(\d+),\}\??", rest):
            piece, put = open_end[0], f"{{{open_end[1]},{_MOST}}}"
        elif repeated := re.match(r"[+*]\??", rest):
            piece, put = repeated[0], f"{{{int(repeated[0][0] == '+')},200}}"
        elif rest[0] in ".^$":
            if rest[0] != ".":
                raise Untranslated(regex)
            piece = put = "."
        else:
            piece = put = rest[0]
        made.append(put)
        at += len(piece)
    pattern = "".join(made) + closing[-1]
    re.compile(pattern, re.ASCII)
    return pattern


def _signs(parsed: Any) -> frozenset[str]:
    """Return lower-case texts, one of which is in every match; none if there are no such texts."""
    best: frozenset[str] = frozenset()
    literal = ""
    for kind, value in [*parsed, (None, None)]:
        if str(kind) == "LITERAL":
            literal += chr(value).lower()
            continue
        best, literal = _better(best, frozenset([literal] if literal else [])), ""
        if str(kind) == "SUBPATTERN":
            best = _better(best, _signs(value[-1]))
        elif str(kind) == "BRANCH":
            found = [_signs(branch) for branch in value[1]]
            best = _better(best, frozenset().union(*found) if all(found) else frozenset())
        elif str(kind) in ("MAX_REPEAT", "MIN_REPEAT") and value[0]:
            best = _better(best, _signs(value[2]))
    return best if all(len(sign) >= _SHORTEST_SIGN and " " not in sign for sign in best) else frozenset()


def _better(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    return max(one, other, key=lambda signs: min(map(len, signs), default=0))


def detectors(patterns_of: Callable[[str], tuple[str, Sequence[re.Pattern[str]]]], version: str) -> str:
    """Return the data file for the plug-ins of detect-secrets.

    `patterns_of` returns the kind and the patterns of a class.
    """
    parts = [_DETECTORS_HEAD.format(version=version)]
    for section, name, number in DETECTORS:
        kind, patterns = patterns_of(name)
        found = patterns[number]
        pattern = _shape(found.pattern, ignores_case=bool(found.flags & re.IGNORECASE))
        signs = ("|" if section == "[passages]" else " ").join(sorted(_signs(_parser.parse(pattern))))
        rule = Rule(re.sub(r"\W+", "-", kind.lower()), _RANDOM, signs, pattern)
        parts += [rule.line] if section in parts else [section, rule.line]
    return "\n".join(parts) + "\n"


def _installed(name: str) -> tuple[str, Sequence[re.Pattern[str]]]:
    module, _, found = name.partition(".")
    plugin = getattr(import_module(f"detect_secrets.plugins.{module}"), found)
    return plugin.secret_type, plugin.denylist


def main() -> None:
    if len(sys.argv) == 1:
        made = detectors(_installed, metadata.version("detect-secrets"))
        (FOLDER / "detectors.txt").write_text(made, encoding="utf-8")
        return
    path, *version = sys.argv[1:]
    made = data(Path(path).read_text(encoding="utf-8"), *version)
    (FOLDER / "gitleaks.txt").write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
