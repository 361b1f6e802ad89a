#!/bin/bash
#SBATCH --job-name=revgen-sample --ntasks=2 --cpus-per-task=1 --time=00:10:00 --output=%x-%j.log
# Every task writes its part of one sample: part-0.npy, part-1.npy, …, one after
# another the same bits as one task would write.
#
#   sbatch sample.sh run -n 1e9
srun revgen sample "$@" --shard auto -o part-%t.npy
