"""The closed set of errors that a model server, or the way to it, can end a request with: each a sentence for its user.

Options are named as on the command line; an editor's door names its settings instead (`report.in_an_editor`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from adacoder.domain import AdaCoderError
from adacoder.models.window import Bound


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model server, as far as what users are told depends on it."""

    name: str
    write: str
    """How to write its address, as the end of a sentence."""
    start: str
    """How to have a server, as the end of a sentence."""
    name_it: str
    """How to name a server."""
    get: str
    """How to have a model, likewise; `{model}` stands for its name."""
    look: str
    """How to see what a server does, likewise."""
    free: str
    """How to end what holds up a model that is loaded, likewise, or nothing; `{model}` stands for its name."""
    key: str
    """The environment variable that holds the key."""


OLLAMA = Kind(
    "Ollama",
    write="write HOST:PORT or http://HOST:PORT (or https)",
    start="start it with `ollama serve`, or name another with --host or OLLAMA_HOST",
    name_it="with --host or OLLAMA_HOST",
    get="run `ollama pull {model}`",
    look="see what it is doing with `ollama ps`",
    free="unload the model with `ollama stop {model}` if it is loaded and not in use",
    key="OLLAMA_API_KEY",
)


OPENAI = Kind(
    "OpenAI-compatible",
    write="write http://HOST:PORT/v1 (or https), without a user or a password",
    start="start it, or name another with --base-url",
    name_it="with --base-url (most end in /v1)",
    get="serve it there",
    look="see what it is doing in its log",
    free="",
    key="OPENAI_API_KEY",
)


_WIDEN = {
    Bound.SETTING: "raise --context-tokens, or choose a model with a larger window",
    Bound.UNTOLD: "start the server with a larger window, and set --context-tokens to that",
    Bound.SERVER: "start the server with a larger window, or choose another model with --model",
    Bound.MODEL: "it was trained with no more, so choose a model with a larger window with --model",
}
"""How to have a larger window, as the end of a sentence."""


_QUOTED_CHARACTERS = 200
"""What an error may quote of a server's own words."""


_NAMED_MODELS = 12
"""How many of a server's models an error may name."""


class ModelError(AdaCoderError):
    """A model could not reply. The text says what to do."""


class BadHost(ModelError):
    """What was named as the model server is no address."""

    def __init__(self, host: str, kind: Kind = OLLAMA) -> None:
        super().__init__(f"'{host}' is no address of an {kind.name} server: {kind.write}.")


class Nameless(ModelError):
    """A kind of model was named, and none of that kind."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"'{kind}:' alone names no model: write {kind}:{what} with --model.")


class NoBaseUrl(ModelError):
    """An OpenAI-compatible server is to be asked, and none was named."""

    def __init__(self) -> None:
        super().__init__(
            "No OpenAI-compatible server is named: give its address, such as http://localhost:8000/v1, with --base-url."
        )


class NotInstalled(ModelError):
    """The library for OpenAI-compatible servers is missing."""

    def __init__(self) -> None:
        super().__init__(
            "OpenAI-compatible servers need the package 'openai', which is not installed: run"
            " `pip install 'openai>=2,<4'`, or `pip install '.[openai]'` in the folder of AdaCoder's source."
        )


class OtherScheme(ModelError):
    """The server's address says https where it speaks http, or the other way round."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        scheme, _, rest = url.partition("://")
        other = "http" if scheme == "https" else "https"
        super().__init__(f"The server at {url} speaks {other}, not {scheme}: write {other}://{rest} {kind.name_it}.")


class NotRunning(ModelError):
    """Nothing answers at the model server's address."""

    def __init__(self, host: str, kind: Kind = OLLAMA) -> None:
        super().__init__(f"No {kind.name} server answers at {host}: {kind.start}.")


class CannotConnect(ModelError):
    """The environment keeps us from talking to the model server."""

    def __init__(self, host: str, what: str, kind: Kind = OLLAMA) -> None:
        super().__init__(
            f"No connection to {host} can be set up ({_quoted(what)}): look at HTTP_PROXY, HTTPS_PROXY, ALL_PROXY,"
            f" NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR and {kind.key} in the environment."
        )


class NoModel(ModelError):
    """No model was named, and none that is installed will do."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"No model is named, and none that writes code is installed at {host}:"
            " run `ollama pull qwen2.5-coder:7b`, or name a model with --model."
        )


class ModelMissing(ModelError):
    """The server does not have the model."""

    def __init__(self, model: str, host: str, installed: Sequence[str] = (), kind: Kind = OLLAMA) -> None:
        get = kind.get.format(model=model)
        super().__init__(f"The server at {host} has no model '{model}': {get}{_or_choose(installed)}.")


class BadName(ModelError):
    """What was named as a model can be none."""

    def __init__(self, model: str, installed: Sequence[str] = ()) -> None:
        super().__init__(
            f"'{_quoted(model)}' is no name of a model: write one as `ollama list` shows it{_or_choose(installed)}."
        )


class CloudRefused(ModelError):
    """The model would run on someone else's machine, and nobody allowed that."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The model '{model}' runs on Ollama's servers, so your code would leave this machine:"
            " choose a local model with --model, or allow it with --allow-cloud."
        )


class CloudDisabled(ModelError):
    """The model would run on someone else's machine, and the server is set up never to let it."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"The model '{model}' runs on Ollama's servers, and your server is set up without them:"
            " choose a local model with --model, or start the server without OLLAMA_NO_CLOUD."
        )


class LeavesNetwork(ModelError):
    """The server is out in the internet, and nobody allowed that."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        super().__init__(
            f"The server at {url} is neither on this machine nor in a private network, so your code would leave yours:"
            f" name one that is {kind.name_it}, or allow it with --allow-cloud."
        )


class NoChat(ModelError):
    """The model is made for something else than to answer."""

    def __init__(self, model: str) -> None:
        super().__init__(f"The model '{model}' cannot answer chats: choose another with --model.")


class Denied(ModelError):
    """The server asks for credentials, or refuses those it got."""

    def __init__(self, host: str, status: int, kind: Kind = OLLAMA) -> None:
        super().__init__(
            f"The server at {host} denies access (HTTP {status}): set {kind.key},"
            " which is sent only to a host that you named, over https or on this machine."
        )


class ContextOverflow(ModelError):
    """The prompt is larger than the model's window, so that the model would not see all of it."""

    def __init__(self, what: str, bound: Bound) -> None:
        """`what` does not fit, as a clause."""
        super().__init__(f"{what}: {_WIDEN[bound]}.")

    @classmethod
    def by(cls, model: str, bound: Bound = Bound.SETTING) -> Self:
        """The error for a prompt that `model` cannot see all of."""
        return cls(f"The prompt does not fit into the context window of '{model}'", bound)


class OutOfMemory(ModelError):
    """The server cannot hold the model."""

    def __init__(self, model: str, said: str) -> None:
        super().__init__(
            f"There is not enough memory to run '{model}' ({_quoted(said)}):"
            " choose a smaller model with --model, or lower --context-tokens."
        )


class Busy(ModelError):
    """The server turned the request away because of others."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The server at {host} has too many requests waiting: try again when it has worked them off.")


class Loading(ModelError):
    """The server still loads the model, and answers nothing meanwhile."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The server at {host} is still loading its model: try again when it has.")


class Stalled(ModelError):
    """The server went silent."""

    def __init__(
        self, host: str, seconds: float, kind: Kind = OLLAMA, option: str = "--token-timeout", model: str = ""
    ) -> None:
        """`option` is how to wait longer; `model` is what was asked, if that was a model."""
        free = f" {kind.free.format(model=model)}," if kind.free and model else ""
        super().__init__(
            f"The server at {host} has sent nothing for {seconds:g} s:"
            f" {kind.look},{free} wait longer with {option}, or choose a smaller model with --model."
        )


class TooSlow(ModelError):
    """The reply took longer than the user allows."""

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(
            f"The reply of '{model}' was not whole after {seconds:g} s:"
            " raise --reply-timeout, or choose a smaller model with --model."
        )


class OnlyThought(ModelError):
    """All that the model wrote were thoughts."""

    def __init__(self, model: str, *, ran_out: bool = True) -> None:
        """`ran_out`: it might have come to a reply with more tokens."""
        super().__init__(
            f"The model '{model}' spent all its tokens on thinking and did not come to a reply:"
            " raise --context-tokens, or choose a model that does not think with --model."
            if ran_out
            else f"All that the model '{model}' wrote were thoughts, as its server tells them from a reply:"
            " have the server keep it from thinking, or choose a model that does not think with --model."
        )


class BadReply(ModelError):
    """What came is no whole reply."""

    def __init__(self, host: str, what: str) -> None:
        super().__init__(
            f"The server at {host} gave no usable reply ({_quoted(what)}):"
            " try again, and see its log if it happens again."
        )


class NothingCame(BadReply):
    """The stream ended before anything came, of a server that does not tell how much it can read."""

    def __init__(self, host: str) -> None:
        ModelError.__init__(
            self,
            f"The server at {host} ended the reply before it began, as some do with a prompt that does not fit into"
            f" their context window: {_WIDEN[Bound.UNTOLD]}, or see its log.",
        )


class OtherServer(BadReply):
    """What answers is another kind of server."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        ModelError.__init__(
            self, f"What answers at {url} is no {kind.name} server: name the address of one {kind.name_it}."
        )


def _or_choose(installed: Sequence[str]) -> str:
    """What else there is to choose, as the end of a sentence."""
    names = [_quoted(name) for name in installed[:_NAMED_MODELS]] + ["…"] * (len(installed) > _NAMED_MODELS)
    return f", or choose one that is there with --model ({', '.join(names)})" if names else ""


def _quoted(said: str) -> str:
    """A server's own words, or a library's, as part of a sentence: on one line and printable anywhere."""
    words = " ".join("".join(char if char.isprintable() else " " for char in said).split()).rstrip(".")
    return words if len(words) <= _QUOTED_CHARACTERS else f"{words[:_QUOTED_CHARACTERS]}…"
