//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/cmd/internal/callbacks"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/mpi"
)

// Types of revgen.h, as cgo names them.
type (
	cHandle   = _Ctype_revgen
	cInt      = _Ctype_int
	cChar     = _Ctype_char
	cSize     = _Ctype_size_t
	cDouble   = _Ctype_double
	cWord     = _Ctype_uint64_t
	cTarget   = _Ctype_revgen_target
	cTraining = _Ctype_revgen_training
	cSpins    = _Ctype_revgen_spins
)

// Statuses and kinds of revgen.h.
const (
	ok = iota
	failed
	noHandle
	wrongArgument
	wrongVersion
	busy
	stopped
	callbackFailed
	_
	defect

	other   = 0
	config  = 1
	file    = 2
	missing = 3
	number  = 4
)

// open returns a handle that is closed when the test ends, and what it stands for.
func open(t *testing.T) (cHandle, *handle) {
	t.Helper()
	var id cHandle
	require.EqualValues(t, ok, revgenOpen(&id))
	t.Cleanup(func() { revgenClose(id) })
	return id, findHandle(id)
}

// c returns a C string.
func c(s string) *cChar { return (*cChar)(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

// requireError holds a status with its text and kind.
func requireError(t *testing.T, id cHandle, status, kind int, text string, got cInt) {
	t.Helper()
	buffer := make([]cChar, 1024)
	n := revgenError(id, &buffer[0], cSize(len(buffer)))
	said := string(unsafe.Slice((*byte)(unsafe.Pointer(&buffer[0])), int(n-1)))
	require.Equal(t, text, said)
	require.EqualValues(t, status, got, text)
	require.EqualValues(t, kind, revgenErrorKind(id), text)
}

// normal is a normal law; of states with modes their number is subtracted.
func normal(d int, x []float64, mode []int32, out []float64) int {
	for i := range out {
		out[i] = 0
		for _, v := range x[i*d:][:d] {
			out[i] -= v * v / 2
		}
		if mode != nil {
			out[i] -= float64(mode[i])
		}
	}
	return 0
}

// target returns a target whose density is a function of the test's.
func target(dim, modes cSize, f func(d int, x []float64, mode []int32, out []float64) int) *cTarget {
	callbacks.Density = f
	t := &cTarget{dim: dim, modes: modes, log_density: _Ctype_revgen_log_density(callbacks.DensityPointer())}
	t.size = cSize(unsafe.Sizeof(*t))
	return t
}

const brief = `"training": {"steps": 4, "batch": 64, "log_every": 1}, "evaluation": {"samples": 200}}`

// trained returns a handle with a model of 3 × 3 spins.
func trained(t *testing.T) (cHandle, *handle) {
	t.Helper()
	id, h := open(t)
	requireError(t, id, ok, other, "", revgenTrain(id, c(`{"system": "ising", "preset": "quick", "transition": {"proposal": "multi-spin"}, `+brief), nil, nil))
	return id, h
}

func TestHandles(t *testing.T) {
	id, h := open(t)
	next, _ := open(t)
	require.Equal(t, id+1, next)
	require.Same(t, h, findHandle(id))
	require.EqualValues(t, ok, revgenClose(id))
	require.Nil(t, findHandle(id))
	var needed cSize
	buffer := make([]cChar, 64)
	for name, got := range map[string]cInt{
		"close": revgenClose(id), "threads": revgenThreads(id, 1), "load": revgenLoad(id, nil, nil), "save": revgenSave(id, nil), "none": revgenClose(0),
		"train": revgenTrain(id, nil, nil, nil), "sample": revgenSample(id, 1, 0, 0, nil, 0, nil, 0), "energies": revgenEnergies(id, 0, nil, nil, 0, nil, nil),
		"refine": revgenRefine(id, 1, 0, nil, 0, nil, 0), "describe": revgenDescribe(id, nil, 0, &needed), "diagnose": revgenDiagnose(id, 0, nil, 0, &needed),
		"metropolis": revgenMetropolis(id, nil, 0, 0, 0, 0, 0, 0, nil, 0), "spin energies": revgenSpinEnergies(id, nil, 0, nil, 0, nil),
		"communicator": revgenSetCommunicator(id, 0), "cancel": revgenCancel(id),
	} {
		require.EqualValues(t, noHandle, got, name)
	}
	require.EqualValues(t, 0, revgenErrorKind(id))
	n := revgenError(id, &buffer[0], 64)
	require.Equal(t, "the handle is not open\x00", string(unsafe.Slice((*byte)(unsafe.Pointer(&buffer[0])), int(n))))

	id, h = open(t)
	h.busy.Lock()
	require.EqualValues(t, busy, revgenThreads(id, 1))
	require.EqualValues(t, ok, revgenCancel(id), "nothing is under way")
	h.busy.Unlock()
	requireError(t, id, ok, other, "", revgenThreads(id, 1))
	require.Nil(t, h.cancel)
}

// TestCalls: what becomes of an error or a panic of a call, and that the next one begins anew.
func TestCalls(t *testing.T) {
	id, h := open(t)
	for _, c := range []struct {
		err          error
		status, kind int
	}{
		{nil, ok, other},
		{errors.New("plain"), failed, other},
		{argument("wrong"), wrongArgument, other},
		{fmt.Errorf("of: %w", &failure{wrongVersion, "old"}), wrongVersion, other},
		{&mpi.Failure{Err: errors.New("broken")}, failed, other},
		{&crash.Panic{Value: "bad"}, defect, other},
		{run.ErrStopped, stopped, other},
		{context.Canceled, stopped, other},
		{fmt.Errorf("late: %w", context.DeadlineExceeded), stopped, other},
		{&catalogue.ConfigError{Reason: "no such key"}, failed, config},
		{&run.FileError{Path: "p"}, failed, file},
		{&run.MismatchError{}, failed, file},
		{&fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission}, failed, file},
		{&fs.PathError{Op: "open", Path: "p", Err: fs.ErrNotExist}, failed, missing},
		{&engine.NonFiniteError{}, failed, number},
		{&engine.TargetError{Err: errors.New("NaN")}, failed, number},
	} {
		text := ""
		if c.err != nil {
			text = c.err.Error()
		}
		requireError(t, id, c.status, c.kind, text, call(id, func(ctx context.Context, got *handle) error {
			require.Same(t, h, got)
			require.NotNil(t, h.cancel)
			require.Empty(t, h.errorText)
			require.EqualValues(t, other, h.errorKind)
			return c.err
		}))
		require.Nil(t, h.cancel)
	}
	requireError(t, id, failed, other, "MPI_Bcast", call(id, func(context.Context, *handle) error { panic(&mpi.Failure{Err: errors.New("MPI_Bcast")}) }))
	require.EqualValues(t, defect, call(id, func(context.Context, *handle) error { panic("bad") }))
	var within context.Context
	requireError(t, id, stopped, other, "context canceled", call(id, func(ctx context.Context, _ *handle) error {
		within = ctx
		require.NoError(t, ctx.Err())
		require.EqualValues(t, ok, revgenCancel(id))
		require.Equal(t, errCancelled, context.Cause(ctx))
		return ctx.Err()
	}))
	requireError(t, id, ok, other, "", call(id, func(ctx context.Context, _ *handle) error {
		within = ctx
		return nil
	}))
	require.ErrorIs(t, within.Err(), context.Canceled, "what a call has begun ends with it")
	require.Equal(t, "cancelled", errCancelled.Error())

	// A target that failed is what the error is about, once, and its sampler is gone.
	h.target = &callback{err: &failure{callbackFailed, "it fell"}}
	requireError(t, id, callbackFailed, other, "it fell", call(id, func(context.Context, *handle) error { return errors.New("NaN") }))
	requireError(t, id, ok, other, "", call(id, func(context.Context, *handle) error { return nil }))
	require.NotNil(t, h.target)
	h.target = nil
}

// TestTargetsOfHosts: the limits of a target, on both sides, and what the host is asked.
func TestTargetsOfHosts(t *testing.T) {
	b, own, err := newCallback(nil)
	require.NoError(t, err)
	require.Nil(t, b)
	require.Empty(t, own)
	require.NoError(t, b.cause(nil))
	for want, change := range map[string]func(*cTarget){
		"":  func(*cTarget) {},
		"1": func(t *cTarget) { t.dim, t.modes = 1, 1 },
		"2": func(t *cTarget) { t.dim, t.modes = 1<<14, vectors.MaxModes },
		"target: its size is not that of this version's":                                       func(t *cTarget) { t.size++ },
		"target: log_density is a null pointer":                                                func(t *cTarget) { t.log_density = nil },
		"target: 0 coordinates are not between 1 and 16384":                                    func(t *cTarget) { t.dim = 0 },
		"target: 16385 coordinates are not between 1 and 16384":                                func(t *cTarget) { t.dim = 1<<14 + 1 },
		fmt.Sprintf("target: %d modes are more than %d", vectors.MaxModes+1, vectors.MaxModes): func(t *cTarget) { t.modes = vectors.MaxModes + 1 },
	} {
		host := target(2, 0, normal)
		change(host)
		b, own, err := newCallback(host)
		if len(want) > 1 {
			require.EqualError(t, err, want)
			require.Nil(t, b)
			require.Nil(t, own)
			continue
		}
		require.NoError(t, err)
		require.Len(t, own, 1)
		require.Equal(t, "callback", own[0].Name)
		require.Equal(t, "the host's own target", own[0].Summary)
		require.EqualValues(t, host.dim, b.Dim())
		require.EqualValues(t, host.modes, modal{b}.Modes())
		host.dim = 77
		require.NotEqual(t, 77, b.Dim(), "the host's memory is its own")
	}
	var failedStatus *failure
	bad := target(2, 0, normal)
	bad.size--
	_, _, err = newCallback(bad)
	require.ErrorAs(t, err, &failedStatus)
	require.EqualValues(t, wrongVersion, failedStatus.status)

	calls, stops := 0, 0
	fails := false
	host := target(2, 3, func(d int, x []float64, mode []int32, out []float64) int {
		calls++
		if fails {
			return 42
		}
		require.Equal(t, 2, d)
		require.Equal(t, []float64{1, 2, 3, 5}, x)
		require.Equal(t, []int32{2, 0}, mode)
		return normal(d, x, mode, out)
	})
	b, _, err = newCallback(host)
	require.NoError(t, err)
	x, k := []float32{1, 2, 3, 5}, []uint8{2, 0}
	single, double := make([]float32, 2), make([]float64, 2)
	for range 2 { // buffers are used again
		b.LogDensity(single, x, k)
		modal{b}.LogDensity64(double, x, k)
		require.Equal(t, []float32{-4.5, -17}, single)
		require.Equal(t, []float64{-4.5, -17}, double)
	}
	b.LogDensity(nil, nil, nil)
	require.Equal(t, 4, calls, "of no states the host is not asked")
	fails, b.stop = true, func() { stops++ }
	for range 2 {
		b.LogDensity(single, x, k)
		require.True(t, math.IsNaN(float64(single[0])) && math.IsNaN(float64(single[1])))
	}
	require.Equal(t, 5, calls, "after a failure the host is not called again")
	require.Equal(t, 1, stops)
	require.EqualError(t, b.cause(nil), "log_density returned 42")
	require.NoError(t, b.cause(nil), "said once")
	b.stop = nil
	modal{b}.LogDensity64(double, x, k)
	require.True(t, math.IsNaN(double[0]))
	require.Error(t, b.cause(nil))

	host = target(1, 0, func(d int, x []float64, mode []int32, out []float64) int {
		require.Nil(t, mode)
		return normal(d, x, mode, out)
	})
	b, _, err = newCallback(host)
	require.NoError(t, err)
	b.LogDensity(single, []float32{1, 2}, nil)
	require.Equal(t, []float32{-0.5, -2}, single)
}

func TestTimeLimits(t *testing.T) {
	most := math.MaxInt64 / 2 / 1e9
	for limit, want := range map[float64]time.Duration{0: 0, 1e-9: 1, 1.5: 1500 * time.Millisecond, most: time.Duration(most * 1e9)} {
		got, err := timeLimit(cDouble(limit), "x")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, limit := range []float64{-1e-300, math.NaN(), math.Inf(1), math.Nextafter(most, math.Inf(1))} {
		_, err := timeLimit(cDouble(limit), "x")
		require.EqualError(t, err, "x: max_seconds is not a time")
	}
}

// TestTextsInBuffers: as much as fits, with a final 0, and nothing beyond.
func TestTextsInBuffers(t *testing.T) {
	for size, want := range map[cSize]string{0: "......", 1: "\x00.....", 3: "ab\x00...", 4: "abc\x00..", 5: "abc\x00.."} {
		buffer := []byte("......")
		to := (*cChar)(unsafe.Pointer(&buffer[0]))
		require.EqualValues(t, 4, copyText(to, size, "abc"))
		require.Equal(t, want, string(buffer))
		needed := cSize(99)
		err := returnText(to, size, &needed, "abc")
		require.EqualValues(t, 4, needed)
		if size >= 4 {
			require.NoError(t, err)
			require.NoError(t, returnText(to, size, nil, "abc"))
		} else {
			require.EqualError(t, err, "size: the buffer is smaller than the text")
		}
	}
	require.EqualValues(t, 4, copyText(nil, 9, "abc"))
	require.Error(t, returnText(nil, 9, nil, "abc"))
	_, err := text(nil, "path")
	require.EqualError(t, err, "path: a null pointer")
	got, err := text(c("abc"), "path")
	require.NoError(t, err)
	require.Equal(t, "abc", got)
}

func TestThreads(t *testing.T) {
	id, h := trained(t)
	buffer := make([]byte, 9)
	for threads, want := range map[cInt]string{-1: "threads: not between 0 and 4096", 4097: "threads: not between 0 and 4096", 4096: "", 0: "", 2: ""} {
		h.threads = 7
		require.EqualValues(t, ok, revgenSample(id, 1, 0, 1, nil, 0, unsafe.Pointer(&buffer[0]), 9))
		require.NotNil(t, h.sampler)
		if want != "" {
			requireError(t, id, wrongArgument, other, want, revgenThreads(id, threads))
			require.Equal(t, 7, h.threads)
			continue
		}
		requireError(t, id, ok, other, "", revgenThreads(id, threads))
		require.EqualValues(t, threads, h.threads)
		require.Nil(t, h.sampler, "its threads were others")
		require.NotNil(t, h.model)
	}
}

// TestStates: samples, refined states and energies are those of the Go library, in memory of
// the right size alone.
func TestStates(t *testing.T) {
	id, _ := open(t)
	buffer := make([]byte, 90)
	at := unsafe.Pointer(&buffer[0])
	const none = "there is no model: load or train one first"
	requireError(t, id, failed, other, none, revgenSample(id, 1, 0, 10, nil, 1, at, 90))
	requireError(t, id, failed, other, none, revgenSave(id, c("nowhere")))
	requireError(t, id, failed, other, none, revgenDescribe(id, nil, 0, nil))
	requireError(t, id, failed, other, none, revgenDiagnose(id, 0, nil, 0, nil))
	var h *handle
	id, h = trained(t)
	s, err := h.model.NewSampler(3, 1)
	require.NoError(t, err)
	defer s.Close()
	want := make([]byte, 90)
	require.NoError(t, s.SampleBytes(context.Background(), want, "", 5, 2))
	require.EqualValues(t, ok, revgenSample(id, 3, 5, 10, nil, 2, at, 90))
	require.Equal(t, want, buffer)
	kept := h.sampler
	require.EqualValues(t, ok, revgenSample(id, 3, 5, 10, c("spins"), 0, at, 90))
	require.Same(t, kept, h.sampler)
	require.EqualValues(t, ok, revgenRefine(id, 3, 5, nil, 2, at, 90))
	require.Equal(t, want, buffer)
	energies, expected, beta := make([]float64, 10), make([]float64, 10), 0.0
	theirs, err := s.EnergiesBytes(expected, want, "spins")
	require.NoError(t, err)
	require.EqualValues(t, ok, revgenEnergies(id, 10, c("spins"), at, 90, (*cDouble)(&energies[0]), (*cDouble)(&beta)))
	require.Equal(t, expected, energies)
	require.Equal(t, theirs, beta)
	require.EqualValues(t, ok, revgenEnergies(id, 10, nil, at, 90, (*cDouble)(&energies[0]), nil))
	require.EqualValues(t, ok, revgenEnergies(id, 0, nil, nil, 0, nil, nil))
	require.Same(t, kept, h.sampler, "energies are of any seed")
	require.EqualValues(t, ok, revgenSample(id, 4, 5, 10, nil, 2, at, 90))
	require.NotEqual(t, want, buffer)
	require.NotSame(t, kept, h.sampler)
	require.EqualValues(t, 4, h.seed)
	for text, got := range map[string]func() cInt{
		"size: 89 bytes, where 10·9 of the format spins are needed":              func() cInt { return revgenSample(id, 1, 0, 10, nil, 1, at, 89) },
		"size: 90 bytes, where 9·9 of the format spins are needed":               func() cInt { return revgenSample(id, 1, 0, 9, c("spins"), 1, at, 90) },
		"size: 18 bytes, where 3·8 of the format bits are needed":                func() cInt { return revgenEnergies(id, 3, c("bits"), at, 18, (*cDouble)(&beta), nil) },
		"size: 89 bytes are no multiple of the 9 of a state in the format spins": func() cInt { return revgenRefine(id, 1, 0, nil, 1, at, 89) },
		"buffer: a null pointer":                    func() cInt { return revgenSample(id, 1, 0, 10, nil, 1, nil, 90) },
		"buffer: a null pointer ":                   func() cInt { return revgenSample(id, 1, 0, 10, nil, 1, nil, 1) },
		"size: no buffer is as large":               func() cInt { return revgenSample(id, 1, 0, 10, nil, 1, at, 1<<63) },
		"energies: a null pointer":                  func() cInt { return revgenEnergies(id, 1, nil, at, 9, nil, nil) },
		"threads: not between 0 and 4096":           func() cInt { return revgenThreads(id, -1) },
		"path: a null pointer":                      func() cInt { return revgenLoad(id, nil, nil) },
		"configuration: a null pointer":             func() cInt { return revgenTrain(id, nil, nil, nil) },
		"diagnose: max_seconds is not a time":       func() cInt { return revgenDiagnose(id, -1, nil, 0, nil) },
		"size: the buffer is smaller than the text": func() cInt { return revgenDescribe(id, (*cChar)(at), 90, nil) },
		fmt.Sprintf("size: 9 bytes, where %d·9 of the format spins are needed", 1<<61+1): func() cInt { return revgenSample(id, 1, 0, 1<<61+1, nil, 1, at, 9) },
	} {
		requireError(t, id, wrongArgument, other, strings.TrimSuffix(text, " "), got())
	}
	beta = 7
	buffer[3] = 0
	require.EqualValues(t, failed, revgenEnergies(id, 10, nil, at, 90, (*cDouble)(&energies[0]), (*cDouble)(&beta)))
	require.Equal(t, 7.0, beta)
	require.EqualValues(t, failed, revgenSample(id, 1, 0, 10, c("csv"), 1, at, 90))
	require.EqualValues(t, failed, revgenSample(id, 1, math.MaxUint64, 10, nil, 1, at, 90))
	require.EqualValues(t, failed, revgenRefine(id, 1, 0, nil, -1, at, 90))

	// A description and a diagnosis, which is kept for a time that it was given.
	json, err := h.model.MarshalJSON()
	require.NoError(t, err)
	room := make([]byte, len(json)+1)
	var needed cSize
	require.EqualValues(t, wrongArgument, revgenDescribe(id, nil, 0, &needed))
	require.EqualValues(t, len(room), needed)
	require.EqualValues(t, ok, revgenDescribe(id, (*cChar)(unsafe.Pointer(&room[0])), cSize(len(room)), nil))
	require.Equal(t, string(json)+"\x00", string(room))
	require.EqualValues(t, wrongArgument, revgenDiagnose(id, 0.01, nil, 0, &needed))
	require.Contains(t, h.diagnosis, `"verdict"`)
	require.EqualValues(t, len(h.diagnosis)+1, needed)
	h.diagnosis = "kept"
	require.EqualValues(t, ok, revgenDiagnose(id, 0.01, (*cChar)(unsafe.Pointer(&room[0])), 5, &needed))
	require.Equal(t, "kept\x00", string(room[:5]))
	require.EqualValues(t, wrongArgument, revgenDiagnose(id, 0.02, nil, 0, &needed))
	require.Contains(t, h.diagnosis, `"verdict"`)
	require.Equal(t, 0.02, h.diagnosed)

	require.EqualValues(t, wrongArgument, revgenDiagnose(id, 1e-9, nil, 0, &needed))
	require.Contains(t, h.diagnosis, "independent Markov chains were not run", "there is no time for them")

	// A model that is saved and loaded is the same, with no diagnosis yet.
	path := filepath.Join(t.TempDir(), "model.rvg")
	requireError(t, id, wrongArgument, other, "path: a null pointer", revgenSave(id, nil))
	require.EqualValues(t, ok, revgenSave(id, c(path)))
	model := h.model
	require.EqualValues(t, failed, revgenLoad(id, c(path+"?"), nil))
	require.EqualValues(t, missing, revgenErrorKind(id))
	require.Same(t, model, h.model)
	require.NotNil(t, h.sampler)
	require.EqualValues(t, ok, revgenLoad(id, c(path), nil))
	require.NotSame(t, model, h.model)
	require.Empty(t, h.diagnosis)
	require.Nil(t, h.sampler)
	require.EqualValues(t, ok, revgenSample(id, 3, 5, 10, nil, 2, at, 90))
	require.Equal(t, want, buffer)
	require.EqualValues(t, ok, revgenClose(id))
	require.True(t, h.model == nil && h.sampler == nil && h.target == nil)
}

// TestTrainings: what a host may say of a training, and what it is told.
func TestTrainings(t *testing.T) {
	id, h := open(t)
	const own = `{"system": "callback", "preset": "paper", ` + brief
	host := target(2, 0, normal)
	training := new(cTraining)
	training.size = cSize(unsafe.Sizeof(*training))
	callbacks.Progress = func(int64, int64, float64, float64) int { return 0 }
	require.EqualValues(t, failed, revgenTrain(id, c(own), nil, nil))
	require.EqualValues(t, config, revgenErrorKind(id))
	require.Contains(t, h.errorText, `unknown system "callback"`)
	require.Contains(t, h.errorText, "; callback is that of a target by callback, which was not given")
	require.EqualValues(t, failed, revgenTrain(id, c(`{"system": "other"}`), nil, nil))
	require.NotContains(t, h.errorText, "by callback")
	require.NotContains(t, explainMissing(errors.New(`unknown system "callback"`), new(callback)).Error(), "by callback")
	require.NoError(t, explainMissing(nil, nil))
	for want, change := range map[string]func(){
		"training: its size is not that of this version's": func() { training.size-- },
		"training: max_seconds is not a time":              func() { training.max_seconds = -1 },
		"target: log_density is a null pointer":            func() { host.log_density = nil },
	} {
		before, of := *training, *host
		change()
		require.NotEqual(t, cInt(ok), revgenTrain(id, c(own), host, training))
		require.Equal(t, want, h.errorText)
		*training, *host = before, of
	}
	require.Nil(t, h.model)

	var steps []int64
	callbacks.Progress = func(step, of int64, loss, acceptance float64) int {
		steps = append(steps, step)
		require.EqualValues(t, 4, of)
		require.False(t, math.IsNaN(loss) || acceptance <= 0 || acceptance > 1)
		return 0
	}
	training.progress = _Ctype_revgen_progress(callbacks.ProgressPointer())
	requireError(t, id, ok, other, "", revgenTrain(id, c(own), host, training))
	require.Equal(t, int64(4), steps[len(steps)-1])
	require.NotNil(t, h.target)
	require.EqualValues(t, 1, h.model.Seed())

	// The model's target may fail, and work again.
	x := make([]float32, 20)
	at := unsafe.Pointer(&x[0])
	callbacks.Density = func(int, []float64, []int32, []float64) int { return 7 }
	requireError(t, id, callbackFailed, other, "log_density returned 7", revgenSample(id, 1, 0, 10, nil, 2, at, 80))
	require.Nil(t, h.sampler)
	model := h.model
	requireError(t, id, callbackFailed, other, "log_density returned 7", revgenTrain(id, c(own), host, nil))
	require.Same(t, model, h.model, "what failed leaves the last model")
	callbacks.Density = normal
	requireError(t, id, ok, other, "", revgenSample(id, 1, 0, 10, nil, 2, at, 80))

	// It lives in a file, which is read with its target alone.
	path := filepath.Join(t.TempDir(), "model.rvg")
	require.EqualValues(t, ok, revgenSave(id, c(path)))
	require.EqualValues(t, failed, revgenLoad(id, c(path), nil))
	require.Contains(t, h.errorText, "which was not given")
	loaded, l := open(t)
	requireError(t, loaded, ok, other, "", revgenLoad(loaded, c(path), host))
	require.Equal(t, h.model.Params(), l.model.Params())
	require.NotNil(t, l.target)

	// A host stops a training by its progress, its density or a time, and it goes on in its directory.
	dir := filepath.Join(t.TempDir(), "run")
	training.directory = (*cChar)(callbacks.String(dir))
	callbacks.Progress = func(step, _ int64, _, _ float64) int { return int(step / 2) }
	require.EqualValues(t, stopped, revgenTrain(loaded, c(own), host, training))
	training.progress = nil
	training.max_seconds = 1e-9
	require.EqualValues(t, stopped, revgenTrain(loaded, c(own), host, training))
	training.max_seconds = 1000
	requireError(t, loaded, ok, other, "", revgenTrain(loaded, c(own), host, training))
	require.Equal(t, h.model.Params(), l.model.Params())
	require.FileExists(t, filepath.Join(dir, "model.rvg"))
	callbacks.Density = func(d int, x []float64, mode []int32, out []float64) int {
		require.EqualValues(t, ok, revgenCancel(id))
		require.EqualValues(t, busy, revgenThreads(id, 1))
		return normal(d, x, mode, out)
	}
	require.EqualValues(t, stopped, revgenTrain(id, c(own), host, nil))
}

// TestTextsThatStay: the version and the kernel path are the same text at every call.
func TestTextsThatStay(t *testing.T) {
	require.Same(t, revgenVersion(), revgenVersion())
	require.Same(t, revgenKernelPath(), revgenKernelPath())
	require.NotEmpty(t, goString(revgenVersion()))
	require.Contains(t, []string{"generic", "avx2", "avx512"}, goString(revgenKernelPath()))
}

func goString(s *cChar) string {
	got, _ := text(s, "")
	return got
}
