"""Models of a stand-in server, as a request opens them."""

from __future__ import annotations

from adacoder.models.base import OnWait
from adacoder.models.ollama import OllamaServer
from adacoder.models.served import Deadlines, ServedModel
from adacoder.models.window import Calibration


def model_at(
    host: str | None,
    name: str = "qwen2.5-coder:7b",
    *,
    context_tokens: int = 8192,
    temperature: float = 0.2,
    seed: int | None = None,
    keep_alive: str = "10m",
    allow_cloud: bool = False,
    deadlines: Deadlines | None = None,
    calibration: Calibration | None = None,
    on_wait: OnWait = lambda _: None,
) -> ServedModel:
    """A model of the Ollama server at `host`."""
    deadlines = deadlines or Deadlines()
    return ServedModel(
        OllamaServer(host, deadlines),
        name,
        prefix="ollama",
        context_tokens=context_tokens,
        temperature=temperature,
        seed=seed,
        keep_alive=keep_alive,
        allow_cloud=allow_cloud,
        deadlines=deadlines,
        calibration=calibration or Calibration(),
        on_wait=on_wait,
    )
