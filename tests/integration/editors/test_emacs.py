"""Emacs, set up as docs/editors.md says: from a code action to a verified body in the file, and more."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.editors.driving import EDITORS, HERE, drive, of_the_system, snippet

pytestmark = pytest.mark.isolation


def has_eglot() -> bool:
    """Return whether Emacs with eglot is installed."""
    return of_the_system("emacs") is not None and any(Path("/usr/share/emacs/site-lisp/elpa-src").glob("eglot-*"))


@pytest.mark.skipif(not has_eglot(), reason="Emacs with eglot is not installed")
async def test_emacs_with_eglot(tmp_path: Path) -> None:
    config = snippet(EDITORS, "Emacs: eglot", "elisp")
    (tmp_path / "config").write_text(config, encoding="utf-8")
    emacs = [str(of_the_system("emacs")), "--batch", "-q", "-l", str(HERE / "emacs.el")]
    await drive(emacs, tmp_path, ADACODER_CONFIG=str(tmp_path / "config"))
