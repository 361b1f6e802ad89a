package nn

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

const (
	blockRows     = 128  // rows whose activations leave room in a core's L2 cache
	oneBlockLanes = 8    // up to so many blocks have a lane each
	maxLanes      = 16   // gradient buffers, and so the threads that a backward pass can use
	pieceLen      = 8192 // parameters that a piece of the reduction handles
)

// Lanes splits a batch into blocks of rows, which threads take as they come, and
// gives the backward pass a fixed number of gradient buffers: lane g takes the
// g-th stretch of blocks in order. The split depends on the batch alone, never on
// the number of threads. A buffer costs as much to clear and to add up as a few
// rows, so lanes are fewer than blocks in large batches.
//
// One thread takes the lanes one after another: it adds the first into the sum itself and
// has one buffer for the others, which stays in its core's cache.
type Lanes struct {
	rows       int
	block      int // rows of a block
	blocks     int
	stretch    int         // blocks of a lane
	count      int         // of lanes
	sequential bool        // one thread takes all lanes
	buffers    [][]float32 // gradient of each lane, or one buffer if sequential
	workers    *pool.Pool

	grad []float32                            // of the reduction under way
	body func(at, lo, hi int, grad []float32) // at is a block forward, a lane backward

	runForward, runBackward, runReduce func(int)
	addLanes                           func(piece int, first bool)
}

// NewLanes prepares a batch of rows rows and params parameters.
func NewLanes(rows, params int, workers *pool.Pool) *Lanes {
	return newLanes(rows, blockRows, stretch(rows), params, workers)
}

// NewWideLanes is NewLanes for perceptrons of one input, for which the call itself costs
// noticeable time. It has the same lanes, in blocks of twice the rows if that divides a lane.
func NewWideLanes(rows, params int, workers *pool.Pool) *Lanes {
	block := WideBlockRows(rows)
	return newLanes(rows, block, stretch(rows)*blockRows/block, params, workers)
}

func newLanes(rows, block, stretch, params int, workers *pool.Pool) *Lanes {
	l := &Lanes{rows: rows, block: block, blocks: ceil(rows, block), stretch: stretch, count: LanesOf(rows), workers: workers}
	l.sequential = workers.Threads() == 1 && !workers.Joined()
	l.buffers = make([][]float32, l.count)
	if l.sequential {
		l.buffers = l.buffers[:1]
	}
	data := make([]float32, len(l.buffers)*params)
	for i := range l.buffers {
		l.buffers[i] = data[i*params : (i+1)*params : (i+1)*params]
	}
	l.runForward = func(b int) { l.body(b, b*l.block, min((b+1)*l.block, l.rows), nil) }
	l.runBackward = func(lane int) { l.backward(lane, l.buffers[min(lane, len(l.buffers)-1)]) }
	l.runReduce = func(c int) { l.addLanes(c, true) }
	l.addLanes = func(c int, first bool) {
		lo, hi := c*pieceLen, min((c+1)*pieceLen, len(l.grad))
		from, to := l.ownLanes()
		if first {
			copy(l.grad[lo:hi], l.buffers[from][lo:hi])
			from++
		}
		for _, b := range l.buffers[from:to] {
			asm.Accumulate(l.grad[lo:hi], b[lo:hi])
		}
	}
	return l
}

// PerLane returns a buffer for each lane. All lanes share one buffer if one thread takes them.
func PerLane[T any](l *Lanes, newValue func() T) []T {
	list := make([]T, l.count)
	for i := range list {
		if i > 0 && l.workers.Threads() == 1 {
			list[i] = list[0]
		} else {
			list[i] = newValue()
		}
	}
	return list
}

// backward sets grad to a lane's gradient.
func (l *Lanes) backward(lane int, grad []float32) {
	clear(grad)
	for b := lane * l.stretch; b < min((lane+1)*l.stretch, l.blocks); b++ {
		l.body(lane, b*l.block, min((b+1)*l.block, l.rows), grad)
	}
}

// ownLanes returns this rank's lanes, lo … hi−1.
func (l *Lanes) ownLanes() (lo, hi int) {
	return pool.Stretch(l.count, l.workers.Rank(), l.workers.Size())
}

// BlockRows returns the largest number of rows for which lanes of NewLanes call a body.
func BlockRows() int { return blockRows }

// WideBlockRows returns the largest number of rows for which lanes of NewWideLanes call a body, for a batch
// of rows.
func WideBlockRows(rows int) int {
	if stretch(rows)%2 == 0 {
		return 2 * blockRows
	}
	return blockRows
}

// BlockRows returns the largest number of rows for which a body is called.
func (l *Lanes) BlockRows() int { return l.block }

// LanesOf returns the number of lanes of a batch.
func LanesOf(rows int) int { return ceil(blocksOf(rows), stretch(rows)) }

// stretch returns the number of blocks of a lane.
func stretch(rows int) int {
	blocks := blocksOf(rows)
	return ceil(blocks, min(blocks, max(oneBlockLanes, min(maxLanes, ceil(blocks, 2)))))
}

func blocksOf(rows int) int { return ceil(rows, blockRows) }

func ceil(n, parts int) int { return (n + parts - 1) / parts }

// Count returns the number of lanes.
func (l *Lanes) Count() int { return l.count }

// Blocks returns the number of blocks.
func (l *Lanes) Blocks() int { return l.blocks }

// RowSpan returns the span of results of which blocks write width elements for each row.
func RowSpan[T any](l *Lanes, s []T, width int) pool.Span {
	return pool.SpanOf(s, l.stretch*l.block*width)
}

// BlockSpan returns the span of results of which every block writes one element.
func BlockSpan[T any](l *Lanes, s []T) pool.Span { return pool.SpanOf(s, l.stretch) }

// Own calls body(block, lo, hi, nil) for every block of rows lo … hi−1 of a rank's own lanes,
// concurrently. They are the lanes that Backward takes on this rank. Pass the same body in every
// step: a new function value would allocate.
func (l *Lanes) Own(body func(block, lo, hi int, _ []float32)) {
	l.body = body
	lo, hi := l.ownLanes()
	lo, hi = lo*l.stretch, min(hi*l.stretch, l.blocks)
	l.workers.RunFrom(lo, hi-lo, l.runForward)
}

// Gather gives every rank the results of the others' lanes.
func (l *Lanes) Gather(results ...pool.Span) { l.workers.Gather(l.count, results...) }

// Share calls Own, and gives the results to all ranks.
func (l *Lanes) Share(body func(block, lo, hi int, _ []float32), results ...pool.Span) {
	l.Own(body)
	l.workers.Gather(l.count, results...)
}

// Each calls body as Backward does for a rank's own lanes, but does not add up their gradients.
func (l *Lanes) Each(body func(lane, lo, hi int, g []float32)) {
	l.body = body
	lo, hi := l.ownLanes()
	l.workers.RunFrom(lo, hi-lo, l.runBackward)
}

// Backward calls body(lane, lo, hi, g) for every block of rows, concurrently
// for different lanes, where g is the lane's gradient to add to, and sets grad
// to the sum over lanes in order. Each of several ranks takes its own lanes.
func (l *Lanes) Backward(grad []float32, body func(lane, lo, hi int, g []float32)) {
	l.grad = grad
	if l.sequential {
		l.body = body
		l.backward(0, grad)
		for lane := 1; lane < l.count; lane++ {
			l.backward(lane, l.buffers[0])
			asm.Accumulate(grad, l.buffers[0])
		}
		return
	}
	l.Each(body)
	if l.workers.Joined() {
		l.workers.Sum(l.count, asm.Bytes(grad), 4*pieceLen, l.addLanes)
		return
	}
	l.workers.Run((len(grad)+pieceLen-1)/pieceLen, l.runReduce)
}
