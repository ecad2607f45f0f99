"""Open the site that `nox -s docs` builds in Chromium."""

from __future__ import annotations

import os

collect_ignore = [] if "ADACODER_SITE" in os.environ else ["test_site.py"]
