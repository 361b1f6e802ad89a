package graph

import "github.com/revgen/revgen/engine/chains"

// Chains implements chains.Observer: those of parallel tempering, a round a step.
func (s *measured) Chains(params []float32, n int) (chains.Walk, error) {
	return s.TemperedChains(params, n)
}

var _ chains.Tempered = (*measured)(nil)
