package hierarchy

import "github.com/revgen/revgen/internal/pool"

// A Record is the part that rooms of spins and of sites of several states share: the bits of blocks
// of samples, as nets read them, and what a pass over the sites finds.
type Record struct {
	Weights   *Kernels
	Size      int              // words of a block's bits
	Bits      []uint64         // [blocks][Size]
	States    int              // logits of a site at most: 1 of a spin
	LogQs, Rs [][block]float64 // [blocks] ln q of the learned sites, and R = ln q − ln W
	Residual  [][block]float32 // [blocks][learned][States] ∂ ln q/∂ logit, nil if they are not wanted

	plan *Plan
}

// NewRecord makes room for blocks.
func (p *Plan) NewRecord(blocks, size, states int, residual bool, workers *pool.Pool) Record {
	r := Record{
		plan: p, Weights: NewKernels(p.Nets, workers), Size: size, Bits: make([]uint64, blocks*size), States: states,
		LogQs: make([][block]float64, blocks), Rs: make([][block]float64, blocks),
	}
	if residual {
		r.Residual = make([][block]float32, blocks*p.learned*states)
	}
	return r
}

// Set implements sites.Room.
func (r *Record) Set(params []float32) { r.Weights.Set(params) }

// R implements sites.Room.
func (r *Record) R(k int) *[block]float64 { return &r.Rs[k] }

// LogQ implements sites.Room.
func (r *Record) LogQ(k int) *[block]float64 { return &r.LogQs[k] }

// Spans says where a pass over the blocks lo … hi−1 leaves what it finds, in pieces of so many blocks.
func (r *Record) Spans(lo, hi, together int) []pool.Span {
	each := r.plan.learned * r.States
	return []pool.Span{
		pool.SpanOf(r.Bits[lo*r.Size:hi*r.Size], together*r.Size), pool.SpanOf(r.Residual[lo*each:hi*each], together*each),
		pool.SpanOf(r.LogQs[lo:hi], together), pool.SpanOf(r.Rs[lo:hi], together),
	}
}
