package bench

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/ising"
)

var errFaulty = errors.New("out of order")

// A faulty system has so many losses, and no more.
type faulty struct {
	engine.System
	losses *int
}

func (f faulty) Loss(params []float32, step uint32) (float64, error) {
	if *f.losses--; *f.losses < 0 {
		return 0, errFaulty
	}
	return f.System.Loss(params, step)
}

// faultyConfig is of such a system, or of none.
type faultyConfig struct {
	engine.Config
	losses *int
	none   error
}

func (c faultyConfig) New(workers *engine.Workers) (engine.System, error) {
	if c.none != nil {
		return nil, c.none
	}
	s, err := c.Config.New(workers)
	return faulty{s, c.losses}, err
}

// faultySystems are of one that its preset can change.
func faultySystems(t *testing.T, losses *int, none, missing error, change func(c *gmm.Config)) []engine.Definition {
	d := gmm.Definition
	d.Preset = func(string) (engine.Config, error) {
		c, err := gmm.Preset("paper")
		require.NoError(t, err)
		change(c)
		return faultyConfig{c, losses, none}, missing
	}
	return []engine.Definition{d}
}

// TestSystemsThatFail: whatever a system cannot do while rows are made is their error, and what it cannot do later that of
// the measurement.
func TestSystemsThatFail(t *testing.T) {
	e := testEnvironment(t)
	same := func(*gmm.Config) {}
	wrong := func(c *gmm.Config) { c.Training.Optimizer.LearningRate = -1 }
	for name, c := range map[string]struct {
		rows          func(e *environment, size string) ([]*operation, error)
		size          string
		losses        int
		none, missing error
		change        func(c *gmm.Config)
		want          string
	}{
		"no loss":               {iterationRows, "gmm/paper/8", 0, nil, nil, same, "step 1: out of order"},
		"a loss too few":        {iterationRows, "gmm/paper/8", 49, nil, nil, same, "step 50: out of order"},
		"a configuration":       {iterationRows, "gmm/paper/8", 0, nil, nil, wrong, "training.optimizer.learning_rate: -1 "},
		"no system":             {iterationRows, "gmm/paper/8", 0, errFaulty, nil, same, "out of order"},
		"no preset":             {iterationRows, "gmm/paper/8", 0, nil, errFaulty, same, `size "gmm/paper/8": out of order`},
		"a system nobody knows": {iterationRows, "none/paper/8", 0, nil, nil, same, `size "none/paper/8": the systems are gmm`},
	} {
		e.systems = faultySystems(t, &c.losses, c.none, c.missing, c.change)
		operations, err := c.rows(e, c.size)
		require.ErrorContains(t, err, c.want, name)
		require.Empty(t, operations, name)
	}
	losses := 51
	e.systems = faultySystems(t, &losses, nil, nil, same)
	operations, err := iterationRows(e, "gmm/paper/8")
	require.NoError(t, err)
	r, _, err := newRunner(t.Context(), quick("rng"))
	require.NoError(t, err)
	defer r.close()
	for _, op := range operations {
		require.NoError(t, r.interruptible(func() error { op.call(); return nil }))
		require.ErrorIs(t, r.interruptible(func() error { op.call(); return nil }), errFaulty)
		require.Empty(t, op.rivals)
	}

	// The error of an operation or of its path is that of its suite, and leaves no row.
	broken := Suite{Name: "broken", Sizes: []string{"1"}, rows: func(*environment, string) ([]*operation, error) {
		return []*operation{{name: "x", amount: 1, unit: "B", call: func() { panic(callError{io.ErrUnexpectedEOF}) }}}, nil
	}}
	path, _, _ := asm.Active()
	require.ErrorIs(t, r.runSuite(&broken, path, 1), io.ErrUnexpectedEOF)
	require.ErrorContains(t, r.runSuite(&broken, asm.AVX512+1, 1), "is not supported here")
	broken.rows = func(*environment, string) ([]*operation, error) { return nil, errFaulty }
	require.EqualError(t, r.runSuite(&broken, path, 1), "broken: out of order")
	require.Empty(t, r.report.Rows)
}

// TestModelsThatFail: what a model asks a system for and does not get is its error.
func TestModelsThatFail(t *testing.T) {
	losses := 0
	lattice, err := ising.Preset("paper")
	require.NoError(t, err)
	modes, err := hybrid.Preset("paper")
	require.NoError(t, err)
	plane, err := gmm.Preset("paper")
	require.NoError(t, err)
	of := func(config engine.Config) engine.System {
		s, err := faultyConfig{config, &losses, nil}.New(testEnvironment(t).workers)
		require.NoError(t, err)
		return s
	}
	for _, config := range []engine.Config{lattice, modes, plane} {
		_, err := referenceOf(modelOf(config), config, of(config))
		require.Equal(t, errFaulty, err)
	}
	for _, format := range Formats {
		require.NoError(t, new(Report).Write(io.Discard, format))
	}
}

// TestReportsThatAreBroken: what a row or a rival lacks is said with its place.
func TestReportsThatAreBroken(t *testing.T) {
	read := func(change func(r *Report)) error {
		r := sampleReport()
		r.Rows[1].Rivals = []Rival{{Name: "a", Status: Failed}, {Name: "b", Status: Measured, Times: &Times{Nanoseconds: []float64{1, 2}}}}
		change(r)
		var b strings.Builder
		require.NoError(t, r.WriteJSON(&b))
		_, err := ReadJSON(strings.NewReader(b.String()))
		return err
	}
	for want, change := range map[string]func(r *Report){
		"": func(*Report) {}, "report of schema 3; this program reads 2": func(r *Report) { r.Schema = 3 }, "report of schema 1; this program reads 2": func(r *Report) { r.Schema = 1 },
		"rows[1]: it has no suite or no name":                         func(r *Report) { r.Rows[1].Suite = "" },
		"rows[0]: it has no suite or no name":                         func(r *Report) { r.Rows[0].Name = "" },
		"rows[1].threads: 0 is not at least 1":                        func(r *Report) { r.Rows[1].Threads = 0 },
		"rows[0].ns: the list is empty":                               func(r *Report) { r.Rows[0].Nanoseconds = nil },
		"rows[0].ns[2]: 0 is not a positive time":                     func(r *Report) { r.Rows[0].Nanoseconds[2] = 0 },
		"rows[0].ns[0]: -1 is not a positive time":                    func(r *Report) { r.Rows[0].Nanoseconds[0] = -1 },
		"rows[1].peers[1]: b is said to be measured and has no times": func(r *Report) { r.Rows[1].Rivals[1].Times = nil },
		"rows[1].peers[1].ns: the list is empty":                      func(r *Report) { r.Rows[1].Rivals[1].Nanoseconds = []float64{} },
		"rows[1].peers[1].ns[1]: 0 is not a positive time":            func(r *Report) { r.Rows[1].Rivals[1].Nanoseconds[1] = 0 },
	} {
		if err := read(change); want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	_, err := ReadJSON(strings.NewReader("{"))
	require.EqualError(t, err, "not a report of revgen bench -o json: unexpected EOF")
}
