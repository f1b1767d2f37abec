#!/bin/bash
# Stop the SLURM of up.sh: tests/slurm/down.sh DIR
dir=${1:?usage: down.sh DIR}
export SLURM_CONF=$dir/slurm.conf
scancel --user=root --quiet 2>/dev/null
for _ in $(seq 100); do [ -z "$(squeue -h 2>/dev/null)" ] && break; sleep 0.1; done
for name in slurmd slurmctld; do [ ! -s "$dir/$name.pid" ] || kill "$(cat "$dir/$name.pid")"; done
