"""Tiny model files for real servers. Each model writes one fixed text, whatever it is asked.

The network only looks at the last token. Each piece of the text is a token of its own with its own embedding, and the
output layer gives the piece that follows it. Prompts consist of other tokens. They share one embedding, which the
text's first piece follows. The one layer between adds nothing.
"""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

_WIDTH = 256
"""Number of states of the network: one for any prompt, and one for each piece of its text."""
_WORDS = 6000
"""Number of tokens in the vocabulary of prompts."""
_TRAINED_WITH = 32768
"""The context window in the files."""
_SURE = 4.0
_CONTROL = ("<|im_start|>", "<|im_end|>")
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_SLUG = (
    "```python\ndef slug(",
    "text: str) -> str:\n    return ",
    '"-".join(text',
    ".lower()",
    ".split())\n",
    "```\n",
    "\nThis lowers the text, ",
    "splits it at white space ",
    "and joins the words with hyphens.\n",
)
_THOUGHTS = ("<think>\nLet me see what ", "the examples ask for. Words ", "in lower case, it seems.\n</think>\n\n")
TEXTS: Mapping[str, Sequence[str]] = {
    "right": _SLUG,
    "wrong": [piece.replace(".lower()", ".upper()") for piece in _SLUG],
    "thinks": (*_THOUGHTS, *_SLUG),
    "steps": [f"{number}. Look at the next word of the text, and at the one after it.\n" for number in range(1, 200)],
    "circles": ("again and again ",),
}
"""The text of each model, in pieces."""
_ENDLESS = frozenset({"steps", "circles"})
"""The models that start again after the last piece."""


def make(folder: Path) -> dict[str, Path]:
    """Write the files of all models. Return them by name."""
    vocabulary, merges = _vocabulary()
    return {name: _write(folder / f"{name}.gguf", vocabulary, merges) for name in TEXTS}


def _vocabulary() -> tuple[list[str], list[str]]:
    """Return the tokens and merges of a vocabulary for Python and English, trained on the standard library."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=_WORDS, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train([str(path) for path in sorted(Path(sysconfig.get_path("stdlib")).glob("[a-h]*.py"))], trainer)
    trained = json.loads(tokenizer.to_str())["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in trained["merges"]]
    return sorted(trained["vocab"], key=trained["vocab"].__getitem__), merges


def _write(path: Path, vocabulary: Sequence[str], merges: Sequence[str]) -> Path:
    pieces = [_spelled(piece) for piece in TEXTS[path.stem]]
    assert len(pieces) < _WIDTH
    assert not {*pieces} & {*vocabulary}
    tokens = [*vocabulary, *_CONTROL, *pieces]
    first, end = len(tokens) - len(pieces), tokens.index(_CONTROL[1])
    state = np.zeros((len(tokens), _WIDTH), np.float16)
    following = np.zeros((len(tokens), _WIDTH), np.float16)
    state[:first, 0] = 1
    for number in range(len(pieces)):
        state[first + number, number + 1] = 1
        following[first + number, number] = _SURE
    following[first if path.stem in _ENDLESS else end, len(pieces)] = _SURE

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(path.stem)
    writer.add_context_length(_TRAINED_WITH)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_rope_dimension_count(_WIDTH // 4)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if one in _CONTROL else gguf.TokenType.NORMAL for one in tokens])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE)

    writer.add_tensor("token_embd.weight", state)
    writer.add_tensor("output.weight", following)
    for norm in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{norm}.weight", np.ones(_WIDTH, np.float32))
    for layer in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{layer}.weight", np.zeros((_WIDTH, _WIDTH), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _spelled(text: str) -> str:
    """Return `text` as byte-level vocabularies write it."""
    ((spelled, _),) = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    return str(spelled)
