package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
)

// A room is the world of ranks that are goroutines. It notes how they leave.
type room struct {
	pool.Ranks
	meets bool
	left  []string
}

func (r *room) Meet(patience time.Duration) bool {
	r.left = append(r.left, "meet")
	return r.meets
}

func (r *room) Finalize(code int) error {
	r.left = append(r.left, fmt.Sprint("finalize ", code))
	return nil
}

func (r *room) Abort(code int) { r.left = append(r.left, fmt.Sprint("abort ", code)) }

// onRanks calls f on each of size ranks and returns their errors, nil as "".
func onRanks(size int, f func(p *program) error) []string {
	var all sync.WaitGroup
	said := make([]string, size)
	for rank, r := range pool.Local(size) {
		all.Go(func() {
			p := &program{world: &room{Ranks: r}, stdout: io.Discard, stderr: io.Discard, stopRankTimer: func() {}}
			if err := f(p); err != nil {
				said[rank] = err.Error()
			}
		})
	}
	all.Wait()
	return said
}

// The first rank that fails says so, and all others that it does.
func TestAgreeOnError(t *testing.T) {
	a, b, elsewhere, stop := errors.New("a"), errors.New("b"), engine.ErrElsewhere, context.Canceled
	for _, c := range [][2][]error{
		{{nil, nil, nil}, {nil, nil, nil}},
		{{nil, a, b}, {elsewhere, errors.New("rank 1: a"), elsewhere}},
		{{a, nil, b}, {a, elsewhere, elsewhere}},
		{{stop, nil, nil}, {stop, stop, stop}},
		{{stop, nil, a}, {elsewhere, elsewhere, errors.New("rank 2: a")}},
		{{nil, elsewhere, nil}, {nil, elsewhere, nil}},
	} {
		var want []string
		for _, err := range c[1] {
			text := ""
			if err != nil {
				text = err.Error()
			}
			want = append(want, text)
		}
		require.Equal(t, want, onRanks(3, func(p *program) error { return p.agreeOnError(c[0][p.world.Rank()]) }))
	}
}

// A rank that was started as another says what it has, if it is among the first three.
func TestSameStart(t *testing.T) {
	start := func(size int, values func(rank int) map[string]any) []string {
		return onRanks(size, func(p *program) error {
			joined := false
			p.stopRankTimer = func() { joined = true }
			err := p.checkSameStart("train", values(p.world.Rank()))
			require.True(t, joined)
			return err
		})
	}
	require.Equal(t, []string{"", ""}, start(2, func(rank int) map[string]any {
		return map[string]any{"a": map[string]int{"b": 1}, "target": map[string]int{"file": rank}}
	}))
	for size, want := range map[int]string{
		2: "rank 1 has a.b 1, rank 0 0",
		4: "rank 1 has a.b 1, rank 0 0; rank 2 has a.b 2, rank 0 0; rank 3 has a.b 3, rank 0 0",
		6: "rank 1 has a.b 1, rank 0 0; rank 2 has a.b 2, rank 0 0; rank 3 has a.b 3, rank 0 0; and 2 more differ",
	} {
		for _, said := range start(size, func(rank int) map[string]any { return map[string]any{"a": map[string]int{"b": rank, "c": 7}} }) {
			require.Equal(t, "ranks were started differently: "+want, said)
		}
	}
	sixty := strings.Repeat("x", 60)
	for want, c := range map[string][2]map[string]string{
		"": {{"a": "1"}, {"a": "1"}},
		"a 1, rank 0 nothing, b nothing, rank 0 2":                                          {{"a": "1"}, {"b": "2"}},
		"a " + sixty + ", rank 0 " + sixty + "…":                                            {{"a": sixty}, {"a": sixty + "x"}},
		"command mcmc, rank 0 train":                                                        {{"command": "mcmc", "a": "1"}, {"command": "train"}},
		"kernel path avx2, rank 0 generic, whose last bits differ: give all the same --isa": {{"kernel path": "avx2"}, {"kernel path": "generic"}},
	} {
		require.Equal(t, want, differences(c[0], c[1]))
	}
}

// Ranks write one file, with the bytes that one process writes; where one of them cannot,
// nothing is left.
func TestRanksShareAFile(t *testing.T) {
	dir := t.TempDir()
	const draws = 3
	o := chains.Options{Chains: 5, Draws: draws}
	of := func(lo, hi int) *chains.Result {
		r := &chains.Result{Lo: lo, Hi: hi, Format: &engine.Format{Descr: "'|u1'", Shape: []int{2}, RowBytes: 2}}
		for level := range 2 {
			l := chains.Level{Observables: []chains.Observable{{Name: "a"}, {Name: "b"}}}
			for i := range draws * o.Chains * 2 {
				l.Values = append(l.Values, float64(100*level+i))
			}
			for i := lo * draws * 2; i < hi*draws*2; i++ {
				l.States = append(l.States, byte(100*level+i))
			}
			r.Levels = append(r.Levels, l)
		}
		return r
	}
	for _, ladder := range [][]float64{nil, {0.1, 0.2}} {
		o.Ladder = ladder
		write := func(p *program, name string, r *chains.Result) error {
			path := filepath.Join(dir, name)
			return errors.Join(p.writeDraws(t.Context(), path+"-draws.npy", r, o), p.writeStates(t.Context(), path+"-states.npy", r, o))
		}
		require.NoError(t, write(&program{stdout: io.Discard, stderr: io.Discard}, "one", of(0, o.Chains)))
		require.Equal(t, []string{"", "", ""}, onRanks(3, func(p *program) error {
			return write(p, "all", of(pool.Stretch(o.Chains, p.world.Rank(), 3)))
		}))
		for _, kind := range []string{"-draws.npy", "-states.npy"} {
			one, all := content(t, dir, "one"+kind), content(t, dir, "all"+kind)
			require.Equal(t, one, all)
			require.Equal(t, len(one)-len(header(t, one)), max(1, len(ladder))*o.Chains*draws*map[string]int{"-draws.npy": 16, "-states.npy": 2}[kind])
		}
	}
	// Level 1, chain 2, draw 1 of the observables, which are of draw by chain in memory.
	data := []byte(content(t, dir, "all-draws.npy"))
	at := data[len(data)-2*8*draws*o.Chains+8*2*(2*draws+1):]
	require.Equal(t, 100+2.*(1*5+2), floatOf(at))

	for failing := range 3 {
		path := filepath.Join(dir, "none.npy")
		said := onRanks(3, func(p *program) error {
			return p.writeShared(path, npy.Header{Descr: "'|u1'", Shape: []int{3}}, func(file *npy.Shared) error {
				file.Part(int64(p.world.Rank()), 1)
				if p.world.Rank() == failing {
					return errors.New("no more")
				}
				_, err := file.Write([]byte{1})
				return err
			})
		})
		for rank, text := range said {
			if rank == failing {
				require.Contains(t, text, "no more")
				continue
			}
			require.Equal(t, engine.ErrElsewhere.Error(), text)
		}
		require.NoFileExists(t, path)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 4)
}

// header is the head of an array's file.
func header(t *testing.T, file string) string {
	t.Helper()
	_, rest, found := strings.Cut(file, "\n")
	require.True(t, found)
	return file[:len(file)-len(rest)]
}

func floatOf(data []byte) (x float64) {
	if _, err := binary.Decode(data, binary.LittleEndian, &x); err != nil {
		panic(err)
	}
	return x
}

// A rank leaves its job in the way that its error asks for, and rank 0 speaks for those
// that have come to the same.
func TestLeaveRanks(t *testing.T) {
	for _, c := range []struct {
		err              error
		code             int
		left             string
		elsewhere, first bool // what rank 1 leaves to others; and to rank 0, if that is there
	}{
		{nil, exitOK, "finalize 0", false, true},
		{resumableStop{"stopped"}, exitStopped, "finalize 75", true, true},
		{agreedError{context.Canceled}, exitStopped, "finalize 75", true, false},
		{agreedError{errors.New("rank 1: full")}, exitError, "abort 1", false, false},
		{errors.New("full"), exitError, "abort 1", false, true},
		{engine.ErrElsewhere, exitError, "meet abort 1", true, true},
	} {
		for rank, r := range pool.Local(2) {
			w := &room{Ranks: r, meets: true}
			p := &program{world: w, stderr: new(bytes.Buffer)}
			p.leaveRanks(c.err, c.code)
			require.Equal(t, c.left, strings.Join(w.left, " "), c.err)
			require.Equal(t, c.elsewhere && (rank > 0 || c.code != exitStopped), p.otherRankReports(c.err, c.code), c.err)
			require.Equal(t, c.first && rank > 0, p.rankZeroReported(c.err), c.err)
			w.meets = false
			require.False(t, p.rankZeroReported(c.err))
			require.Equal(t, rank > 0, p.isOtherRank())
		}
	}
	alone := &program{}
	alone.leaveRanks(nil, 0)
	require.False(t, alone.isOtherRank() || alone.rankZeroReported(nil) || alone.otherRankReports(nil, exitStopped))
}
