"""The hidden files of a folder, the reason for each, and changes to them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.privacy.contents import _forms, found_in, without_secrets
from adacoder.privacy.private_names import NO_WISHES, Wishes
from adacoder.privacy.tree import SearchLimits, hidden

_parser = vars(re)["_parser"]  # typeshed leaves it out

BODY = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6"
HEXADECIMAL = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
HOLDING = {
    "PEM": f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----\n",
    "encrypted PEM": f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{BODY}\n",
    "OpenSSH": f"-----BEGIN OPENSSH PRIVATE KEY-----\r\n{BODY}\r\n",
    "in YAML": f"tls:\n  key: |\n    -----BEGIN EC PRIVATE KEY-----\n    {BODY}\n",
    "in JSON": f'{{"key": "-----BEGIN PRIVATE KEY-----\\n{BODY}\\n"}}',
    "PGP": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{BODY}\n",
    "PuTTY": f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n{BODY}\n",
    "age": f"# created\nAGE-SECRET-KEY-1{'QZ3W' * 15}\n",
    "AWS": "id = AKIA1234567890ABCDEF\n",
    "AWS by name": f"aws_secret_access_key = {LONG[:40]}\n",
    "GitHub": f"token: ghp_{LONG[:36]}\n",
    "GitHub, fine": f"github_pat_{LONG}",
    "GitLab": f"url: https://oauth2:glpat-{LONG[:20]}@gitlab.com/x.git",
    "Slack": f"xoxb-123456789012-{LONG[:24]}",
    "Stripe": f"STRIPE=sk_live_{LONG[:24]}",
    "Google": f"AIza{LONG[:35]}",
    "Anthropic": f"sk-ant-api03-{LONG}",
    "OpenAI": f"sk-proj-{LONG}",
    "OpenAI, old": f"sk-{LONG[:20]}T3BlbkFJ{LONG[:20]}",
    "Hugging Face": f"hf_{LONG[:34]}",
    "npm": f"//npm.example/:_authToken=npm_{LONG[:36]}",
    "PyPI": f"password = pypi-AgEIcHlwaS5vcmc{LONG}",
    "SendGrid": f"SG.{LONG[:22]}.{LONG[:43]}",
    "Twilio": f"SK{HEXADECIMAL}",
    "Azure": f"AccountName=x;AccountKey={LONG}{LONG[:34]}==;",
    "Telegram": f"110201543:AA{LONG[:33]}",
    "Vault": f"hvs.{LONG}",
    "Kubernetes": "apiVersion: v1\nkind: Secret\ndata:\n  a: eA==\n",
    "Ansible": f"$ANSIBLE_VAULT;1.1;AES256\n{HEXADECIMAL * 3}\n",
    "Google service": f'{{"type": "service_account", "private_key_id": "{HEXADECIMAL}01234567"}}',
}
HARMLESS = (
    "a private key begins with -----BEGIN PRIVATE KEY----- and base64 follows",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ\n-----END PUBLIC KEY-----\n",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0\n-----END CERTIFICATE-----\n",
    "task-manager-with-a-name-of-great-length, risk-assessment-of-the-whole-organisation",
    "kind: SecretStore\nname: x\n",
    f"sha256:{HEXADECIMAL * 2}",
    '{"token": "<s>", "id": 1, "special_tokens": ["[PAD]", "[UNK]"]}',
    "export AWS_SECRET_ACCESS_KEY=$KEY",
    "ghp_short, hf_model, sk-1, npm_config_registry, xoxo",
    f"data:image/png;base64,{BODY * 20}",
)


def fill(folder: Path, *names: str, text: str = "x") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(folder: Path, wishes: Wishes = NO_WISHES, **limits: int) -> dict[str, str]:
    hiding = hidden(folder, wishes, limits=SearchLimits(pause=0.0, **limits))
    return {path.relative_to(folder).as_posix(): why for path, why in hiding.items()}


@pytest.mark.parametrize("what", HOLDING)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_what_a_file_holds_tells(what: str, encoding: str) -> None:
    assert found_in(HOLDING[what].encode(encoding))


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_none_of_it(text: str) -> None:
    assert found_in(text.encode()) is None
    assert without_secrets(text) == text


@pytest.mark.parametrize("what", [each for each in HOLDING if each not in ("Kubernetes", "Ansible", "PuTTY")])
def test_keys_and_tokens_are_taken_out_of_a_text(what: str) -> None:
    text = without_secrets(f"# before\n{HOLDING[what]} # after")
    assert "…" in text
    assert text.startswith("# before\n")
    assert not any(part in text for part in (BODY, LONG[:20], "QZ3WQZ3W", "1234567890ABCDEF", HEXADECIMAL))


@given(st.binary(max_size=300))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    found_in(data + b"a" * 20)


@pytest.mark.parametrize("form", [each.source for part in (_forms().words, _forms().passages) for each in part])
def test_no_form_goes_on_without_end(form: str) -> None:
    """Every pattern is bounded, so a search takes linear time in any text."""
    assert _unbounded(_parser.parse("x*y+"))
    assert not _unbounded(_parser.parse(form))


def _unbounded(parsed: object) -> bool:
    if (
        isinstance(parsed, tuple)
        and len(parsed) == 2
        and "REPEAT" in str(parsed[0])
        and parsed[1][1] is _parser.MAXREPEAT
    ):
        return True
    parts = parsed if isinstance(parsed, (tuple, list, _parser.SubPattern)) else ()
    return any(map(_unbounded, parts))


def test_secrets_are_hidden_and_what_python_imports_of_them_is_not(tmp_path: Path) -> None:
    fill(tmp_path, "secrets/__init__.py", "secrets/store.py", "secrets/prod", "secrets/more/db", "secrets/x.example")
    fill(tmp_path, "prod-credentials/a", "prod-credentials/b", "private_keys/deep/er/k", "lib.py")
    assert found(tmp_path) == {
        "private_keys/deep/er": "it lies in a folder of secrets",
        "prod-credentials": "its name",
        "secrets/more": "it lies in a folder of secrets",
        "secrets/prod": "it lies in a folder of secrets",
    }


def test_an_environment_is_no_store_of_secrets(tmp_path: Path) -> None:
    fill(tmp_path, ".envs/py/pyvenv.cfg", ".envs/py/bin/python", ".envs/py/lib/x.py", ".envs/.production/.django")
    assert found(tmp_path) == {".envs/.production": "it lies in a folder of secrets"}


def test_links_in_a_store_hide_the_files_they_lead_to_and_no_folders(tmp_path: Path) -> None:
    fill(tmp_path, "config/prod.txt", "src/mod.py", "src/data.txt", "secrets/a")
    (tmp_path / "secrets/db").symlink_to("../config/prod.txt")
    (tmp_path / "secrets/code").symlink_to("../src")
    (tmp_path / "secrets/mod").symlink_to("../src/mod.py")
    assert set(found(tmp_path)) == {"config/prod.txt", "secrets"}


def test_what_a_file_holds_is_noticed_when_it_changes(tmp_path: Path) -> None:
    fill(tmp_path, "a/notes.txt", "a/mod.py", text="nothing")
    os.utime(tmp_path / "a", ns=(0, 0))
    assert found(tmp_path) == {}
    fill(tmp_path, "a/notes.txt", "a/mod.py", text=HOLDING["GitHub"])
    assert found(tmp_path) == {"a/notes.txt": "it holds a token of GitHub"}
    fill(tmp_path, "a/notes.txt", text="nothing")
    assert found(tmp_path) == {}


def test_so_many_files_are_looked_into_and_of_each_so_much(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number}.txt" for number in range(2)), *(f"deep/{number}.txt" for number in range(3)))
    for number in range(3):
        fill(tmp_path, f"deep/{number}.txt", text=HOLDING["GitHub"])
    assert len(found(tmp_path, read=3)) == 1
    fill(tmp_path, "long.txt", text="x" * 70_000 + HOLDING["GitHub"])
    assert "long.txt" not in found(tmp_path, read=3)


def test_wishes(tmp_path: Path) -> None:
    fill(tmp_path, "prices/list.csv", "prices/mod.py", ".env", "x/.env", ".aws/config", ".aws/credentials", "secrets/a")
    assert set(found(tmp_path)) == {".env", "x/.env", ".aws", "secrets"}
    hiding = Wishes(hide=("prices",))
    assert found(tmp_path, hiding)["prices"] == "the setting 'hide' names it"
    assert set(found(tmp_path, Wishes(hide=("*.csv",)))) >= {"prices/list.csv"}
    assert set(found(tmp_path, Wishes(show=(".env",)))) == {".aws", "secrets"}
    assert set(found(tmp_path, Wishes(show=("x/.env", "secrets")))) == {".env", ".aws"}
    assert set(found(tmp_path, Wishes(show=(".aws/config",)))) == {".env", "x/.env", ".aws/credentials", "secrets"}
    assert set(found(tmp_path, Wishes(hide=("prices",), show=("prices",)))) == {".env", "x/.env", ".aws", "secrets"}


def test_what_is_hidden_does_not_depend_on_when_it_was_looked_at(tmp_path: Path) -> None:
    fill(tmp_path, ".env", "a/b/notes.txt", text=HOLDING["Slack"])
    first = found(tmp_path)
    time.sleep(0.01)
    assert found(tmp_path) == first == {".env": "its name", "a/b/notes.txt": "it holds a token of Slack"}


def test_of_what_is_installed_some_levels_are_looked_at_and_only_names(tmp_path: Path) -> None:
    fill(tmp_path, "a/.env", "a/b/.env", "a/b/c/.env", *(f"many/{number}" for number in range(5)))
    fill(tmp_path, "a/notes.txt", text=HOLDING["GitHub"])
    assert set(hidden(tmp_path, levels=3, limits=SearchLimits(in_folder=4))) == {
        tmp_path / "a/.env",
        tmp_path / "a/b/.env",
    }
    assert set(found(tmp_path, in_folder=4)) == {"a/.env", "a/b/.env", "a/b/c/.env", "a/notes.txt", "many"}


def test_only_one_folder_of_a_project_is_searched(tmp_path: Path) -> None:
    fill(tmp_path, "src/a/.env", "src/a/notes.txt", "src/mod.py", "notes.txt", "other/.env", text=HOLDING["GitHub"])
    fill(tmp_path, ".env", "secrets/src/db", "secrets/other/db")
    inside = {tmp_path / "src/a/.env": "its name", tmp_path / "src/a/notes.txt": "it holds a token of GitHub"}
    assert hidden(tmp_path, only=tmp_path / "src") == {tmp_path / ".env": "its name", **inside}
    assert hidden(tmp_path, only=tmp_path) == hidden(tmp_path)
    assert set(hidden(tmp_path, only=tmp_path / "secrets/src")) == {tmp_path / ".env", tmp_path / "secrets/src"}
    assert set(hidden(tmp_path, Wishes(hide=("src",)), only=tmp_path / "src")) == {tmp_path / ".env", tmp_path / "src"}
    assert set(hidden(tmp_path, only=tmp_path / "nowhere")) == {tmp_path / ".env"}
