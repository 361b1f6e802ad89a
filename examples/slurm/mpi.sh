#!/bin/bash
#SBATCH --job-name=revgen-mpi --ntasks=4 --cpus-per-task=1 --time=02:00:00
#SBATCH --signal=USR1@120 --requeue --open-mode=append --output=%x-%j.log
# One run on several ranks, of a revgen built with -tags mpi: the same bits as on
# one, and on another number of them after it has been stopped.
#
#   sbatch mpi.sh gmm --preset paper -o run
srun --mpi="${REVGEN_SRUN_MPI:-pmix}" revgen train "$@"
rc=$?
if [ $rc = 75 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $rc
