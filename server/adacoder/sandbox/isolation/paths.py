"""System folders, and containment of paths."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")


def is_within(path: Path, folders: Iterable[Path]) -> bool:
    """True if an absolute path is one of the folders, or inside such a folder."""
    text = f"{path}/"  # as `is_relative_to`, but in a fifth of its time: it is called often at each start
    return any(text.startswith(f"{folder}/" if len(folder.parts) > 1 else "/") for folder in folders)
