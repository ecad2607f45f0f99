"""System folders, and a test whether a path is inside a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")


def is_within(path: Path, folders: Iterable[Path]) -> bool:
    """Return whether an absolute path is one of the folders, or is inside one of them."""
    # This function is called often, and comparing strings is five times as fast as `is_relative_to`.
    text = f"{path}/"
    return any(text.startswith(f"{folder}/" if len(folder.parts) > 1 else "/") for folder in folders)
