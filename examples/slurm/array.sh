#!/bin/bash
#SBATCH --job-name=revgen-array --nodes=1 --ntasks=1 --cpus-per-task=1 --time=02:00:00
#SBATCH --array=0-9 --signal=USR1@120 --requeue --open-mode=append --output=%x-%A-%a.log
# One run a task, over a grid of inverse temperatures: 0.30, 0.31, … A task that
# runs out of time queues again by itself.
beta=$(awk -v i="$SLURM_ARRAY_TASK_ID" 'BEGIN { printf "%.2f", 0.30 + 0.01 * i }')
srun revgen train ising --set target.beta="$beta" -o "beta-$beta" "$@"
rc=$?
if [ $rc = 75 ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit $rc
