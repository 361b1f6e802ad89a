// Command librevgen is the C ABI of RevGen, revgen.h, built as a shared library or an
// archive:
//
//	go build -buildmode=c-shared -ldflags '-extldflags=-Wl,-z,nodelete' -o librevgen.so ./cmd/librevgen
//
// exports.c holds the functions that hosts call and refuses processes that were
// forked. The functions here find the handle's model, translate arguments, and turn errors and
// panics into statuses.
package main

/*
#include "revgen.h"
int revgen_call_progress(const revgen_training *t, int64_t step, int64_t steps, double loss, double acceptance);
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/version"
)

func main() {} // is not called in a library

// A handle is what a revgen of the host stands for.
type handle struct {
	busy    sync.Mutex // held by the call under way
	threads int
	model   *revgen.Model
	target  *callback // of the model, nil if it is not the host's
	sampler *revgen.Sampler
	seed    uint64     // of the sampler
	ranks   mpi.Hosted // of the host's communicator, nil for none

	diagnosis string  // of the model, "" if there is none yet
	diagnosed float64 // max_seconds of the diagnosis

	mu        sync.Mutex // guards the fields below
	errorText string     // of the last error
	errorKind C.int      // of the last error
	cancel    context.CancelCauseFunc
}

// handles are the open handles. Numbers are never used again.
var handles = struct {
	sync.Mutex
	open map[uint64]*handle
	last uint64
}{open: map[uint64]*handle{}}

// findHandle returns the handle of a number, nil if it is not open.
func findHandle(id C.revgen) *handle {
	handles.Lock()
	defer handles.Unlock()
	return handles.open[uint64(id)]
}

// A failure is an error with a status of its own.
type failure struct {
	status C.int
	text   string
}

func (f *failure) Error() string { return f.text }

func argument(text string) error { return &failure{C.REVGEN_ARGUMENT, text} }

var errCancelled = errors.New("cancelled")

// call calls do with a handle, keeps its error for revgen_error, and returns its status.
func call(id C.revgen, do func(ctx context.Context, h *handle) error) C.int {
	h := findHandle(id)
	if h == nil {
		return C.REVGEN_HANDLE
	}
	if !h.busy.TryLock() {
		return C.REVGEN_BUSY
	}
	defer h.busy.Unlock()
	ctx, cancel := context.WithCancelCause(context.Background())
	h.mu.Lock()
	h.errorText, h.errorKind, h.cancel = "", C.REVGEN_KIND_OTHER, cancel
	h.mu.Unlock()
	err := crash.Catch(func() error { return do(ctx, h) })
	if p, ok := errors.AsType[*crash.Panic](err); ok {
		if mpiFailure, ok := p.Value.(*mpi.Failure); ok {
			err = mpiFailure
		}
	}
	if failed := h.target.cause(nil); failed != nil {
		err = failed
		h.setModel(h.model, h.target) // drops the sampler, which remembers that its target failed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel = nil
	cancel(nil)
	if err == nil {
		return C.REVGEN_OK
	}
	h.errorText, h.errorKind = err.Error(), kind(err)
	return status(err)
}

// kind returns the kind of an error, as revgen.h lists them.
func kind(err error) C.int {
	switch {
	case errors.As(err, new(*catalogue.ConfigError)):
		return C.REVGEN_KIND_CONFIGURATION
	case errors.Is(err, fs.ErrNotExist):
		return C.REVGEN_KIND_MISSING
	case errors.As(err, new(*run.FileError)), errors.As(err, new(*run.MismatchError)), errors.As(err, new(*fs.PathError)):
		return C.REVGEN_KIND_FILE
	case errors.As(err, new(*engine.NonFiniteError)), errors.As(err, new(*engine.TargetError)):
		return C.REVGEN_KIND_NUMBER
	}
	return C.REVGEN_KIND_OTHER
}

// status returns the status of an error, as revgen.h lists them.
func status(err error) C.int {
	var own *failure
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.As(err, new(*mpi.Failure)):
	case errors.As(err, new(*crash.Panic)):
		return C.REVGEN_DEFECT
	case errors.Is(err, run.ErrStopped), engine.Cancelled(err):
		return C.REVGEN_STOPPED
	}
	return C.REVGEN_ERROR
}

//export revgenOpen
func revgenOpen(out *C.revgen) C.int {
	handles.Lock()
	defer handles.Unlock()
	handles.last++
	handles.open[handles.last] = &handle{}
	*out = C.revgen(handles.last)
	return C.REVGEN_OK
}

//export revgenClose
func revgenClose(id C.revgen) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		handles.Lock()
		delete(handles.open, uint64(id))
		handles.Unlock()
		h.setModel(nil, nil)
		return h.freeRanks()
	})
}

// setModel replaces the model and its target, and closes the sampler.
func (h *handle) setModel(model *revgen.Model, target *callback) {
	if h.sampler != nil {
		h.sampler.Close()
	}
	if h.model != model {
		h.diagnosis = ""
	}
	h.model, h.target, h.sampler = model, target, nil
}

//export revgenThreads
func revgenThreads(id C.revgen, threads C.int) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		if threads < 0 || threads > 1<<12 {
			return argument("threads: not between 0 and 4096")
		}
		h.threads = int(threads)
		h.setModel(h.model, h.target)
		return nil
	})
}

// text returns a C string, which must not be null.
func text(s *C.char, name string) (string, error) {
	if s == nil {
		return "", argument(name + ": a null pointer")
	}
	return C.GoString(s), nil
}

//export revgenLoad
func revgenLoad(id C.revgen, path *C.char, target *C.revgen_target) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		file, err := text(path, "path")
		if err != nil {
			return err
		}
		t, own, err := newCallback(target)
		if err != nil {
			return err
		}
		model, err := revgen.Load(file, own...)
		if err = t.cause(err); err == nil {
			h.setModel(model, t)
		}
		return explainMissing(err, t)
	})
}

var errNoModel = &failure{C.REVGEN_ERROR, "there is no model: load or train one first"}

//export revgenSave
func revgenSave(id C.revgen, path *C.char) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		file, err := text(path, "path")
		if err != nil {
			return err
		}
		if h.model == nil {
			return errNoModel
		}
		return h.model.Save(file)
	})
}

//export revgenTrain
func revgenTrain(id C.revgen, configuration *C.char, target *C.revgen_target, training *C.revgen_training) C.int {
	return call(id, func(ctx context.Context, h *handle) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		cfg, opt, t, err := h.prepare(stop, configuration, target, training)
		if h.ranks != nil {
			if err := h.agree(cfg, err); err != nil {
				return err
			}
			opt.Ranks = h.ranks
		}
		if err == nil {
			var model *revgen.Model
			if model, err = revgen.Train(ctx, cfg, opt); err == nil {
				h.setModel(model, t)
				return nil
			}
		}
		return t.cause(err)
	})
}

// prepare translates the arguments of a training. The host's functions end it by stop.
func (h *handle) prepare(stop func(), configuration *C.char, target *C.revgen_target, training *C.revgen_training) (cfg engine.Config, opt revgen.TrainOptions, t *callback, err error) {
	opt.Threads = h.threads
	config, err := text(configuration, "configuration")
	if err != nil {
		return nil, opt, nil, err
	}
	if training != nil {
		if training.size != C.sizeof_revgen_training {
			return nil, opt, nil, &failure{C.REVGEN_VERSION, "training: its size is not that of this version's"}
		}
		if training.directory != nil {
			opt.Dir = C.GoString(training.directory)
		}
		if opt.MaxTime, err = timeLimit(training.max_seconds, "training"); err != nil {
			return nil, opt, nil, err
		}
		if training.progress != nil {
			opt.Progress = func(p run.Progress) {
				if C.revgen_call_progress(training, C.int64_t(p.Step), C.int64_t(p.Steps), C.double(p.Loss), C.double(p.Acceptance)) != 0 {
					stop()
				}
			}
		}
	}
	t, own, err := newCallback(target)
	if err != nil {
		return nil, opt, nil, err
	}
	if t != nil {
		t.stop = stop
	}
	cfg, err = revgen.ParseConfig([]byte(config), own...)
	return cfg, opt, t, explainMissing(t.cause(err), t)
}

// explainMissing adds to an error that the configuration names a target of the host's and none
// was given.
func explainMissing(err error, t *callback) error {
	if err != nil && t == nil && strings.Contains(err.Error(), fmt.Sprintf("unknown system %q", callbackName)) {
		return fmt.Errorf("%w; %s is that of a target by callback, which was not given", err, callbackName)
	}
	return err
}

// timeLimit converts max_seconds, 0 for none. Errors begin with name.
func timeLimit(seconds C.double, name string) (time.Duration, error) {
	if x := float64(seconds); !(x >= 0 && x <= math.MaxInt64/2/1e9) {
		return 0, argument(name + ": max_seconds is not a time")
	}
	return time.Duration(float64(seconds) * 1e9), nil
}

//export revgenSample
func revgenSample(id C.revgen, seed, first, count C.uint64_t, format *C.char, refine C.int, buffer unsafe.Pointer, size C.size_t) C.int {
	return call(id, func(ctx context.Context, h *handle) error {
		s, name, data, err := h.states(uint64(seed), &count, format, buffer, size)
		if err != nil {
			return err
		}
		return s.SampleBytes(ctx, data, name, uint64(first), int(refine))
	})
}

//export revgenEnergies
func revgenEnergies(id C.revgen, count C.uint64_t, format *C.char, states unsafe.Pointer, size C.size_t, energies, beta *C.double) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		if energies == nil && count > 0 {
			return argument("energies: a null pointer")
		}
		s, name, data, err := h.states(h.seed, &count, format, states, size)
		if err != nil {
			return err
		}
		b, err := s.EnergiesBytes(unsafe.Slice((*float64)(energies), int(count)), data, name)
		if err == nil && beta != nil {
			*beta = C.double(b)
		}
		return err
	})
}

//export revgenRefine
func revgenRefine(id C.revgen, seed, first C.uint64_t, format *C.char, steps C.int, states unsafe.Pointer, size C.size_t) C.int {
	return call(id, func(ctx context.Context, h *handle) error {
		s, name, data, err := h.states(uint64(seed), nil, format, states, size)
		if err != nil {
			return err
		}
		return s.RefineBytes(ctx, data, name, uint64(first), int(steps))
	})
}

// states returns the sampler of a seed, the name of a format, and the host's buffer, which holds
// count states, or any number if count is nil.
func (h *handle) states(seed uint64, count *C.uint64_t, format *C.char, buffer unsafe.Pointer, size C.size_t) (*revgen.Sampler, string, []byte, error) {
	if h.model == nil {
		return nil, "", nil, errNoModel
	}
	if buffer == nil && size > 0 {
		return nil, "", nil, argument("buffer: a null pointer")
	}
	if size > math.MaxInt64 {
		return nil, "", nil, argument("size: no buffer is as large")
	}
	if h.sampler == nil || h.seed != seed {
		s, err := h.model.NewSampler(seed, h.threads)
		if err != nil {
			return nil, "", nil, err
		}
		h.setModel(h.model, h.target)
		h.sampler, h.seed = s, seed
	}
	f, err := h.sampler.Format(C.GoString(format)) // "" if it is null
	if err != nil {
		return nil, "", nil, err
	}
	if row := C.size_t(f.RowBytes); size%row != 0 || count != nil && size/row != C.size_t(*count) {
		if count == nil {
			return nil, "", nil, argument(fmt.Sprintf("size: %d bytes are no multiple of the %d of a state in the format %s", uint64(size), f.RowBytes, f.Name))
		}
		return nil, "", nil, argument(fmt.Sprintf("size: %d bytes, where %d·%d of the format %s are needed", uint64(size), uint64(*count), f.RowBytes, f.Name))
	}
	return h.sampler, f.Name, unsafe.Slice((*byte)(buffer), int(size)), nil
}

//export revgenDescribe
func revgenDescribe(id C.revgen, buffer *C.char, size C.size_t, needed *C.size_t) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		if h.model == nil {
			return errNoModel
		}
		data, err := h.model.MarshalJSON()
		if err != nil {
			return err
		}
		return returnText(buffer, size, needed, string(data))
	})
}

// returnText copies a text to a buffer, and sets needed, if it is not null, to the size that the
// text needs.
func returnText(buffer *C.char, size C.size_t, needed *C.size_t, text string) error {
	n := copyText(buffer, size, text)
	if needed != nil {
		*needed = n
	}
	if n > size || buffer == nil {
		return argument("size: the buffer is smaller than the text")
	}
	return nil
}

//export revgenDiagnose
func revgenDiagnose(id C.revgen, maxSeconds C.double, buffer *C.char, size C.size_t, needed *C.size_t) C.int {
	return call(id, func(ctx context.Context, h *handle) error {
		limit, err := timeLimit(maxSeconds, "diagnose")
		if err != nil {
			return err
		}
		if h.model == nil {
			return errNoModel
		}
		if h.diagnosis == "" || h.diagnosed != float64(maxSeconds) {
			opt := diagnose.Full()
			if limit > 0 {
				opt.Time = limit
			}
			report, err := h.model.Diagnose(ctx, opt, h.threads)
			if err != nil {
				return err
			}
			data, err := json.Marshal(report)
			if err != nil {
				return err
			}
			h.diagnosis, h.diagnosed = string(data), float64(maxSeconds)
		}
		return returnText(buffer, size, needed, h.diagnosis)
	})
}

// copyText copies as much of a text as fits into a buffer, with a final 0. It returns the size of
// all of it, the 0 included.
func copyText(buffer *C.char, size C.size_t, s string) C.size_t {
	if buffer != nil && size > 0 {
		dst := unsafe.Slice((*byte)(unsafe.Pointer(buffer)), int(min(size, C.size_t(len(s)+1))))
		dst[copy(dst[:len(dst)-1], s)] = 0
	}
	return C.size_t(len(s) + 1)
}

//export revgenCancel
func revgenCancel(id C.revgen) C.int {
	h := findHandle(id)
	if h == nil {
		return C.REVGEN_HANDLE
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel != nil {
		h.cancel(errCancelled)
	}
	return C.REVGEN_OK
}

//export revgenError
func revgenError(id C.revgen, buffer *C.char, size C.size_t) C.size_t {
	message := "the handle is not open"
	if h := findHandle(id); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		message = h.errorText
	}
	return copyText(buffer, size, message)
}

//export revgenErrorKind
func revgenErrorKind(id C.revgen) C.int {
	h := findHandle(id)
	if h == nil {
		return C.REVGEN_KIND_OTHER
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.errorKind
}

// C strings that are never freed.
var (
	moduleVersion = sync.OnceValue(func() *C.char { return C.CString(version.Read().Module) })
	kernelPath    = sync.OnceValue(func() *C.char {
		p, _, err := asm.Active()
		if err != nil {
			return C.CString("unavailable: " + err.Error())
		}
		return C.CString(p.String())
	})
)

//export revgenVersion
func revgenVersion() *C.char { return moduleVersion() }

//export revgenKernelPath
func revgenKernelPath() *C.char { return kernelPath() }
