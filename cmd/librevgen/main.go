// Command librevgen is the C ABI of RevGen, revgen.h, built as a shared library or an
// archive:
//
//	go build -buildmode=c-shared -ldflags '-extldflags=-Wl,-z,nodelete' -o librevgen.so ./cmd/librevgen
//
// exports.c holds the functions that hosts call and refuses processes that were
// forked; here they find the handle's model, translate arguments, and make statuses of
// errors and panics.
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

func main() {} // never runs; a library has none

// A handle is what a revgen of the host stands for.
type handle struct {
	using   sync.Mutex // held by the call that it is in
	threads int
	model   *revgen.Model
	target  *callback // of the model, nil if it is not the host's
	sampler *revgen.Sampler
	seed    uint64     // of the sampler
	ranks   mpi.Hosted // of the host's communicator, nil for none

	diagnosis string  // of the model, "" if there is none yet
	diagnosed float64 // the time that it was given

	mu     sync.Mutex // of what follows
	text   string     // of the last error
	kind   C.int      // of it
	cancel context.CancelCauseFunc
}

// handles are those that are open. Numbers are never used again.
var handles = struct {
	sync.Mutex
	open map[uint64]*handle
	last uint64
}{open: map[uint64]*handle{}}

func find(id C.revgen) *handle {
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

// call does something with a handle, and returns its status.
func call(id C.revgen, do func(ctx context.Context, h *handle) error) C.int {
	h := find(id)
	if h == nil {
		return C.REVGEN_HANDLE
	}
	if !h.using.TryLock() {
		return C.REVGEN_BUSY
	}
	defer h.using.Unlock()
	ctx, cancel := context.WithCancelCause(context.Background())
	h.mu.Lock()
	h.text, h.kind, h.cancel = "", C.REVGEN_KIND_OTHER, cancel
	h.mu.Unlock()
	err := crash.Catch(func() error { return do(ctx, h) })
	if p, ok := errors.AsType[*crash.Panic](err); ok {
		if broken, ok := p.Value.(*mpi.Failure); ok {
			err = broken
		}
	}
	if failed := h.target.cause(nil); failed != nil {
		err = failed
		h.use(h.model, h.target) // a sampler remembers that its target failed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel = nil
	cancel(nil)
	if err == nil {
		return C.REVGEN_OK
	}
	h.text, h.kind = err.Error(), kind(err)
	return status(err)
}

// kind returns what revgen.h says that an error is about.
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

// status returns what revgen.h says of an error.
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
		h.use(nil, nil)
		return h.leave()
	})
}

// use replaces what the handle holds.
func (h *handle) use(model *revgen.Model, target *callback) {
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
		h.use(h.model, h.target)
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
			h.use(model, t)
		}
		return hostless(err, t)
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
				h.use(model, t)
				return nil
			}
		}
		return t.cause(err)
	})
}

// prepare translates the arguments of a training, which stop ends.
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
		if opt.MaxTime, err = seconds(training.max_seconds, "training"); err != nil {
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
	return cfg, opt, t, hostless(t.cause(err), t)
}

// hostless adds what is missing where a target of the host's is named and none is given.
func hostless(err error, t *callback) error {
	if err != nil && t == nil && strings.Contains(err.Error(), fmt.Sprintf("unknown system %q", callbackName)) {
		return fmt.Errorf("%w; %s is that of a target by callback, which was not given", err, callbackName)
	}
	return err
}

// seconds returns a time limit, 0 for none.
func seconds(limit C.double, of string) (time.Duration, error) {
	if x := float64(limit); !(x >= 0 && x <= math.MaxInt64/2/1e9) {
		return 0, argument(of + ": max_seconds is not a time")
	}
	return time.Duration(float64(limit) * 1e9), nil
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

// states returns the sampler of a seed, the name of a format, and the host's buffer of
// count states, of as many as it holds if count is nil.
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
		h.use(h.model, h.target)
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
		return give(buffer, size, needed, string(data))
	})
}

// give writes a text to a buffer, and the size that it needs to needed, if that is not
// null.
func give(buffer *C.char, size C.size_t, needed *C.size_t, text string) error {
	n := put(buffer, size, text)
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
		limit, err := seconds(maxSeconds, "diagnose")
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
		return give(buffer, size, needed, h.diagnosis)
	})
}

// put writes a text with a final 0 to a buffer, as much as fits, and returns the size
// of all of it.
func put(buffer *C.char, size C.size_t, s string) C.size_t {
	if buffer != nil && size > 0 {
		to := unsafe.Slice((*byte)(unsafe.Pointer(buffer)), int(min(size, C.size_t(len(s)+1))))
		to[copy(to[:len(to)-1], s)] = 0
	}
	return C.size_t(len(s) + 1)
}

//export revgenCancel
func revgenCancel(id C.revgen) C.int {
	h := find(id)
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
	said := "the handle is not open"
	if h := find(id); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		said = h.text
	}
	return put(buffer, size, said)
}

//export revgenErrorKind
func revgenErrorKind(id C.revgen) C.int {
	h := find(id)
	if h == nil {
		return C.REVGEN_KIND_OTHER
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kind
}

// Texts that stay.
var (
	theVersion = sync.OnceValue(func() *C.char { return C.CString(version.Read().Module) })
	kernelPath = sync.OnceValue(func() *C.char {
		p, _, err := asm.Active()
		if err != nil {
			return C.CString("unavailable: " + err.Error())
		}
		return C.CString(p.String())
	})
)

//export revgenVersion
func revgenVersion() *C.char { return theVersion() }

//export revgenKernelPath
func revgenKernelPath() *C.char { return kernelPath() }
