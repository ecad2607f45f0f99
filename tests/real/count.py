"""Count the tokens of all kinds of texts with the vocabularies of model files, for tests/unit/models/token_counts.json.

The files need to contain only their vocabularies. llama.cpp's sources have such files for many families, in `models/`.

usage: PYTHONPATH=tests python tests/real/count.py FILE.gguf ... > tests/unit/models/token_counts.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from llama_cpp import Llama

from support.kinds_of_text import KINDS


def counted(path: Path) -> dict[str, int]:
    """Return the number of tokens of each text."""
    model = Llama(str(path), vocab_only=True, verbose=False)
    return {name: len(model.tokenize(text.encode(), add_bos=False, special=False)) for name, text in KINDS.items()}


if __name__ == "__main__":
    counts = {Path(file).stem.removeprefix("ggml-vocab-"): counted(Path(file)) for file in sys.argv[1:]}
    print(json.dumps(counts, ensure_ascii=False, indent=1))
