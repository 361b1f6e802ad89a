package bitspin

// A Count says how many proposals were made and how many accepted; of sweeps, how many
// spins were redrawn and how many ended flipped.
type Count struct{ Proposed, Accepted uint64 }

// Add adds d to c.
func (c *Count) Add(d Count) {
	c.Proposed += d.Proposed
	c.Accepted += d.Accepted
}

// Rate returns the fraction accepted, 0 of none.
func (c Count) Rate() float64 { return float64(c.Accepted) / max(1, float64(c.Proposed)) }
