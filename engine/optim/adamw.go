// Package optim updates flat parameter vectors: AdamW as PyTorch defines it,
// gradient clipping, weight averaging and learning-rate schedules.
package optim

import "github.com/revgen/revgen/internal/conf"

// AdamW holds the hyperparameters of Loshchilov and Hutter's optimiser.
type AdamW struct {
	LearningRate float64 `json:"learning_rate"` // α, which the schedule multiplies
	Beta1        float64 `json:"beta1"`         // decay of the average gradient
	Beta2        float64 `json:"beta2"`         // decay of the average squared gradient
	Epsilon      float64 `json:"epsilon"`       // added to the root of the latter
	WeightDecay  float64 `json:"weight_decay"`  // λ of the decoupled decay of θ
}

// Validate reports the first value that cannot be used, by its key.
func (a *AdamW) Validate() error {
	return conf.First(
		conf.Positive("learning_rate", a.LearningRate),
		conf.Decay("beta1", a.Beta1),
		conf.Decay("beta2", a.Beta2),
		conf.Positive("epsilon", a.Epsilon),
		conf.NotNegative("weight_decay", a.WeightDecay))
}
