package engine

// A Count says how many of a number of proposals were accepted.
type Count struct{ Proposed, Accepted uint64 }

// Rate returns the fraction accepted, 0 of none.
func (c Count) Rate() float64 { return float64(c.Accepted) / max(1, float64(c.Proposed)) }

// Add adds d to c.
func (c *Count) Add(d Count) {
	c.Proposed += d.Proposed
	c.Accepted += d.Accepted
}
