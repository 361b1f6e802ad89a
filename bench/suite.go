package bench

import (
	"math"
	"strconv"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A Suite is a group of rows that take the same kind of size.
type Suite struct {
	Name    string
	Summary string
	Size    string   // the form of a size, such as NxL
	Sizes   []string // empty for the paper's settings of all systems
	// A suite has one of these functions, which return the operations of a size: sized where
	// a size is numbers in the form Size, rows where it is anything else.
	rows  func(e *environment, size string) ([]*operation, error)
	sized func(e *environment, size string, numbers []int) ([]*operation, error)
}

// operations returns the operations of a size.
func (s *Suite) operations(e *environment, size string) ([]*operation, error) {
	if s.sized == nil {
		return s.rows(e, size)
	}
	numbers, err := parseSize(size, s.Size)
	if err != nil {
		return nil, err
	}
	return s.sized(e, size, numbers)
}

// Suites returns all suites in the order in which they run.
func Suites() []Suite {
	return []Suite{gemmSuite, gramSuite, hammingSuite, rngSuite, mathSuite, metropolisSuite, hierarchySuite, iterationSuite}
}

// Names returns the names of all suites.
func Names() []string { return lists.Map(Suites(), func(s Suite) string { return s.Name }) }

// environment is what the operations of one path and number of threads share.
type environment struct {
	path    asm.Path
	workers *pool.Pool
	systems catalogue.Systems
}

func (e *environment) threads() int { return e.workers.Threads() }

// An operation is a row before it is measured.
type operation struct {
	name   string
	amount float64 // units of work in one call
	unit   string
	need   need
	call   func()
	rivals []rival
	note   string
}

// A rival is something to compare an operation with: a peer, or another way
// within the program.
type rival struct {
	name string // of the peer, or of the other way
	// prepare sends the inputs to the peer, selects its operation, and returns
	// how far its results are from ours. Without a peer, p is nil.
	prepare   func(p *peers.Process) (agreement, error)
	call      func()  // the other way; nil for a peer
	amount    float64 // units of work in one call; 0 means as many as the operation's
	perThread bool    // each of the rival's threads does amount units
	blas      bool    // OpenBLAS, whose number of threads is chosen apart, takes part of its time
	caveat    string  // how the rival's work differs from ours; empty if it does not
	// The numbers of threads are set when the operation is measured.
	threads, blasThreads int
}

// An agreement is the outcome of comparing results.
type agreement struct {
	difference float64
	tolerance  float64
	measure    string // the definition of difference, in words
}

// normError returns the largest |a−b| divided by the largest |b|.
func normError(a, b []float32) float64 {
	var difference, size float64
	for i := range b {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		difference = max(difference, d)
		size = max(size, math.Abs(float64(b[i])))
	}
	if difference == 0 {
		return 0
	}
	return difference / size
}

// elementError returns the largest |a−b|/|b|. A difference too small for a
// normal float32 counts as zero.
func elementError(a, b []float32) float64 {
	const smallest = 0x1p-126
	difference := 0.0
	for i := range b {
		x, y := float64(a[i]), float64(b[i])
		if math.IsNaN(x) != math.IsNaN(y) {
			return math.Inf(1)
		}
		if d := math.Abs(x - y); d > smallest {
			difference = max(difference, d/max(math.Abs(y), smallest))
		}
	}
	return difference
}

// split returns a function that calls body for all of [0, n), in ranges of at most
// piece elements, on all threads; on one thread it is one range.
func (e *environment) split(n, piece int, body func(lo, hi int)) func() {
	if e.threads() == 1 {
		return func() { body(0, n) }
	}
	// With smaller ranges for small n, no thread is without work.
	piece = min(piece, (n+e.threads()-1)/e.threads())
	run := func(i int) { body(i*piece, min((i+1)*piece, n)) }
	return func() { e.workers.Run((n+piece-1)/piece, run) }
}

// parseSize splits a size such as 2048x64x64 into its numbers, one for each name in form.
func parseSize(size, form string) ([]int, error) {
	parts := strings.Split(size, "x")
	values := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > 1<<30 || len(parts) != strings.Count(form, "x")+1 {
			return nil, optionf("size %q is not of the form %s", size, form)
		}
		values[i] = n
	}
	return values, nil
}

// noise returns n standard normal numbers that depend on the seed.
func noise(n int, seed uint64) []float32 {
	x := make([]float32, (n+3)/4*4)
	asm.Normals(x, &asm.Counter{Seed: seed}, 0)
	return x[:n]
}
