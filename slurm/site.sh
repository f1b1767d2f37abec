# The one file to edit for your cluster. A value set in the environment of sbatch wins over this file.

: "${WMT_PARTITION:=}"           # partition, empty for the cluster's default
: "${WMT_ACCOUNT:=}"             # account to charge, empty if there is none
: "${WMT_TIME:=24:00:00}"        # walltime of a task; one that needs longer is requeued and goes on
: "${WMT_MAX_RESTARTS:=50}"       # a task restarted so often is not requeued again: it may get nowhere
: "${WMT_AT_ONCE:=8}"            # tasks (GPUs) at the same time
: "${WMT_CELLS_PER_TASK:=1}"     # more: they run in turn and share one server while the model is the same
: "${WMT_PRICE_PER_GPU_HOUR:=}"  # for the cost in ledger.json, empty for none
: "${WMT_OVERRIDES:=}"           # added to every cell, e.g. "concurrency=8 model.server.dtype=half"
: "${WMT_PYTHON:=.venv/bin/python}"
: "${HF_HOME:=$HOME/.cache/huggingface}" # weights; a folder that all nodes see saves downloads
export HF_HOME

# What a shell needs on a compute node before Python and vLLM run.
wmt_modules() {
  : # module load cuda/13.0
}
