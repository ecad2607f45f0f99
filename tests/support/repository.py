"""Make git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder`, and return its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ran = subprocess.run(["git", *WHO, *arguments], cwd=folder, env=clean, check=True, capture_output=True)
    return ran.stdout.decode()


def commit(folder: Path, message: str = "First") -> str:
    """Commit all files in `folder`. Return the commit's id."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD").strip()
