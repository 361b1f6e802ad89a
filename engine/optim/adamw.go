// Package optim updates flat parameter vectors: AdamW as PyTorch defines it,
// gradient clipping, weight averaging and learning-rate schedules.
package optim

import (
	"fmt"
	"math"
)

// AdamW holds the hyperparameters of Loshchilov and Hutter's optimiser.
type AdamW struct {
	LearningRate float64 `json:"learning_rate"`
	Beta1        float64 `json:"beta1"`
	Beta2        float64 `json:"beta2"`
	Epsilon      float64 `json:"epsilon"`
	WeightDecay  float64 `json:"weight_decay"`
}

// Validate reports the first value that cannot be used, by its key.
func (a *AdamW) Validate() error {
	switch {
	case !(a.LearningRate > 0) || math.IsInf(a.LearningRate, 0):
		return fmt.Errorf("learning_rate: %v is not a positive finite number", a.LearningRate)
	case !(a.Beta1 >= 0 && a.Beta1 < 1):
		return fmt.Errorf("beta1: %v is not in [0, 1)", a.Beta1)
	case !(a.Beta2 >= 0 && a.Beta2 < 1):
		return fmt.Errorf("beta2: %v is not in [0, 1)", a.Beta2)
	case !(a.Epsilon > 0) || math.IsInf(a.Epsilon, 0):
		return fmt.Errorf("epsilon: %v is not a positive finite number", a.Epsilon)
	case !(a.WeightDecay >= 0) || math.IsInf(a.WeightDecay, 0):
		return fmt.Errorf("weight_decay: %v is not a finite number ≥ 0", a.WeightDecay)
	}
	return nil
}
