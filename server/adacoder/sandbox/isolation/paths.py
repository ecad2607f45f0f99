"""Where the system's own files are, and what lies in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")


def is_within(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path is one of the folders, or in one."""
    return any(path.is_relative_to(folder) for folder in folders)
