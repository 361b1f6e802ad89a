// Package cluster finds in the environment which of several processes this one
// is: a task of a Slurm step or array, or a rank that mpirun started.
package cluster

import (
	"fmt"
	"strconv"
)

// A Part is number Index of Count processes that divide work among them.
type Part struct{ Index, Count int }

// launchers have variables with the rank and the number of the processes that they start
// together. Slurm's SLURM_NTASKS will not do for a number: the batch shell has it too, with rank 0,
// and is no task.
var launchers = []struct{ name, rank, size string }{
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
	{"mpiexec", "PMI_RANK", "PMI_SIZE"},
}

// Step returns the process's part among those that one launcher started together, and the
// launcher's name. For a process that stands alone it returns part 0 of 1 and "".
func Step(getenv func(string) string) (p Part, launcher string, err error) {
	for _, l := range launchers {
		if getenv(l.rank) == "" || getenv(l.size) == "" {
			continue
		}
		p, err := part(getenv, l.rank, l.size)
		if err != nil || p.Count > 1 {
			return p, l.name, err
		}
	}
	return Part{0, 1}, "", nil
}

// Shard returns the process's part among all that divide work: the tasks of a
// Slurm array, each of which may be a step of several processes.
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
	id, first, step, count := n[0], n[1], n[2], n[3]
	if step < 1 || (id-first)%step != 0 {
		return Part{}, fmt.Errorf("task %d of the array that begins with %d is not one of every %d", id, first, step)
	}
	array, err := Part{(id - first) / step, count}.check("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
	return Part{array.Index*p.Count + p.Index, array.Count * p.Count}, err
}

// part returns the part that two variables name.
func part(getenv func(string) string, rank, size string) (p Part, err error) {
	if p.Index, err = strconv.Atoi(getenv(rank)); err != nil {
		return p, fmt.Errorf("%s=%q is no number", rank, getenv(rank))
	}
	if p.Count, err = strconv.Atoi(getenv(size)); err != nil {
		return p, fmt.Errorf("%s=%q is no number", size, getenv(size))
	}
	return p.check(rank, size)
}

// check reports a part that does not exist, as in an array with gaps.
func (p Part) check(rank, size string) (Part, error) {
	if p.Index < 0 || p.Index >= p.Count {
		return p, fmt.Errorf("%s and %s: part %d does not exist among %d", rank, size, p.Index, p.Count)
	}
	return p, nil
}
