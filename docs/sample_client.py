"""A language client without an editor. It asks the server to write a function, and writes the answer into the file.

    python docs/sample_client.py FILE FUNCTION [SETTINGS]

SETTINGS is JSON, such as '{"model": "qwen2.5-coder:7b"}'. The exit code is 0 if the function is verified and written.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    message: dict[str, Any] = json.loads(stream.read(length))
    return message


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    lines = text.split("\n")

    def offset(at: dict[str, int]) -> int:
        return sum(len(line) + 1 for line in lines[: at["line"]]) + at["character"]

    spans = [(offset(edit["range"]["start"]), offset(edit["range"]["end"]), edit["newText"]) for edit in edits]
    for start, end, new in sorted(spans, reverse=True):  # from the end, so that earlier offsets stay valid
        text = text[:start] + new + text[end:]
    return text


def main(file: str, function: str, settings: str = "{}") -> int:
    path = Path(file).absolute()
    command = [sys.executable, "-m", "adacoder", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        to, by = server.stdin, server.stdout
        assert to is not None
        assert by is not None

        def ask(number: int, method: str, params: object = None) -> dict[str, Any]:
            send(to, {"id": number, "method": method, "params": params})
            while (message := receive(by)).get("id") != number:
                print(message.get("params"), file=sys.stderr)  # ignore progress and messages
            return message

        # Positions count characters, as in Python. The client declares nothing else, so the server sends it no
        # requests.
        declared = {"general": {"positionEncodings": ["utf-32"]}}
        at = {"processId": None, "rootUri": path.parent.as_uri(), "initializationOptions": json.loads(settings)}
        ask(1, "initialize", {**at, "capabilities": declared})
        send(to, {"method": "initialized", "params": {}})
        target = {"textDocument": {"uri": path.as_uri()}, "qualifiedName": function}
        answer = ask(2, "adacoder/run", {**target, "mode": "generate", "apply": False, "workDoneToken": "shown"})
        ask(3, "shutdown")
        send(to, {"method": "exit"})
    result = answer.get("result") or {"status": "error", "summary": answer["error"]["message"]}
    print(result["summary"])
    if result["status"] != "verified":
        return 1
    path.write_bytes(edited(path.read_bytes().decode(), result["edits"]).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
