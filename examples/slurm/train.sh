#!/bin/bash
#SBATCH --job-name=revgen-train --nodes=1 --ntasks=1 --cpus-per-task=2 --time=02:00:00
#SBATCH --signal=USR1@120 --requeue --open-mode=append --output=%x-%j.log
# Trains to the end, however often the job runs out of time or is moved: two
# minutes before the end of its time the run writes a checkpoint and exits with
# 75, and the job queues again, where the same command continues.
#
#   sbatch train.sh ising --preset best --set target.l=16 -o run
srun revgen train "$@"
rc=$?
if [ $rc = 75 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $rc
