package nn

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

const (
	blockRows = 128  // rows whose activations leave room in a core's L2 cache
	fewLanes  = 8    // gradient buffers of a block each, before lanes take several blocks
	maxLanes  = 16   // gradient buffers, and so the threads that a backward pass can use
	chunkLen  = 8192 // parameters that a piece of the reduction handles
)

// Lanes splits a batch into blocks of rows, which threads take as they come, and
// gives the backward pass a fixed number of gradient buffers: lane g takes the
// g-th stretch of blocks in order. The split depends on the batch alone, never on
// the number of threads. A buffer costs as much to clear and to add up as a few
// rows, so lanes are fewer than blocks in large batches.
type Lanes struct {
	rows    int
	stretch int // blocks of a lane
	buffers [][]float32
	sums    pool.Span // of the buffers
	workers *pool.Pool

	grad []float32 // of the reduction under way
	body func(lane, lo, hi int, grad []float32)

	runForward, runBackward, runReduce func(int)
}

// NewLanes prepares a batch of rows rows and params parameters.
func NewLanes(rows, params int, workers *pool.Pool) *Lanes {
	l := &Lanes{rows: rows, stretch: stretch(rows), workers: workers}
	blocks := l.Blocks()
	l.buffers = make([][]float32, LanesOf(rows))
	all := make([]float32, len(l.buffers)*params)
	for i := range l.buffers {
		l.buffers[i] = all[i*params : (i+1)*params : (i+1)*params]
	}
	l.sums = pool.SpanOf(all, params)
	l.runForward = func(b int) { l.body(b, b*blockRows, min((b+1)*blockRows, l.rows), nil) }
	l.runBackward = func(lane int) {
		clear(l.buffers[lane])
		for b := lane * l.stretch; b < min((lane+1)*l.stretch, blocks); b++ {
			l.body(lane, b*blockRows, min((b+1)*blockRows, l.rows), l.buffers[lane])
		}
	}
	l.runReduce = func(c int) {
		lo, hi := c*chunkLen, min((c+1)*chunkLen, len(l.grad))
		copy(l.grad[lo:hi], l.buffers[0][lo:hi])
		for _, b := range l.buffers[1:] {
			asm.Accumulate(l.grad[lo:hi], b[lo:hi])
		}
	}
	return l
}

// BlockRows returns the largest number of rows that a body is called with.
func BlockRows() int { return blockRows }

// LanesOf returns the number of lanes of a batch.
func LanesOf(rows int) int { return ceil(blocksOf(rows), stretch(rows)) }

// stretch returns the number of blocks of a lane.
func stretch(rows int) int {
	blocks := blocksOf(rows)
	return ceil(blocks, min(blocks, max(fewLanes, min(maxLanes, ceil(blocks, 2)))))
}

func blocksOf(rows int) int { return ceil(rows, blockRows) }

func ceil(n, parts int) int { return (n + parts - 1) / parts }

// Count returns the number of lanes.
func (l *Lanes) Count() int { return len(l.buffers) }

// Blocks returns the number of blocks.
func (l *Lanes) Blocks() int { return blocksOf(l.rows) }

// Forward calls body(block, lo, hi, nil) for every block of rows lo … hi−1,
// concurrently. Keep body: a new function value each step would allocate.
func (l *Lanes) Forward(body func(block, lo, hi int, _ []float32)) {
	l.body = body
	l.workers.Run(l.Blocks(), l.runForward)
}

// RowSpan is where blocks leave results of which each row has so many elements.
func RowSpan[T any](l *Lanes, s []T, each int) pool.Span {
	return pool.SpanOf(s, l.stretch*blockRows*each)
}

// BlockSpan is where every block leaves one element.
func BlockSpan[T any](l *Lanes, s []T) pool.Span { return pool.SpanOf(s, l.stretch) }

// Share is Forward where each rank runs the blocks of its own lanes, which its
// part of Backward takes again, and has the results of the others from them.
func (l *Lanes) Share(body func(block, lo, hi int, _ []float32), results ...pool.Span) {
	l.body = body
	lo, hi := pool.Stretch(l.Count(), l.workers.Rank(), l.workers.Size())
	first := lo * l.stretch
	l.workers.RunFrom(first, min(hi*l.stretch, l.Blocks())-first, l.runForward)
	l.workers.Gather(l.Count(), results...)
}

// Backward calls body(lane, lo, hi, g) for every block of rows, concurrently
// for different lanes, where g is the lane's gradient to add to, and sets grad
// to the sum over lanes in order.
func (l *Lanes) Backward(grad []float32, body func(lane, lo, hi int, g []float32)) {
	l.body, l.grad = body, grad
	l.workers.Share(len(l.buffers), l.runBackward, l.sums)
	l.workers.Run((len(grad)+chunkLen-1)/chunkLen, l.runReduce)
}
