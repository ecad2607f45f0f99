"""Secrets by content: private keys, and tokens of well-known services.

The one place that knows what these look like. Every form has a text that begins it and a bounded length, so that
looking for them is fast, and linear in what is looked at.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from functools import cache, lru_cache

READING = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    READING |= getattr(os, _flag, 0)
"""Flags for opening a file without following links or waiting, as far as the system knows them."""

MOST_BYTES = 64 * 1024
"""Only the beginning of a file is searched; longer files are data."""
LARGEST = 4 * 1024 * 1024
"""Maximum size of a file that is searched at all."""
_MOST_KEPT = 50_000
_MASK = "…"
_LETTERS = (
    bytes(ord("a") if chr(code).isalnum() or chr(code) in "_-+/=" else ord(" ") for code in range(128)) + b" " * 128
)
_RUN = b"a" * 20
"""Nearly every form has this many letters in a row, which is a fast test."""
_TELLS_OF_THE_REST = frozenset({"a secret of Kubernetes", "a vault of Ansible"})
"""Kinds whose match is only a mark: the secret follows it."""

_B64 = r"[A-Za-z0-9+/=]"
_LINE_END = r"[ \t]{0,9}(?:\r?\n|\\r|\\n|\Z)"
_TO_THE_END = r"(?:[^-]|-(?!-)){0,20000}(?:-----END [A-Z0-9 ]{1,60}-----)?"
_WORD = r"[A-Za-z0-9_-]"

_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # What it is; texts of which one is in every such thing; the form of it.
    (
        "a private key",
        ("PRIVATE KEY",),
        rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}PRIVATE KEY(?: BLOCK)?-----{_LINE_END}{_TO_THE_END}",
    ),
    (
        "a private key",
        ("BEGIN SSH2 ENCRYPTED PRIVATE KEY",),
        r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:[^-]|-(?!-)){0,20000}",
    ),
    ("a private key", ("PuTTY-User-Key-File-",), r"PuTTY-User-Key-File-[1-9]: \S{2,40}"),
    ("a private key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,100}"),
    ("a service account's key", ("private_key_id",), r"\"private_key_id\"\s{0,9}:\s{0,9}\"[0-9a-f]{40}\""),
    (
        "a secret of Kubernetes",
        ("Secret",),
        r"(?m:^[ \t]{0,40}\"?kind\"?:[ \t]{0,9}[\"']?Secret[\"']?[ \t]{0,9},?\r?$)",
    ),
    ("a vault of Ansible", ("$ANSIBLE_VAULT;",), r"\$ANSIBLE_VAULT;\d"),
    ("a key of AWS", ("AKIA",), r"AKIA[A-Z0-9]{16}(?![A-Z0-9])"),
    ("a key of AWS", ("ASIA",), r"ASIA[A-Z0-9]{16}(?![A-Z0-9])"),
    (
        "a key of AWS",
        ("ws_secret_access_key",),
        rf"aws_secret_access_key[\"']?\s{{0,9}}[=:]\s{{0,9}}[\"']?{_B64}{{40}}",
    ),
    (
        "a key of AWS",
        ("AWS_SECRET_ACCESS_KEY",),
        rf"AWS_SECRET_ACCESS_KEY[\"']?\s{{0,9}}[=:]\s{{0,9}}[\"']?{_B64}{{40}}",
    ),
    ("a token of GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("a token of GitHub", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,255}"),
    (
        "a token of GitLab",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-", "glagent-"),
        rf"gl(?:pat|dt|rt|ptt|cbt|oas|soat|agent)-{_WORD}{{20,200}}",
    ),
    ("a token of Slack", ("xox",), rf"xox[abeoprs]-(?:\d-)?{_WORD}{{20,250}}"),
    ("a token of Slack", ("xapp-",), rf"xapp-\d-{_WORD}{{20,250}}"),
    (
        "a webhook of Slack",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows)/[A-Z0-9]{6,20}/[\w/]{20,120}",
    ),
    ("a webhook of Discord", ("api/webhooks/",), rf"discord(?:app)?\.com/api/webhooks/\d{{15,25}}/{_WORD}{{50,100}}"),
    ("a key of Stripe", ("k_live_",), r"[rs]k_live_[A-Za-z0-9]{16,250}"),
    ("a key of Stripe", ("k_test_",), r"[rs]k_test_[A-Za-z0-9]{24,250}"),
    ("a key of Stripe", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,100}"),
    ("a key of Google", ("AIza",), rf"AIza{_WORD}{{35}}(?!{_WORD})"),
    ("a token of Google", ("ya29.",), rf"ya29\.{_WORD}{{20,500}}"),
    ("a secret of Google", ("GOCSPX-",), rf"GOCSPX-{_WORD}{{28}}"),
    ("a token of Google", ("1//0",), rf"(?<![\w/])1//0{_WORD}{{40,200}}"),
    ("a key of Anthropic", ("sk-ant-",), rf"sk-ant-{_WORD}{{24,250}}"),
    ("a key of OpenAI", ("T3BlbkFJ",), rf"sk-{_WORD}{{16,120}}T3BlbkFJ{_WORD}{{16,120}}"),
    ("a key for models", ("sk-",), rf"(?<!{_WORD})sk-(?={_WORD}{{0,60}}\d)(?={_WORD}{{0,60}}[A-Z]){_WORD}{{32,250}}"),
    ("a key for models", ("sk-",), rf"(?<!{_WORD})sk-[A-Za-z0-9]{{40,60}}(?!{_WORD})"),
    ("a key for models", ("sk-or-v1-",), r"sk-or-v1-[0-9a-f]{64}"),
    ("a key for models", ("gsk_",), r"gsk_[A-Za-z0-9]{48,60}"),
    ("a key for models", ("pplx-",), r"pplx-[A-Za-z0-9]{48,60}"),
    ("a key for models", ("xai-",), r"xai-[A-Za-z0-9]{70,90}"),
    ("a token of Replicate", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    ("a token of Hugging Face", ("hf_",), r"hf_[A-Za-z0-9]{30,45}(?![A-Za-z0-9_])"),
    ("a token of npm", ("npm_",), r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    ("a token of PyPI", ("pypi-A",), rf"pypi-A[gH]{_WORD}{{16,500}}"),
    ("a key of RubyGems", ("rubygems_",), r"rubygems_[0-9a-f]{48}"),
    ("a token of Docker", ("dckr_",), rf"dckr_(?:pat|oat)_{_WORD}{{20,60}}"),
    ("a key of SendGrid", ("SG.",), rf"SG\.{_WORD}{{16,32}}\.{_WORD}{{30,64}}"),
    ("a key of Mailgun", ("key-",), r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("a key of Twilio", ("SK",), r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("a key of Azure", ("AccountKey=",), r"AccountKey=[A-Za-z0-9+/]{60,90}"),
    ("a key of Azure", ("SharedAccessKey=",), r"SharedAccessKey=[A-Za-z0-9+/]{40,90}"),
    ("a secret of Azure", ("Q~",), r"(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~.-])"),
    ("a token of DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[0-9a-f]{64}"),
    ("a token of Databricks", ("dapi",), r"dapi[0-9a-f]{32}"),
    ("a token of HashiCorp Vault", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[\w-]{24,300}"),
    ("a token of Terraform", (".atlasv1.",), rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_WORD}{{60,80}}"),
    ("a token of Shopify", ("shpat_", "shpca_", "shppa_", "shpss_"), r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("a token of Square", ("sq0",), rf"sq0(?:atp|csp)-{_WORD}{{22,60}}"),
    ("a token of Telegram", (":AA",), rf"(?<![\w:])\d{{8,10}}:AA{_WORD}{{33}}(?!{_WORD})"),
    (
        "a token of Doppler",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,60}",
    ),
    ("a token of Grafana", ("glsa_", "glc_"), r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,200}"),
    ("a key of New Relic", ("NRAK-",), r"NRAK-[A-Z0-9]{27}"),
    ("a token of Sentry", ("sntrys_", "sntryu_"), r"sntry[su]_[A-Za-z0-9+/=_]{60,500}"),
    ("a token of Linear", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    ("a token of Notion", ("ntn_",), r"ntn_[A-Za-z0-9]{40,60}"),
    ("a key of Postman", ("PMAK-",), r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("a token of Pulumi", ("pul-",), r"pul-[0-9a-f]{40}"),
    ("a token of PlanetScale", ("pscale_",), r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,64}"),
    ("a token of Supabase", ("sbp_", "sb_secret_"), r"sb(?:p|_secret)_[A-Za-z0-9_-]{30,60}"),
    ("a token of Atlassian", ("ATATT3",), r"ATATT3[A-Za-z0-9_=-]{100,250}"),
    ("a token of Airtable", ("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("a token of Figma", ("figd_",), rf"figd_{_WORD}{{36,60}}"),
    ("a token of Heroku", ("HRKU-",), rf"HRKU-{_WORD}{{36,70}}"),
    ("a key of WireGuard", ("PrivateKey",), r"(?m:^[ \t]{0,9}PrivateKey[ \t]{0,9}=[ \t]{0,9}[A-Za-z0-9+/]{43}=)"),
)


@dataclass(frozen=True, slots=True)
class _Form:
    what: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


@cache
def _forms() -> tuple[_Form, ...]:
    return tuple(_Form(what, signs, re.compile(form, re.ASCII)) for what, signs, form in _FORMS)


def found_in(data: bytes) -> str | None:
    """Kind of secret in `data`, the beginning of a file in any encoding; None if there is none."""
    if b"\0" in data:
        data = data.replace(b"\0", b"")  # as UTF-16 has them
    if _RUN not in data.translate(_LETTERS) and b"Secret" not in data and b"PRIVATE KEY" not in data:
        return None
    text = data.decode("latin-1")
    for form in _forms():
        if any(sign in text for sign in form.signs) and form.pattern.search(text):
            return form.what
    return None


def without_secrets(text: str) -> str:
    """Mask the keys and tokens in `text`, real or made up."""
    for form in _forms():
        if form.what not in _TELLS_OF_THE_REST and any(sign in text for sign in form.signs):
            text = form.pattern.sub(_MASK, text)
    return text


def found_in_file(path: str) -> str | None:
    """Kind of secret in a regular file; None if there is none, or the file cannot be read."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= LARGEST:
            return None
        return _found_in_state(path, status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size)
    except OSError:
        return None  # what cannot be read here cannot be read in confinement either


@lru_cache(maxsize=_MOST_KEPT)
def _found_in_state(path: str, *state: int) -> str | None:
    del state  # in another state it is looked at again
    handle = os.open(path, READING)
    try:
        return found_in(os.read(handle, MOST_BYTES)) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    finally:
        os.close(handle)
