#!/bin/bash
# Install SLURM and munge for the `slurm` tests (Debian or Ubuntu, as root; about half a minute).
set -euo pipefail
command -v slurmctld slurmd munged >/dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
