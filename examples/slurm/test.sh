#!/usr/bin/env bash
# Tries the templates on a Slurm of this machine alone: munge, slurmctld and slurmd
# on loopback, from the distribution (Debian: slurm-wlm munge), run by root. A job is
# stopped by its time limit, queues again by itself and ends with the bits of one
# that was never stopped; tasks of an array, parts of a sample and two ranks likewise.
#
#   examples/slurm/test.sh
set -euo pipefail
cd "$(dirname "$0")"
templates=$PWD
work=$(mktemp -d)
chmod 755 "$work"
host=$(hostname -s)
pids=()

finish() {
  local rc=$?
  [ $rc = 0 ] || tail -n 20 "$work"/*.log "$work"/jobs/*.log 2>/dev/null || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
  exit $rc
}
trap finish EXIT

# Who else uses munge here is not disturbed: this one has a key and a socket of its own.
mkdir "$work/munge" "$work/state" "$work/spool" "$work/jobs" "$work/bin"
(umask 077 && head -c 1024 /dev/urandom >"$work/munge/key")
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
  --pid-file="$work/munge/pid" --log-file="$work/munge.log" --seed-file="$work/munge/seed" &
pids+=($!)
cat >"$work/slurm.conf" <<CONF
ClusterName=revgen
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=17817
SlurmdPort=17818
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,requeue_setup_env_fail
MpiDefault=none
ReturnToService=2
KillWait=10
OverTimeLimit=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
for _ in $(seq 50); do [ -S "$work/munge/socket" ] && break; sleep 0.1; done
slurmctld -D >"$work/slurmctld.out" 2>&1 & pids+=($!)
slurmd -D -N "$host" >"$work/slurmd.out" 2>&1 & pids+=($!)
for _ in $(seq 100); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.2; done
sinfo -h -o %T | grep -q idle || { echo "the node did not come up"; exit 1; }

(cd ../.. && go build -o "$work/bin/revgen" ./cmd/revgen)
export PATH=$work/bin:$PATH
cd "$work/jobs"

# reach JOB STATE: waits for a state. A job that was requeued would wait for two
# minutes more.
reach() {
  for _ in $(seq 1500); do
    state=$(scontrol show job "$1" -o | grep -o 'JobState=[A-Z]*' | sort -u | tr '\n' ' ')
    case $state in
      "JobState=$2 ") return 0 ;;
      *FAILED*|*CANCELLED*|*NODE_FAIL*|*TIMEOUT*) break ;;
      *PENDING*) scontrol update JobId="$1" StartTime=now 2>/dev/null || true ;;
    esac
    sleep 0.2
  done
  echo "job $1 is not $2:"
  scontrol show job "$1"
  return 1
}

# Long enough to be stopped twice: a step of the paper's recipe takes some milliseconds.
long=(--preset paper --set training.steps=3000)
small=(--set evaluation.samples=2000 --set training.log_every=1 -q)
lines() { cat run/metrics.jsonl 2>/dev/null | wc -l || true; }
stops() { grep -c 'stopped at step' "revgen-train-$job.log" 2>/dev/null || true; }

echo "--- a job that is stopped twice"
revgen train ising "${long[@]}" "${small[@]}" -o whole >/dev/null
job=$(sbatch --parsable --cpus-per-task=1 "$templates/train.sh" ising "${long[@]}" "${small[@]}" -o run)
for stop in 1 2; do
  before=$(lines)
  reach "$job" RUNNING
  for _ in $(seq 600); do
    [ "$(lines)" -gt "$before" ] && break
    sleep 0.1
  done
  scancel --signal=USR1 "$job" # to its steps, as --signal=USR1@120 does
  for _ in $(seq 600); do [ "$(stops)" -ge "$stop" ] && break; sleep 0.1; done
  [ "$(stops)" = "$stop" ]
done
reach "$job" COMPLETED
cmp whole/model.rvg run/model.rvg
cmp whole/samples.npy run/samples.npy

echo "--- an array"
job=$(sbatch --parsable --array=0-2 "$templates/array.sh" --set training.steps=20 "${small[@]}")
reach "$job" COMPLETED
revgen train ising --set target.beta=0.31 --set training.steps=20 "${small[@]}" -o single >/dev/null
cmp single/model.rvg beta-0.31/model.rvg

echo "--- the parts of a sample"
job=$(sbatch --parsable --ntasks=2 "$templates/sample.sh" whole -n 1001 -q)
reach "$job" COMPLETED
revgen sample whole -n 1001 -q -o all.npy
{ tail -c +129 part-0.npy; tail -c +129 part-1.npy; } | cmp - <(tail -c +129 all.npy)

echo "--- several ranks, stopped once"
if [ "$(nproc)" -lt 2 ] || ! pkg-config --exists ompi || ! srun --mpi=list 2>&1 | grep -qw pmix; then
  echo "left out: two processors, Open MPI and Slurm's PMIx"
else
  mkdir "$work/mpi"
  (cd "$templates/../.." && CGO_ENABLED=1 go build -tags mpi -o "$work/mpi/revgen" ./cmd/revgen)
  rm -rf run
  job=$(PATH=$work/mpi:$PATH sbatch --parsable --ntasks=2 "$templates/mpi.sh" ising "${long[@]}" "${small[@]}" -t 1 -o run)
  reach "$job" RUNNING
  for _ in $(seq 600); do [ "$(lines)" -gt 0 ] && break; sleep 0.1; done
  scancel --signal=USR1 "$job"
  reach "$job" COMPLETED
  grep -q 'stopped at step' "revgen-mpi-$job.log"
  cmp whole/model.rvg run/model.rvg
fi
echo "all passed"
