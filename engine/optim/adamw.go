// Package optim updates flat parameter vectors: AdamW as PyTorch defines it,
// gradient clipping, weight averaging and learning-rate schedules.
package optim

// AdamW holds the hyperparameters of Loshchilov and Hutter's optimiser.
type AdamW struct {
	LearningRate float64 `json:"learning_rate" is:"positive"`    // α, which the schedule multiplies
	Beta1        float64 `json:"beta1" is:"decay"`               // decay of the average gradient
	Beta2        float64 `json:"beta2" is:"decay"`               // decay of the average squared gradient
	Epsilon      float64 `json:"epsilon" is:"positive"`          // added to the root of the latter
	WeightDecay  float64 `json:"weight_decay" is:"not negative"` // λ of the decoupled decay of θ
}
