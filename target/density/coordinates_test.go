package density

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// TestLikelihoodAtWall: ln π of the target may be highest at a wall; of what is learned it falls
// towards it as the weight that is left does.
func TestLikelihoodAtWall(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	cfg := configure(t, RealsDefinition, "paper", "target.dim=1", "target.parameters={}", "target.expression=12*x[0]", "target.support=[[0,1]]",
		"generator.kind=mixture", "generator.components=1", "generator.depth=0", "training.optimizer.weight_decay=0", "loss.kind=balance")
	s, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	x := []float32{0.9, 0.99, 0.9999}
	values := make([]float64, len(x)*len(s.(*system).names))
	_, logs, err := s.(*system).Likelihoods(values, params, s.(*system).Formats()[0].Name, asm.Bytes(x))
	require.NoError(t, err)
	for i, v := range x {
		want := 12*float64(v) + math.Log(float64(v)*(1-float64(v)))
		require.InDelta(t, want-12*0.9-math.Log(0.09), logs[i]-logs[0], 1e-3)
	}
	require.Less(t, logs[2], logs[0])
}

// TestInside: however far out on the line, a state is between its bounds and on none, so
// that ln π is asked for inside alone.
func TestInside(t *testing.T) {
	bound := func(v float64) *float64 { return &v }
	for _, pair := range [][2]*float64{
		{bound(0), nil}, {nil, bound(0)}, {bound(0.1), nil}, {nil, bound(0.3)}, {bound(-1e9), nil},
		{bound(0), bound(1)}, {bound(-0.1), bound(0.7)}, {bound(1), bound(1.000001)},
	} {
		c := newChart(1, 1)
		require.NoError(t, c.bounds([][2]*float64{pair}))
		for y := -1000.0; y <= 1000; y += 0.37 {
			x, volume := []float32{0}, []float64{0}
			c.place(x, volume, []float32{float32(y)}, nil)
			require.True(t, pair[0] == nil || float64(x[0]) > *pair[0], y)
			require.True(t, pair[1] == nil || float64(x[0]) < *pair[1], y)
		}
	}
}
