"""Every role of every strategy can read any reply of a model."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from adacoder.agents.role import Role
from adacoder.domain import Reply
from adacoder.source.locate import locate
from adacoder.strategies import STRATEGIES
from support.scripted import STUB

FOLDER = os.environ.get("ADACODER_DATA")
ROLES = {role.read.__qualname__: role for each in STRATEGIES.values() for role in each.roles}
"""One role for each way to read a reply."""


@pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")
@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_a_role_reads_any_reply(role: Role[Any], tmp_path: Path) -> None:
    target = locate(STUB, tmp_path / "m.py", tmp_path, qualname="hypotenuse")
    with gzip.open(Path(FOLDER or "") / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        replies = [json.loads(line)["reply"] for line in lines]
    for text in random.Random(15).sample(replies, 500):
        role.has_found(role.read(Reply(text), target))
