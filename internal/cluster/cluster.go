// Package cluster tells from the environment which of several processes this one
// is: a task of a Slurm step or array, or a rank that mpirun started.
package cluster

import (
	"fmt"
	"strconv"
)

// A Part is number Index of Count processes that share a work.
type Part struct{ Index, Count int }

// A step is what a launcher says of the processes that it starts side by side.
type step struct{ launcher, rank, size string }

// Slurm's own SLURM_NTASKS will not do: the batch shell has it, as rank 0, and is
// no task.
var steps = []step{
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	{"mpiexec", "PMI_RANK", "PMI_SIZE"},
}

// Step returns the process's place among those that one launcher started side by
// side, and the launcher's name; 0 of 1 and "" for a process that stands alone.
func Step(getenv func(string) string) (p Part, launcher string, err error) {
	for _, s := range steps {
		if getenv(s.rank) == "" || getenv(s.size) == "" {
			continue
		}
		p, err := part(getenv, s.rank, s.size)
		if err != nil || p.Count > 1 {
			return p, s.launcher, err
		}
	}
	return Part{0, 1}, "", nil
}

// Shard returns the process's place among all that share a work: the tasks of a
// Slurm array, each of which may be a step of several.
func Shard(getenv func(string) string) (Part, error) {
	p, _, err := Step(getenv)
	if err != nil || getenv("SLURM_ARRAY_TASK_ID") == "" {
		return p, err
	}
	var n [4]int
	for i, key := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"} {
		text := getenv(key)
		if text == "" && key == "SLURM_ARRAY_TASK_STEP" {
			text = "1"
		}
		if n[i], err = strconv.Atoi(text); err != nil {
			return Part{}, fmt.Errorf("%s=%q is no number", key, text)
		}
	}
	if n[2] < 1 || (n[0]-n[1])%n[2] != 0 {
		return Part{}, fmt.Errorf("task %d of the array that begins with %d is not one of every %d", n[0], n[1], n[2])
	}
	array, err := Part{(n[0] - n[1]) / n[2], n[3]}.check("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
	return Part{array.Index*p.Count + p.Index, array.Count * p.Count}, err
}

func part(getenv func(string) string, rank, size string) (p Part, err error) {
	if p.Index, err = strconv.Atoi(getenv(rank)); err != nil {
		return p, fmt.Errorf("%s=%q is no number", rank, getenv(rank))
	}
	if p.Count, err = strconv.Atoi(getenv(size)); err != nil {
		return p, fmt.Errorf("%s=%q is no number", size, getenv(size))
	}
	return p.check(rank, size)
}

// check reports a part that does not exist: of an array with gaps, for one.
func (p Part) check(rank, size string) (Part, error) {
	if p.Index < 0 || p.Index >= p.Count {
		return p, fmt.Errorf("%s and %s: part %d does not exist among %d", rank, size, p.Index, p.Count)
	}
	return p, nil
}
