"""Typed settings, shared by the editor and the command line.

An invalid value causes a notice and is ignored, so a wrong setting never keeps AdaCoder from starting.
"""

from adacoder.settings.definition import SETTINGS, Settings, Unverified, field_name
from adacoder.settings.merging import from_project, from_tables, merge
from adacoder.settings.pyproject import project_tools, tables_in

__all__ = [
    "SETTINGS",
    "Settings",
    "Unverified",
    "field_name",
    "from_project",
    "from_tables",
    "merge",
    "project_tools",
    "tables_in",
]
