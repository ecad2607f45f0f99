"""The site that `nox -s docs` builds, opened in Chromium."""

from __future__ import annotations

import os

collect_ignore = [] if "ADACODER_SITE" in os.environ else ["test_site.py"]
