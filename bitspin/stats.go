package bitspin

// A Count says how many proposals were made and how many accepted.
type Count struct {
	Proposed, Accepted uint64
}

func (c *Count) add(proposed, accepted uint64) {
	c.Proposed += proposed
	c.Accepted += accepted
}

// Rate returns the accepted fraction, 0 if nothing was proposed.
func (c Count) Rate() float64 {
	if c.Proposed == 0 {
		return 0
	}
	return float64(c.Accepted) / float64(c.Proposed)
}

// Stats counts proposals by their kind.
type Stats struct {
	Single Count // flips of one spin, of the proposals single and mixture
	Global Count // flips of all spins, of the proposal mixture
	Multi  Count // flips of the multi-spin proposal, of any size
	Sweep  Count // spins that were redrawn by sweeps, and those that ended flipped
}

// Add adds the counts of o.
func (s *Stats) Add(o Stats) {
	s.Single.add(o.Single.Proposed, o.Single.Accepted)
	s.Global.add(o.Global.Proposed, o.Global.Accepted)
	s.Multi.add(o.Multi.Proposed, o.Multi.Accepted)
	s.Sweep.add(o.Sweep.Proposed, o.Sweep.Accepted)
}

// Total returns the counts of all kinds together.
func (s Stats) Total() Count {
	return Count{
		Proposed: s.Single.Proposed + s.Global.Proposed + s.Multi.Proposed + s.Sweep.Proposed,
		Accepted: s.Single.Accepted + s.Global.Accepted + s.Multi.Accepted + s.Sweep.Accepted,
	}
}
