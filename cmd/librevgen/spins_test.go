//go:build cgo

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/mpi"
)

// lattice is a host's lattice.
func lattice(side cSize, beta, coupling, field float64) *cSpins {
	t := &cSpins{beta: cDouble(beta), side: side, coupling: cDouble(coupling), field: cDouble(field)}
	t.size = cSize(unsafe.Sizeof(*t))
	return t
}

// ring is a host's graph: a ring of spins, with fields or without.
func ring(sites int, beta float64, fields []float64) *cSpins {
	t := lattice(0, beta, 0, 0)
	pairs, couplings := make([]uint32, 2*sites), make([]float64, sites)
	for i := range sites {
		pairs[2*i], pairs[2*i+1], couplings[i] = uint32(i), uint32((i+1)%sites), 1-0.25*float64(i%3)
	}
	t.sites, t.edges = cSize(sites), cSize(sites)
	t.edge, t.couplings = (*_Ctype_uint32_t)(&pairs[0]), (*cDouble)(&couplings[0])
	if fields != nil {
		t.fields = (*cDouble)(&fields[0])
	}
	return t
}

// TestLimitsOfSpins: what a host may describe, on both sides of each limit.
func TestLimitsOfSpins(t *testing.T) {
	two := ring(3, 0.3, nil)
	for want, host := range map[string]*cSpins{
		"target: a null pointer":                                     nil,
		"target: its size is not that of this version's":             {size: two.size - 1, side: 3},
		"target: both a lattice (side) and a graph (sites, edges)":   {size: two.size, side: 3, sites: 1},
		"target: side: 1025 is more than 1024":                       {size: two.size, side: 1025},
		"target: sites: 0 is not between 1 and 1048576":              {size: two.size},
		"target: sites: 1048577 is not between 1 and 1048576":        {size: two.size, sites: 1<<20 + 1},
		"target: edges: 16777217 are more than 16777216":             {size: two.size, sites: 2, edges: 1<<24 + 1},
		"target: edge or couplings: a null pointer":                  {size: two.size, sites: 2, edges: 1 << 24},
		"target: edge or couplings: a null pointer ":                 {size: two.size, sites: 3, edges: 3, couplings: two.couplings},
		"target: edge or couplings: a null pointer  ":                {size: two.size, sites: 3, edges: 3, edge: two.edge},
		"target: both a lattice (side) and a graph (sites, edges) ":  {size: two.size, side: 3, edges: 1},
		"target: both a lattice (side) and a graph (sites, edges)  ": {size: two.size, side: 1, sites: 1, edges: 1},
		"target: its size is not that of this version's ":            {size: two.size + 1, side: 3},
	} {
		l, err := newSpinTarget(host)
		require.EqualError(t, err, string(bytes.TrimRight([]byte(want), " ")))
		require.Nil(t, l)
		var own *failure
		require.ErrorAs(t, err, &own)
		require.Equal(t, host != nil && host.size != two.size, own.status == wrongVersion)
	}
	for sites, host := range map[int]*cSpins{1 << 20: lattice(1024, 1, 1, 0), 1: {size: two.size, sites: 1}, 1<<20 - 1: {size: two.size, sites: 1<<20 - 1}, 3: two, 4: lattice(2, 1, 1, 0)} {
		l, err := newSpinTarget(host)
		require.NoError(t, err)
		require.Equal(t, sites, l.sites)
	}
	l, err := newSpinTarget(&cSpins{size: two.size, sites: 1 << 20})
	require.NoError(t, err)
	require.Equal(t, 1<<20, l.sites)
	for _, host := range []*cSpins{lattice(3, 1, math.NaN(), 0), lattice(1, 1, 1, 0), ring(2, 1, nil), ring(3, 1, []float64{0, math.Inf(1), 0})} {
		_, err := newSpinTarget(host)
		require.ErrorContains(t, err, "target: ")
	}
	id, _ := open(t)
	word := make([]cWord, 1)
	for _, kind := range []cInt{0, 1} {
		for _, host := range []*cSpins{lattice(3, -1, 1, 0), ring(3, -1, nil)} {
			require.EqualValues(t, failed, revgenMetropolis(id, host, kind, 1, 1, 0, 0, 1, &word[0], 8))
			require.Contains(t, findHandle(id).errorText, "target: ")
		}
	}
}

// TestBatchesOfHosts: memory of the right size, at the right place, with no bits too many.
func TestBatchesOfHosts(t *testing.T) {
	words := make([]cWord, 8)
	at := &words[0]
	odd := (*cWord)(unsafe.Add(unsafe.Pointer(at), 4))
	l := &spinTarget{sites: 70}
	for want, got := range map[string]func() ([]uint64, error){
		"states: a null pointer":                            func() ([]uint64, error) { return l.batch(nil, 1, 16) },
		"size: not that of the states, of 16 bytes each":    func() ([]uint64, error) { return l.batch(at, 1, 15) },
		"size: not that of the states, of 16 bytes each ":   func() ([]uint64, error) { return l.batch(at, 1, 32) },
		"size: not that of the states, of 16 bytes each  ":  func() ([]uint64, error) { return l.batch(at, 1<<59, 1<<63) },
		"size: not that of the states, of 16 bytes each   ": func() ([]uint64, error) { return l.batch(at, 2, 16) },
		"states: not at a multiple of 8 bytes":              func() ([]uint64, error) { return l.batch(odd, 1, 16) },
		"states: state 2 has bits beyond its 70 spins":      func() ([]uint64, error) { words[5] = 64; return l.batch(at, 4, 64) },
	} {
		clear(words)
		batch, err := got()
		require.EqualError(t, err, string(bytes.TrimRight([]byte(want), " ")))
		require.Nil(t, batch)
	}
	clear(words)
	words[0], words[5] = math.MaxUint64, 63
	batch, err := l.batch(at, 4, 64)
	require.NoError(t, err)
	require.Equal(t, []uint64{math.MaxUint64, 0, 0, 0, 0, 63, 0, 0}, batch)
	l.sites = 64
	words[7] = math.MaxUint64
	batch, err = l.batch(at, 8, 64)
	require.NoError(t, err)
	require.Equal(t, uint64(math.MaxUint64), batch[7])
	batch, err = l.batch(nil, 0, 0)
	require.NoError(t, err)
	require.Empty(t, batch)
}

// TestSpinsOfHosts: energies are sums over edges and fields, and chains those of the kernels,
// whatever the number of threads.
func TestSpinsOfHosts(t *testing.T) {
	fields := make([]float64, 70)
	for i := range fields {
		fields[i] = 0.125 * float64(i%5-2)
	}
	const n, steps, seed, stream = 700, 3, 9, 4
	for name, host := range map[string]*cSpins{"lattice": lattice(9, 0.3, 0.5, 0.25), "ring": ring(70, 0.4, fields), "no fields": ring(70, 0.4, nil)} {
		law, err := newSpinTarget(host)
		require.NoError(t, err)
		words := bitspin.Words(law.sites)
		batch := make([]uint64, n*words)
		counter := rng.Stream(1, rng.ChainTransition, 0)
		start, err := law.newSweeps()
		require.NoError(t, err)
		start.Run(func() bool { return false }, batch, batch, 0, n, 1, &counter, 0, &bitspin.Count{})
		id, h := open(t)
		energies := make([]float64, n)
		require.EqualValues(t, ok, revgenSpinEnergies(id, host, n, (*cWord)(&batch[0]), cSize(8*len(batch)), (*cDouble)(&energies[0])))
		for i := range 50 {
			spin := func(j int) float64 { return 2*float64(batch[i*words+j/64]>>(j%64)&1) - 1 }
			var want float64
			for j := range law.sites {
				switch name {
				case "lattice":
					want -= spin(j) * (0.5*(spin(j/9*9+(j+1)%9)+spin((j+9)%81)) + 0.25)
				case "ring":
					want -= fields[j] * spin(j)
					fallthrough
				default:
					want -= (1 - 0.25*float64(j%3)) * spin(j) * spin((j+1)%70)
				}
			}
			require.InDelta(t, want, energies[i], 1e-12, name)
		}
		for kind, construct := range []func() (spins.Kernel, error){law.newFlips, law.newSweeps} {
			k, err := construct()
			require.NoError(t, err)
			want := slices.Clone(batch)
			counter := rng.Stream(seed, rng.ChainTransition, stream)
			k.Run(func() bool { return false }, want, want, 0, n, steps, &counter, 1024, &bitspin.Count{})
			require.NotEqual(t, batch, want)
			for _, threads := range []int{1, 3} {
				h.threads = threads
				got := slices.Clone(batch)
				requireError(t, id, ok, other, "", revgenMetropolis(id, host, cInt(kind), steps, seed, stream, 1024, n, (*cWord)(&got[0]), cSize(8*len(got))))
				require.Equal(t, want, got, "%s, %d", name, kind)
			}
		}
		at, size := (*cWord)(&batch[0]), cSize(8*len(batch))
		requireError(t, id, wrongArgument, other, "kind: 2 is neither REVGEN_FLIPS nor REVGEN_SWEEPS", revgenMetropolis(id, host, 2, 1, 1, 0, 0, n, at, size))
		requireError(t, id, wrongArgument, other, "kind: -1 is neither REVGEN_FLIPS nor REVGEN_SWEEPS", revgenMetropolis(id, host, -1, 1, 1, 0, 0, n, at, size))
		requireError(t, id, wrongArgument, other, "energies: a null pointer", revgenSpinEnergies(id, host, n, at, size, nil))
		requireError(t, id, ok, other, "", revgenSpinEnergies(id, host, 0, nil, 0, nil))
		text := fmt.Sprintf("size: not that of the states, of %d bytes each", 8*words)
		requireError(t, id, wrongArgument, other, text, revgenSpinEnergies(id, host, n, at, size-8, (*cDouble)(&energies[0])))
		requireError(t, id, wrongArgument, other, text, revgenMetropolis(id, host, 0, 1, 1, 0, 0, n, at, size-8))
	}
	id, h := open(t)
	requireError(t, id, wrongArgument, other, "target: a null pointer", revgenSpinEnergies(id, nil, 0, nil, 0, nil))
	requireError(t, id, wrongArgument, other, "target: a null pointer", revgenMetropolis(id, nil, 0, 1, 1, 0, 0, 0, nil, 0))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	law, err := newSpinTarget(lattice(9, 0.3, 0.5, 0.25))
	require.NoError(t, err)
	k, err := law.newFlips()
	require.NoError(t, err)
	require.ErrorIs(t, h.walk(cancelled, k, make([]uint64, 2), 2, 1, rng.Counter{}, 0), context.Canceled)
}

// TestLimitsOfChains: the chains and the steps that a stream has random numbers for.
func TestLimitsOfChains(t *testing.T) {
	_, h := open(t)
	law, err := newSpinTarget(ring(70, 0.4, nil))
	require.NoError(t, err)
	flips, err := law.newFlips()
	require.NoError(t, err)
	sweeps, err := law.newSweeps()
	require.NoError(t, err)
	const most = spins.MaxSamples
	for _, c := range []struct {
		k            spins.Kernel
		n            int
		steps, first uint64
		want         string
	}{
		{flips, 0, uint64(flips.MaxSteps()), 0, ""},
		{flips, 0, uint64(flips.MaxSteps()) + 1, 0, fmt.Sprintf("steps: %d are more than the %d that one stream has random numbers for; go on with another", flips.MaxSteps()+1, flips.MaxSteps())},
		{flips, 0, 1, 3, ""},
		{sweeps, 0, 1, 128, ""},
		{sweeps, 0, 1, 96, "first: 96 is not a multiple of the 64 chains that draw together"},
		{flips, 0, 1, most, ""},
		{flips, 0, 1, most + 1, fmt.Sprintf("first: chains %d to %d are beyond the %d of a stream", most+1, most+1, most)},
		{flips, 3, 1, most - 3, ""},
		{flips, 3, 1, most - 2, fmt.Sprintf("first: chains %d to %d are beyond the %d of a stream", most-2, most, most)},
		{flips, 3, 0, 0, ""},
	} {
		err := h.walk(context.Background(), c.k, make([]uint64, 2*c.n), 2, c.steps, rng.Stream(1, rng.ChainTransition, 0), c.first)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}

// ranks are processes of which this one is a number.
type ranks struct {
	rank, size, gathers, frees int
	others                     func(data []byte, ends []int)
	notReady, notFreed         error
}

func (r *ranks) Rank() int           { return r.rank }
func (r *ranks) Size() int           { return r.size }
func (r *ranks) Send(int, []byte)    {}
func (r *ranks) Receive(int, []byte) {}
func (r *ranks) Ready() error        { return r.notReady }
func (r *ranks) Free() error         { r.frees++; return r.notFreed }
func (r *ranks) Gather(data []byte, ends []int) {
	r.gathers++
	if r.others != nil {
		r.others(data, ends)
	}
}

// TestRanksAgree: what ranks tell each other before a training, and what they make of it.
func TestRanksAgree(t *testing.T) {
	cfg, err := revgen.Configure("ising", "quick")
	require.NoError(t, err)
	text, err := conf.Encode(cfg)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	path, _, err := asm.Active()
	require.NoError(t, err)
	alike := append([]byte{0, byte(path)}, sum[:]...)
	otherPath := byte(1)
	if path == 1 {
		otherPath = 2
	}
	for want, change := range map[string]func(theirs []byte){
		"":                                       func([]byte) {},
		"rank 2: " + engine.ErrElsewhere.Error(): func(theirs []byte) { theirs[0], theirs[1] = 1, 77 },
		fmt.Sprintf("rank 2 is on the kernel path %s and this one on %s, whose last bits differ; set REVGEN_ISA=%s for all",
			asm.Path(otherPath), path, asm.Path(min(otherPath, byte(path)))): func(theirs []byte) { theirs[1], theirs[2] = otherPath, theirs[2]+1 },
		"the configuration is another than that of rank 2": func(theirs []byte) { theirs[33]++ },
	} {
		r := &ranks{rank: 1, size: 3, others: func(data []byte, ends []int) {
			require.Equal(t, []int{34, 68, 102}, ends)
			require.Len(t, data, 102)
			require.Equal(t, alike, data[34:68])
			copy(data, alike)
			copy(data[68:], alike)
			change(data[68:])
		}}
		h := &handle{ranks: r}
		err := h.agree(cfg, nil)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
		require.Equal(t, 1, r.gathers)
	}
	r := &ranks{size: 2, others: func(data []byte, _ []int) { require.Equal(t, byte(1), data[0]) }}
	h := &handle{ranks: r}
	wrong := errors.New("wrong")
	require.Equal(t, wrong, h.agree(nil, wrong), "an error of one's own")
	r.notReady = errors.New("MPI has ended")
	require.Equal(t, r.notReady, h.agree(cfg, nil))
	require.Equal(t, 1, r.gathers)
}

// TestRanksOfHandles: a communicator is given back once, and a training is one of its ranks.
func TestRanksOfHandles(t *testing.T) {
	id, h := open(t)
	r := &ranks{size: 1}
	h.ranks = r
	requireError(t, id, ok, other, "", revgenTrain(id, c(`{"system": "ising", "preset": "quick", `+brief), nil, nil))
	require.Greater(t, r.gathers, 0)
	model, gathers := h.model, r.gathers
	require.EqualValues(t, failed, revgenTrain(id, c(`{"system": "ising", "target": {"l": -1}}`), nil, nil))
	require.EqualValues(t, 1, revgenErrorKind(id))
	require.Equal(t, gathers+1, r.gathers, "others are told")
	require.Same(t, model, h.model)
	r.notReady = errors.New("MPI has ended")
	requireError(t, id, failed, other, "MPI has ended", revgenTrain(id, c(`{"system": "ising"}`), nil, nil))
	require.NoError(t, h.freeRanks())
	require.Zero(t, r.frees, "there is nothing to give back to")
	require.Nil(t, h.ranks)
	require.NoError(t, h.freeRanks())
	r = &ranks{size: 1, notFreed: errors.New("MPI_Comm_free")}
	h.ranks = r
	requireError(t, id, failed, other, "MPI_Comm_free", revgenSetCommunicator(id, 0))
	require.Equal(t, 1, r.frees)
	require.Nil(t, h.ranks)
	if !mpi.Present {
		requireError(t, id, failed, other, mpi.ErrAbsent.Error(), revgenSetCommunicator(id, 0))
		require.Nil(t, h.ranks)
	}
	r = &ranks{size: 1}
	h.ranks = r
	require.EqualValues(t, ok, revgenClose(id))
	require.Equal(t, 1, r.frees)
	id, h = open(t)
	h.ranks = &ranks{notFreed: errors.New("MPI_Comm_free")}
	require.EqualValues(t, failed, revgenClose(id))
}
