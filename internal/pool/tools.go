package pool

// Tools hold buffers, or clones of a target, one for each thread that works on rows.
type Tools[T any] struct {
	pool *Pool
	free chan T
}

// NewTools makes tools for every thread of a pool.
func NewTools[T any](p *Pool, newTools func() T) *Tools[T] {
	t := &Tools[T]{p, make(chan T, p.Threads())}
	for range p.Threads() {
		t.free <- newTools()
	}
	return t
}

// Rows calls body for the pieces lo … hi−1 of a number of rows, concurrently, each with
// tools that no other call has meanwhile.
func (t *Tools[T]) Rows(rows, piece int, body func(tools T, lo, hi int)) {
	t.pool.Run((rows+piece-1)/piece, func(i int) {
		t.Lend(func(tools T) { body(tools, i*piece, min((i+1)*piece, rows)) })
	})
}

// Lend calls use with tools that no other call has meanwhile.
func (t *Tools[T]) Lend(use func(tools T)) {
	tools := <-t.free
	defer func() { t.free <- tools }()
	use(tools)
}
