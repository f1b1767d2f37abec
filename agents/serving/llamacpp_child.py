"""The process that runs llama.cpp's server: python -m agents.serving.llamacpp_child OPTIONS

Prints its address as one line `LISTENING http://127.0.0.1:PORT`. It lives as long as the pipe at
its standard input is open, so it dies with its parent, however that ends.
"""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--alias", required=True)
    for name in ("--slots", "--context", "--threads", "--cache-mib"):
        parser.add_argument(name, type=int, required=True)
    options = parser.parse_args()

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.weights
    params.model_alias = {options.alias}
    params.n_parallel = options.slots
    params.n_ctx = options.context * options.slots  # llama.cpp divides it among the slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.cache_ram_mib = options.cache_mib
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print("LISTENING", server.listening_address, flush=True)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads that pipe any more
    sys.stdin.buffer.read()
    os._exit(0)  # the server's threads would keep an ordinary exit waiting


if __name__ == "__main__":
    main()
