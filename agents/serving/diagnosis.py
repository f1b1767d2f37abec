"""Why a vLLM server did not start or died, read from its log, with the remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """A likely cause: what a line of the log says, in our words, and what to do."""

    pattern: str
    cause: str
    remedy: str


# Order matters: the first that matches wins, so a specific cause stands before a general one.
CAUSES = (
    Cause(
        r"[Aa]ddress already in use",
        "the port is taken",
        "start again: a new port is chosen each time",
    ),
    Cause(
        r"GatedRepoError|gated repo|Access to model .+ is restricted|401 Client Error",
        "the model is gated",
        "accept its licence on its page and set HF_TOKEN",
    ),
    Cause(
        r"RevisionNotFoundError|Invalid rev id",
        "the model has no such revision",
        "correct model.server.revision",
    ),
    Cause(
        r"RepositoryNotFoundError|is not a valid model identifier|404 Client Error",
        "there is no model of that name",
        "correct model.server.model",
    ),
    Cause(
        r"LocalEntryNotFoundError|couldn't connect to|OfflineModeIsEnabled"
        r"|Cannot find an appropriate cached snapshot",
        "the weights are not in the cache and the hub is out of reach",
        "download them once where there is a network: hf download MODEL --revision REVISION",
    ),
    Cause(
        r"does not recognize this architecture|architectures .+ (?:are|is) not supported"
        r"|has no vLLM implementation|Unrecognized configuration class",
        "this vLLM does not know the model's architecture",
        "install a newer vLLM, or set model.server.executable to one",
    ),
    Cause(
        r"Bfloat16 is only supported on GPUs with compute capability",
        "this card has no bfloat16 (Turing or older)",
        "set model.server.dtype=half",
    ),
    Cause(
        r"out of resource: shared memory",
        "an attention kernel needs more shared memory than this card has (Gemma 4 on Turing)",
        "use an Ampere or newer card; see slurm/README.md",
    ),
    Cause(
        r"driver on your system is too old|driver version is insufficient"
        r"|no kernel image is available|libcudart\.so|libcudnn|forward compatibility was attempted"
        r"|CUDA error: unsupported toolchain|undefined symbol",
        "wrong CUDA: the installed vLLM does not fit this driver or card",
        "install a vLLM built for the driver's CUDA version (nvidia-smi shows it)",
    ),
    Cause(
        r"No CUDA GPUs are available|Failed to infer device type|Found no NVIDIA driver"
        r"|libcuda\.so\.1: cannot open|no CUDA-capable device|CUDA_ERROR_NO_DEVICE",
        "no GPU is visible",
        "run on a GPU node (SLURM: --gres=gpu:1) and check CUDA_VISIBLE_DEVICES",
    ),
    Cause(
        r"less than desired GPU memory utilization",
        "another process holds memory of this GPU",
        "free the card, or lower model.server.gpu_memory_utilization",
    ),
    Cause(
        r"No available memory for the cache blocks|KV cache is needed, which is larger"
        r"|larger than the maximum number of tokens that can be stored in KV cache"
        r"|larger than the available KV cache memory",
        "out of memory: the weights leave too little for the KV cache",
        "lower model.server.max_model_len or max_num_seqs; see slurm/README.md",
    ),
    Cause(
        r"CUDA out of memory|OutOfMemoryError|CUDA_ERROR_OUT_OF_MEMORY|Cannot allocate memory",
        "out of memory",
        "lower model.server.max_model_len or gpu_memory_utilization; see slurm/README.md",
    ),
    Cause(
        r"No space left on device",
        "the disk is full",
        "free space in the weight cache (HF_HOME) and in TMPDIR",
    ),
    Cause(
        r"unrecognized arguments|invalid choice|error: argument",
        "this vLLM does not know a flag it was given",
        "compare model.server.extra_args and the vLLM version (0.32 and 0.33 are known)",
    ),
)

_NO_COMMAND = Cause(
    "", "the command cannot be run", "correct model.server.executable (a vllm on PATH or its path)"
)
_KILLED = Cause(
    "",
    "killed (SIGKILL): most likely the machine ran out of memory",
    "ask for more memory (SLURM: --mem)",
)
_UNKNOWN = Cause("", "cause not recognised", "read the log")


def diagnose(log: str, exit_code: int | None) -> Cause:
    """The likely cause, from the log and the exit code (None: it still runs)."""
    for cause in CAUSES:
        if re.search(cause.pattern, log):
            return cause
    return {127: _NO_COMMAND, 137: _KILLED}.get(exit_code or 0, _UNKNOWN)
