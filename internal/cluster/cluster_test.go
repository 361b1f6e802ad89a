package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type environment map[string]string

func (e environment) get(key string) string { return e[key] }

func TestStep(t *testing.T) {
	for name, c := range map[string]struct {
		env      environment
		part     Part
		launcher string
		err      string
	}{
		"alone":           {part: Part{0, 1}},
		"srun":            {env: environment{"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}, part: Part{2, 4}, launcher: "srun"},
		"a batch shell":   {env: environment{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, part: Part{0, 1}},
		"srun -n 1":       {env: environment{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, part: Part{0, 1}},
		"Open MPI":        {env: environment{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, part: Part{1, 2}, launcher: "mpirun"},
		"mpirun in srun":  {env: environment{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, part: Part{1, 2}, launcher: "mpirun"},
		"MPICH":           {env: environment{"PMI_RANK": "3", "PMI_SIZE": "4"}, part: Part{3, 4}, launcher: "mpiexec"},
		"no number":       {env: environment{"PMI_RANK": "x", "PMI_SIZE": "4"}, err: `PMI_RANK="x" is no number`},
		"no number, size": {env: environment{"PMI_RANK": "1", "PMI_SIZE": ""}, part: Part{0, 1}},
		"no number of":    {env: environment{"PMI_RANK": "1", "PMI_SIZE": "x"}, err: `PMI_SIZE="x" is no number`},
		"before":          {env: environment{"PMI_RANK": "-1", "PMI_SIZE": "4"}, err: "PMI_RANK and PMI_SIZE: part -1 does not exist among 4"},
		"outside":         {env: environment{"PMI_RANK": "4", "PMI_SIZE": "4"}, err: "part 4 does not exist among 4"},
	} {
		t.Run(name, func(t *testing.T) {
			p, launcher, err := Step(c.env.get)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.part, p)
			require.Equal(t, c.launcher, launcher)
		})
	}
}

func TestShard(t *testing.T) {
	array := func(id, lo, step, count string) environment {
		return environment{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": lo, "SLURM_ARRAY_TASK_STEP": step, "SLURM_ARRAY_TASK_COUNT": count}
	}
	p, err := Shard(array("7", "1", "2", "4").get)
	require.NoError(t, err)
	require.Equal(t, Part{3, 4}, p)

	env := array("5", "5", "", "3")
	env["SLURM_PROCID"], env["SLURM_STEP_NUM_TASKS"] = "1", "2"
	p, err = Shard(env.get)
	require.NoError(t, err)
	require.Equal(t, Part{1, 6}, p)
	env["SLURM_ARRAY_TASK_ID"] = "7"
	p, err = Shard(env.get)
	require.NoError(t, err)
	require.Equal(t, Part{5, 6}, p)

	_, err = Shard(array("9", "1", "1", "4").get) // --array=1-3,9
	require.ErrorContains(t, err, "part 8 does not exist among 4")
	for step, want := range map[string]string{"2": "task 4 of the array that begins with 1 is not one of every 2", "0": "task 4 of the array that begins with 1 is not one of every 0"} {
		_, err = Shard(array("4", "1", step, "4").get)
		require.EqualError(t, err, want)
	}
	p, err = Shard(environment{"PMI_RANK": "3", "PMI_SIZE": "4"}.get)
	require.NoError(t, err)
	require.Equal(t, Part{3, 4}, p, "without an array")
	env["SLURM_PROCID"] = "x"
	_, err = Shard(env.get)
	require.EqualError(t, err, `SLURM_PROCID="x" is no number`)
	_, err = Shard(array("4", "", "2", "4").get)
	require.ErrorContains(t, err, `SLURM_ARRAY_TASK_MIN=""`)
}
