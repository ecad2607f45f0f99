"""One typed Settings for the editor and the command line.

A value that cannot be used is replaced by its default, with one notice; settings never stop anything from starting.
"""

from adacoder.settings.definition import SETTINGS, Rules, Settings, Unverified, field_name
from adacoder.settings.merging import from_project, merge
from adacoder.settings.pyproject import project_tools

__all__ = [
    "SETTINGS",
    "Rules",
    "Settings",
    "Unverified",
    "field_name",
    "from_project",
    "merge",
    "project_tools",
]
