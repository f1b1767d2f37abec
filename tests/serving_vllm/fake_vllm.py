#!/usr/bin/env python3
"""Stands in for `vllm` where only its life and its log matter; FAKE_VLLM says what it does.

serve: answers /health, /version, /v1/models, and has a child, whose id is in FAKE_CHILD; GET /die
ends it. refuse:TEXT prints TEXT and exits 1. silent: never answers.
"""

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

arguments = sys.argv[1:]
mode = os.environ["FAKE_VLLM"]


def option(name: str) -> str:
    return arguments[arguments.index(name) + 1]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/die":
            print("CUDA out of memory. Tried to allocate 2.00 GiB", flush=True)
            os._exit(9)
        answers = {
            "/health": {},
            "/version": {"version": "0.0-fake"},
            "/v1/models": {"data": [{"id": option("--served-model-name")}]},
        }
        body = json.dumps(answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


print("started with", *arguments, flush=True)
if mode.startswith("refuse:"):
    print(mode.removeprefix("refuse:"), flush=True)
    sys.exit(1)
if mode == "silent":
    time.sleep(600)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
(Path(os.environ["TMPDIR"]) / "scratch-file").touch()
with Path(os.environ["FAKE_CHILD"]).open("a") as file:
    file.write(f"{child.pid}\n")
HTTPServer(("127.0.0.1", int(option("--port"))), Handler).serve_forever()
