package pool

// Tools are what each thread needs to work on rows: buffers, say, or a target of its own.
type Tools[T any] struct {
	pool *Pool
	free chan T
}

// NewTools makes tools for every thread of a pool.
func NewTools[T any](p *Pool, fresh func() T) *Tools[T] {
	t := &Tools[T]{p, make(chan T, p.Threads())}
	for range p.Threads() {
		t.free <- fresh()
	}
	return t
}

// Rows calls body for the pieces lo … hi−1 of a number of rows, concurrently, each with
// tools that nobody else has meanwhile.
func (t *Tools[T]) Rows(rows, piece int, body func(tools T, lo, hi int)) {
	t.pool.Run((rows+piece-1)/piece, func(i int) {
		t.Lend(func(tools T) { body(tools, i*piece, min((i+1)*piece, rows)) })
	})
}

// Lend calls use with tools that nobody else has meanwhile.
func (t *Tools[T]) Lend(use func(tools T)) {
	tools := <-t.free
	defer func() { t.free <- tools }()
	use(tools)
}
