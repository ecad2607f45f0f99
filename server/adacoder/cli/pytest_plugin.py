"""The entry point of the pytest plug-in. The option `--adacoder` switches it on.

Every pytest run in this environment imports this module, so keep its imports few.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that switches the plug-in on."""
    group = parser.getgroup("adacoder")
    group.addoption("--adacoder", action="store_true", help="also run the examples of docstrings, in isolation")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plug-in if the option is given."""
    if config.getoption("adacoder", False):
        from adacoder.cli.pytest_items import PytestDocstrings

        config.pluginmanager.register(PytestDocstrings(config), "adacoder-docstrings")
