"""Errors of model servers and connections. Each message is one sentence for the user, with a remedy.

Names of settings are separate parts of a message (`messages.Text`), because each user interface spells settings
differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from adacoder.domain import AdaCoderError
from adacoder.messages import Named, Remedy, Text
from adacoder.models.window import Bound

MODEL = Named("model")
HOST = Named("ollama.host")
BASE_URL = Named("openai.baseUrl")
CONTEXT_TOKENS = Named("contextTokens")
ALLOW_CLOUD = Named("allowCloud")
TOKEN_TIMEOUT = Named("tokenTimeout")
FIRST_TOKEN_TIMEOUT = Named("firstTokenTimeout")
REPLY_TIMEOUT = Named("replyTimeout")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model server, with phrases for error messages about such servers."""

    name: str
    write: str
    """Phrase that tells the user how to write a server's address."""
    start: Text
    """Phrase that tells the user how to start a server."""
    name_it: Text
    """Settings that contain a server's address."""
    get: str
    """Phrase that tells the user how to get a model. `{model}` stands for the model's name."""
    pulls: bool
    """True if the server can download models."""
    look: str
    """Phrase that tells the user how to check what a server does."""
    free: str
    """Phrase that tells the user how to unload a model that does not answer; empty if users cannot unload models."""
    key: str
    """Name of the environment variable with the API key."""


OLLAMA = Kind(
    "Ollama",
    write="write HOST:PORT or http://HOST:PORT (or https)",
    start=Text(Remedy("start", "start it with `ollama serve`"), ", or name another with ", HOST, " or OLLAMA_HOST"),
    name_it=Text("with ", HOST, " or OLLAMA_HOST"),
    get="run `ollama pull {model}`",
    pulls=True,
    look="check it with `ollama ps`",
    free="unload the model with `ollama stop {model}` if it is loaded and not in use",
    key="OLLAMA_API_KEY",
)
OPENAI = Kind(
    "OpenAI-compatible",
    write="write http://HOST:PORT/v1 (or https), without a user or a password",
    start=Text("start it, or name another with ", BASE_URL),
    name_it=Text("with ", BASE_URL, " (most end in /v1)"),
    get="serve it there",
    pulls=False,
    look="check its log",
    free="",
    key="OPENAI_API_KEY",
)
_WIDEN = {
    Bound.SETTING: Text("raise ", CONTEXT_TOKENS, ", or choose a model with a larger window"),
    Bound.UNTOLD: Text("start the server with a larger window, and set ", CONTEXT_TOKENS, " to that size"),
    Bound.SERVER: Text("start the server with a larger window, or choose another model with ", MODEL),
    Bound.MODEL: Text("the model supports no larger window, so choose another model with ", MODEL),
}
"""End of a sentence that tells the user how to get a larger context window."""
_QUOTED_CHARACTERS = 200
"""Maximum length of a quotation from a server, in characters."""
_NAMED_MODELS = 12
"""Maximum number of models to name in an error."""


class ModelError(AdaCoderError):
    """A model could not reply. The message says what to do."""


class BadHost(ModelError):
    """The text is not the address of a server."""

    def __init__(self, host: str, kind: Kind = OLLAMA) -> None:
        super().__init__(f"'{host}' is not an address of an {kind.name} server: {kind.write}.")


class Nameless(ModelError):
    """A model id names a kind of server, but no model."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"'{kind}:' needs the name of a model: write {kind}:{what} with ", MODEL, ".")


class NoBaseUrl(ModelError):
    """The address of the OpenAI-compatible server is missing."""

    def __init__(self) -> None:
        what = "No OpenAI-compatible server is named: give its address, such as http://localhost:8000/v1, with "
        super().__init__(what, BASE_URL, ".")


class OtherScheme(ModelError):
    """The address has the wrong scheme: `https` for an http server, or the reverse."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        scheme, _, rest = url.partition("://")
        other = "http" if scheme == "https" else "https"
        what = f"The server at {url} speaks {other}, not {scheme}: write {other}://{rest} "
        super().__init__(what, kind.name_it, ".")


class NoTls(ModelError):
    """A server accepted the connection for an https address, but did not answer with TLS."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        plain = f"http://{url.partition('://')[2]}"
        what = f"The server at {url} does not answer https: if it speaks http, write {plain} "
        super().__init__(what, kind.name_it, ".")


class NotRunning(ModelError):
    """No server answers at the address."""

    def __init__(self, host: str, kind: Kind = OLLAMA) -> None:
        super().__init__(f"No {kind.name} server answers at {host}: ", kind.start, ".")


class NotOnWindows(NotRunning):
    """AdaCoder runs in WSL, and no server answers in WSL or on Windows."""

    def __init__(self, host: str) -> None:
        what = f"No Ollama server answers here or on Windows, at {host}: start it with `ollama serve` here,"
        what += " or on Windows with OLLAMA_HOST=0.0.0.0 set there, or name another with "
        ModelError.__init__(self, what, HOST, ".")


class CannotConnect(ModelError):
    """Something on this machine prevents a connection."""

    def __init__(self, host: str, what: str, kind: Kind = OLLAMA) -> None:
        super().__init__(
            f"No connection to {host} is possible ({_quoted(what)}): check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY,"
            f" NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR and {kind.key} in the environment."
        )


class NoModel(ModelError):
    """The user named no model, and no installed model is suitable."""

    def __init__(self, host: str) -> None:
        what = f"No model is named, and no code model is installed at {host}"
        super().__init__(f"{what}: ", _get("qwen2.5-coder:7b", OLLAMA), ", or name a model with ", MODEL, ".")


class ModelMissing(ModelError):
    """The server does not have the model."""

    def __init__(self, model: str, host: str, installed: Sequence[str] = (), kind: Kind = OLLAMA) -> None:
        what = f"The server at {host} has no model '{model}': "
        super().__init__(what, _get(model, kind), _or_choose(installed), ".")


class NotPulled(ModelError):
    """The server could not download the model."""

    def __init__(self, model: str, said: str) -> None:
        if "file does not exist" in said:
            what = f"Ollama's library has no model '{_quoted(model)}': see https://ollama.com/library."
        else:
            what = f"Ollama could not download '{_quoted(model)}' ({_quoted(said)}): try again, and see its log."
        super().__init__(what)


class BadName(ModelError):
    """The name is not valid for a model."""

    def __init__(self, model: str, installed: Sequence[str] = ()) -> None:
        what = f"'{_quoted(model)}' is not the name of a model: write it as `ollama list` shows it"
        super().__init__(what, _or_choose(installed), ".")


class CloudRefused(ModelError):
    """The model runs on Ollama's servers, and the user's settings do not allow such models."""

    def __init__(self, model: str) -> None:
        what = f"The model '{model}' runs on Ollama's servers, so your code would leave this machine"
        super().__init__(what, ": choose a local model with ", MODEL, ", or allow it with ", ALLOW_CLOUD, ".")


class CloudDisabled(ModelError):
    """The model runs on Ollama's servers, and the local server is configured to refuse such models."""

    def __init__(self, model: str) -> None:
        what = f"The model '{model}' runs on Ollama's servers, which your server has switched off: choose a local model"
        super().__init__(what, " with ", MODEL, ", or start the server without OLLAMA_NO_CLOUD.")


class LeavesNetwork(ModelError):
    """The server is outside of private networks, and the user's settings do not allow such servers."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        what = f"The server at {url} is outside your network, so your code would leave it"
        super().__init__(what, ": name a private server ", kind.name_it, ", or allow it with ", ALLOW_CLOUD, ".")


class NoChat(ModelError):
    """The model cannot chat."""

    def __init__(self, model: str) -> None:
        super().__init__(f"The model '{model}' cannot answer chats: choose another with ", MODEL, ".")


class Denied(ModelError):
    """The server requires credentials, or refused them."""

    def __init__(self, host: str, status: int, kind: Kind = OLLAMA) -> None:
        super().__init__(
            f"The server at {host} denies access (HTTP {status}): set {kind.key},"
            " which is sent only to a host that you named, over https or on this machine."
        )


class ContextOverflow(ModelError):
    """The prompt is larger than the model's context window."""

    def __init__(self, what: str, bound: Bound) -> None:
        """`what` is a clause such as "The prompt does not fit"."""
        super().__init__(f"{what}: ", _WIDEN[bound], ".")

    @classmethod
    def by(cls, model: str, bound: Bound = Bound.SETTING) -> Self:
        """Return the error for a prompt that is too large for `model`."""
        return cls(f"The prompt does not fit into the context window of '{model}'", bound)


class OutOfMemory(ModelError):
    """The server has too little memory for the model."""

    def __init__(self, model: str, said: str) -> None:
        what = f"There is not enough memory to run '{model}' ({_quoted(said)})"
        super().__init__(what, ": choose a smaller model with ", MODEL, ", or lower ", CONTEXT_TOKENS, ".")


class Busy(ModelError):
    """The server's queue is full."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The server at {host} has too many requests waiting: try again later.")


class Loading(ModelError):
    """The server is still loading the model."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The server at {host} is still loading its model: try again later.")


class Stalled(ModelError):
    """The server sent nothing before a timeout."""

    def __init__(
        self, host: str, seconds: float, kind: Kind = OLLAMA, setting: Named = TOKEN_TIMEOUT, model: str = ""
    ) -> None:
        """`setting` names the timeout that the user can increase. `model` is the model that should reply, if any."""
        free = f" {kind.free.format(model=model)}," if kind.free and model else ""
        what = f"The server at {host} has sent nothing for {seconds:g} s: {kind.look},{free} wait longer with "
        super().__init__(what, setting, ", or choose a smaller model with ", MODEL, ".")


class TooSlow(ModelError):
    """The reply took longer than the user's limit."""

    def __init__(self, model: str, seconds: float) -> None:
        what = f"The reply of '{model}' was not complete after {seconds:g} s: raise "
        super().__init__(what, REPLY_TIMEOUT, ", or choose a smaller model with ", MODEL, ".")


class OnlyThought(ModelError):
    """The model wrote thoughts, but no reply."""

    def __init__(self, model: str, *, ran_out: bool = True) -> None:
        """`ran_out` is True if the model reached its token limit, so that a larger window might help."""
        if ran_out:
            what = f"The model '{model}' spent all its tokens on thinking and wrote no reply"
            remedy = Text("raise ", CONTEXT_TOKENS)
        else:
            what = f"The server sent thoughts of the model '{model}', but no reply"
            remedy = Text("switch off thinking on the server")
        super().__init__(what, ": ", remedy, ", or choose a model that does not think with ", MODEL, ".")


class BadReply(ModelError):
    """The server's answer is not a complete reply."""

    def __init__(self, host: str, what: str) -> None:
        super().__init__(
            f"The server at {host} gave no usable reply ({_quoted(what)}):"
            " try again, and see its log if it happens again."
        )


class NothingCame(BadReply):
    """The stream ended before its first part. The prompt may be too large for a context window of unknown size."""

    def __init__(self, host: str) -> None:
        what = f"The server at {host} ended the reply before it began, as some do with a prompt that does not fit into"
        ModelError.__init__(self, what, " their context window: ", _WIDEN[Bound.UNTOLD], ", or see its log.")


class OtherServer(BadReply):
    """A server of another kind answers at the address."""

    def __init__(self, url: str, kind: Kind = OLLAMA) -> None:
        what = f"The server at {url} is not an {kind.name} server: name the address of one "
        ModelError.__init__(self, what, kind.name_it, ".")


def _get(model: str, kind: Kind) -> Text:
    """Return the end of a sentence that tells the user how to get a model."""
    words = kind.get.format(model=model)
    return Text(Remedy("pull", words, model) if kind.pulls else words)


def _or_choose(installed: Sequence[str]) -> Text:
    """Return the end of a sentence that suggests other models."""
    names = [_quoted(name) for name in installed[:_NAMED_MODELS]] + ["…"] * (len(installed) > _NAMED_MODELS)
    return Text(", or choose an available one with ", MODEL, f" ({', '.join(names)})") if names else Text()


def _quoted(said: str) -> str:
    """Shorten a server's or library's message to one line of printable characters."""
    words = " ".join("".join(char if char.isprintable() else " " for char in said).split()).rstrip(".")
    return words if len(words) <= _QUOTED_CHARACTERS else f"{words[:_QUOTED_CHARACTERS]}…"
