#!/bin/bash
# A one-machine SLURM with eight declared GPUs for the tests: tests/slurm/up.sh DIR (as root).
# The GPUs are character devices that lead nowhere; SLURM only counts and assigns them. Partition
# `urgent` preempts partition `gpu`, whose jobs are requeued after a grace of 15 seconds.
set -euo pipefail
dir=${1:?usage: up.sh DIR}
host=$(hostname -s)
mkdir -p "$dir"/{state,spool,log,dev}
cat >"$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.log
SlurmctldParameters=preempt_send_user_signal
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
ReturnToService=2
KillWait=5
MinJobAge=600
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 Sockets=1 CoresPerSocket=64 ThreadsPerCore=1 RealMemory=400000 Gres=gpu:8 State=UNKNOWN
PartitionName=gpu Nodes=$host Default=YES MaxTime=INFINITE State=UP PriorityTier=10 GraceTime=15
PartitionName=urgent Nodes=$host MaxTime=INFINITE State=UP PriorityTier=100
CONF
for i in 0 1 2 3 4 5 6 7; do [ -e "$dir/dev/gpu$i" ] || mknod "$dir/dev/gpu$i" c 1 3; done
echo "NodeName=$host Name=gpu File=$dir/dev/gpu[0-7]" >"$dir/gres.conf"

export SLURM_CONF=$dir/slurm.conf
if ! (munge -n | unmunge) >/dev/null 2>&1; then
  [ -s /etc/munge/munge.key ] || mungekey --create
  mkdir -p /run/munge /var/log/munge
  chown munge: /run/munge /var/log/munge /etc/munge/munge.key
  chmod 755 /run/munge
  runuser -u munge -- /usr/sbin/munged
fi
slurmctld -c
for _ in $(seq 50); do [ -s "$dir/slurmctld.pid" ] && break; sleep 0.1; done
kill -0 "$(cat "$dir/slurmctld.pid")" || { tail -3 "$dir/log/slurmctld.log"; exit 1; }
timeout 20 slurmd -N "$host"
for _ in $(seq 100); do
  sinfo -h -o %T 2>/dev/null | grep -qE 'idle|mixed' && exit 0
  sleep 0.1
done
echo "SLURM did not come up" >&2
tail -3 "$dir/log/slurmctld.log" "$dir/log/slurmd.log" >&2
exit 1
