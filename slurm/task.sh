# One array task: run its cell(s), and ask to be requeued when time is up. Sourced by the sbatch
# files as `source slurm/task.sh configs/grid/NAME.yaml` from the folder of the repository.

set -u
[ -e slurm/site.sh ] || { echo "slurm/site.sh is not there: restore it from the repository" >&2; exit 2; }
source slurm/site.sh
wmt_modules
command -v "$WMT_PYTHON" >/dev/null ||
  { echo "$WMT_PYTHON cannot be run: set WMT_PYTHON in slurm/site.sh" >&2; exit 2; }
set -f # the brackets of an override such as dataset.ids=[a,b] are no pattern

# Device numbers as NVML and nvidia-smi count them; output at once, in the order it happens.
export CUDA_DEVICE_ORDER=PCI_BUS_ID PYTHONUNBUFFERED=1

stopping=
child=
# SLURM sends USR1 before the walltime ends (--signal) and TERM when it preempts or requeues. Either
# way run.py gets SIGTERM: it finishes its writes, stops its server and ends with 143.
trap 'stopping=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' USR1 TERM

arguments=$("$WMT_PYTHON" -m scripts.cells "$1" --task "$SLURM_ARRAY_TASK_ID" \
  --per-task "$WMT_CELLS_PER_TASK" $WMT_OVERRIDES) || exit
mapfile -t arguments <<<"$arguments"
[ -z "$WMT_PRICE_PER_GPU_HOUR" ] || arguments+=("price_per_gpu_hour=$WMT_PRICE_PER_GPU_HOUR")
task="${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
restarts=${SLURM_RESTART_COUNT:-0}
echo "task $task, start $restarts, $(hostname -s)," \
  "CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES-unset}: run.py ${arguments[*]}"

code=143
if [ -z "$stopping" ]; then
  "$WMT_PYTHON" run.py "${arguments[@]}" &
  child=$!
  [ -z "$stopping" ] || kill -TERM "$child"
  # A trapped signal ends `wait` early: wait again until the process itself has ended.
  while :; do
    wait "$child"
    code=$?
    kill -0 "$child" 2>/dev/null || break
  done
fi

if [ -n "$stopping" ] && [ "$code" -ne 0 ]; then
  trap '' USR1 TERM
  # Only a task that SLURM still counts as running needs to ask. One that it is ending already is
  # either being requeued by it, or was cancelled by somebody and stays so.
  if [ "$restarts" -ge "${WMT_MAX_RESTARTS:=50}" ]; then
    echo "task $task: stopped after $restarts restarts (WMT_MAX_RESTARTS in slurm/site.sh);" \
      "slurm/submit goes on with what is left"
  elif scontrol show job "$task" | grep -q 'JobState=RUNNING'; then
    echo "task $task: stopped, asking to be requeued"
    scontrol requeue "$task"
  else
    echo "task $task: stopped; SLURM decides what becomes of it"
  fi
fi
exit "$code"
