"""A language server for the scripts in this folder. It prints everything that it sends."""

import io
import json
import logging

from pygls.lsp.server import LanguageServer

logging.disable()
server = LanguageServer("demo", "1")
start = {"id": 0, "method": "initialize", "params": {"capabilities": {}}}


class _Out(io.BytesIO):
    def write(self, data):
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        error = message.get("error", {}).get("message")
        if message.get("id") != 0:
            print(message.get("id"), message.get("method"), message.get("params", message.get("result", error)))

    def close(self):
        pass


def receive(*messages):
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    framed = [b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies]
    server.start_io(io.BytesIO(b"".join(framed)), _Out())
