package engine

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExplanations: which pairs of states a loss compares, word for word.
func TestExplanations(t *testing.T) {
	const form = "trained by reversibility on its log density; loss ½ E (R(s) − R(s′))² with R = ln q − ln π; pairs (s, s′)"
	for partners, want := range map[float64]string{
		0: " are two flips apart", 1: " are independent samples", 0.25: ": 75 % are two flips apart, 25 % are independent samples",
	} {
		require.Equal(t, form+want, (&Balancing{partners}).Explain("two flips"))
	}
	require.Equal(t, "trained by reversibility on pairs of samples; loss: MMD² between the laws of (s, s′) and (s′, s); s and s′ are two flips apart", ByPairs("MMD²", "two flips"))
	for n, want := range map[int]string{0: "0 flips", 1: "one flip", 2: "2 flips"} {
		require.Equal(t, want, Moves(n, "flip"))
	}
}

// TestAnnealing: β rises in a straight line for a fraction of the training, and limits are what they are said to be.
func TestAnnealing(t *testing.T) {
	a := Annealing{Anneal: 0.5, AnnealFrom: 0.25}
	for step, want := range map[int]float64{0: 0.25, 1: 0.4, 4: 0.85, 5: 1, 6: 1, 10: 1} {
		require.InDelta(t, want, a.At(step, 10), 1e-15, step)
	}
	require.Equal(t, 1., (&Annealing{AnnealFrom: 0.25}).At(0, 10))
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a    Annealing
		want string
	}{
		{Annealing{0, -7}, ""}, {Annealing{1, 1}, ""}, {Annealing{0.1, 1e-37}, ""},
		{Annealing{-0.1, 1}, "anneal: "}, {Annealing{1.1, 1}, "anneal: "}, {Annealing{nan, 1}, "anneal: "},
		{Annealing{0.1, 1.5}, "anneal_from: 1.5 is more than 1, the target itself"}, {Annealing{0.1, nan}, "anneal_from: NaN is more than 1"}, {Annealing{0.1, inf}, "anneal_from: +Inf is more than 1"},
		{Annealing{0.1, 0}, "anneal_from: 0 "}, {Annealing{0.1, -1}, "anneal_from: -1 "},
	} {
		if err := c.a.Validate(); c.want == "" {
			require.NoError(t, err, c.a)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

// TestCounts: of proposals, and the fraction of them that were accepted.
func TestCounts(t *testing.T) {
	var c Count
	require.Zero(t, c.Rate())
	c.Add(Count{Proposed: 1})
	require.Zero(t, c.Rate())
	c.Add(Count{Proposed: 7, Accepted: 2})
	require.Equal(t, Count{Proposed: 8, Accepted: 2}, c)
	require.Equal(t, 0.25, c.Rate())
	require.Equal(t, 1., Count{Proposed: 1, Accepted: 1}.Rate())
}

// TestRecordsInFiles: numbers that are not finite are kept, in errors too.
func TestRecordsInFiles(t *testing.T) {
	want := Record{Step: 1, Loss: math.Inf(-1), Acceptance: 3, GradientNorm: math.Inf(1), LearningRate: 5, Seconds: 6, Errors: []Error{{"a", math.Inf(1), 7}}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, `{"step":1,"loss":"-Infinity","acceptance":3,"gradient_norm":"Infinity","learning_rate":5,"seconds":6,"errors":[{"name":"a","error":"Infinity","floor":7}]}`, string(text))
	var got Record
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)

	workers := NewWorkers(3)
	require.Equal(t, 3, workers.Threads())
	workers.Close()
}
