"""Real editors that are too large for the test suite: `nox -s vscode` installs what they need, and runs them."""

from __future__ import annotations

import os

collect_ignore = [] if "ADACODER_WORKBENCH" in os.environ else ["vscode"]
