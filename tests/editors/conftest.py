"""Real editors that are too large for the test suite: `nox -s vscode` installs what they need, and runs them."""

from __future__ import annotations

import os

collect_ignore_glob = [] if "ADACODER_WORKBENCH" in os.environ else ["vscode/*"]
