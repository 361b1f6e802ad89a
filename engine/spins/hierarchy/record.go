package hierarchy

import "github.com/revgen/revgen/internal/pool"

// A Record holds the bits of blocks of samples, as nets read them, and what a pass over the sites
// computes. The workspaces of spins and of sites of several states embed it.
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

// SetParams implements sites.Workspace.
func (r *Record) SetParams(params []float32) { r.Weights.Set(params) }

// R implements sites.Workspace.
func (r *Record) R(k int) *[block]float64 { return &r.Rs[k] }

// LogQ implements sites.Workspace.
func (r *Record) LogQ(k int) *[block]float64 { return &r.LogQs[k] }

// Spans returns the memory that a pass over blocks lo … hi−1 writes, in pieces of passBlocks blocks.
func (r *Record) Spans(lo, hi, passBlocks int) []pool.Span {
	residuals := r.plan.learned * r.States // of a block
	return []pool.Span{
		pool.SpanOf(r.Bits[lo*r.Size:hi*r.Size], passBlocks*r.Size),
		pool.SpanOf(r.Residual[lo*residuals:hi*residuals], passBlocks*residuals),
		pool.SpanOf(r.LogQs[lo:hi], passBlocks), pool.SpanOf(r.Rs[lo:hi], passBlocks),
	}
}
