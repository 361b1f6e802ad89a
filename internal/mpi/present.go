//go:build mpi

package mpi

/*
#include <mpi.h>
#include <signal.h>

// A signal on the small stack of a goroutine would end the process: handlers that MPI
// has installed in front of Go's (MPICH for SIGUSR1) have to ask for another one.
static void revgen_onstack(void) {
	for (int s = 1; s < NSIG; s++) {
		struct sigaction a;
		if (sigaction(s, NULL, &a) == 0 && !(a.sa_flags & SA_ONSTACK) && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN) {
			a.sa_flags |= SA_ONSTACK;
			sigaction(s, &a, NULL);
		}
	}
}

static int revgen_init(int *provided) {
	int done = 0, err = MPI_Initialized(&done);
	if (err != MPI_SUCCESS) return err;
	if (done) {
		err = MPI_Query_thread(provided);
	} else {
		err = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, provided);
	}
	if (err == MPI_SUCCESS) revgen_onstack();
	return err;
}

static int revgen_dup(MPI_Comm *comm) {
	int err = MPI_Comm_dup(MPI_COMM_WORLD, comm);
	if (err != MPI_SUCCESS) return err;
	return MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

static int revgen_place(MPI_Comm comm, int *rank, int *size) {
	int err = MPI_Comm_rank(comm, rank);
	return err != MPI_SUCCESS ? err : MPI_Comm_size(comm, size);
}

static int revgen_gather(MPI_Comm comm, void *data, const int *counts, const int *starts) {
	return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, starts, MPI_BYTE, comm);
}

static int revgen_tell(MPI_Comm comm, void *data, int count, int root) {
	return MPI_Bcast(data, count, MPI_BYTE, root, comm);
}

static int revgen_finalize(void) {
	int done = 0, err = MPI_Finalized(&done);
	return err != MPI_SUCCESS || done ? err : MPI_Finalize();
}

static void revgen_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static int revgen_describe(int code, char *text, int *length) { return MPI_Error_string(code, text, length); }

enum { revgen_text = MPI_MAX_ERROR_STRING, revgen_serialized = MPI_THREAD_SERIALIZED };
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// Present tells whether the program has MPI.
const Present = true

// most is the largest count of one call.
const most = math.MaxInt32

type world struct {
	comm       C.MPI_Comm
	rank, size int
	counts     []C.int
	starts     []C.int
}

// takers are what keeps libraries under MPI from taking signals that Go uses
// itself, such as that of a nil pointer.
var takers = []string{"UCX_ERROR_SIGNALS=", "IPATH_NO_BACKTRACE=1", "HFI_NO_BACKTRACE=1"}

// prepare begins the program anew with an environment that is read when libraries
// are loaded.
func prepare() error {
	env := os.Environ()
	for _, t := range takers {
		if name, _, _ := strings.Cut(t, "="); !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, t)
		}
	}
	if len(env) == len(os.Environ()) {
		return nil
	}
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, env)
	}
	return err
}

// Init joins the job, or starts to use an MPI that the process has initialised.
func Init() (World, error) {
	if err := prepare(); err != nil {
		return nil, err
	}
	var provided C.int
	if err := wrong(C.revgen_init(&provided)); err != nil {
		return nil, err
	}
	if provided < C.revgen_serialized {
		return nil, fmt.Errorf("MPI: it allows calls from its first thread only (level %d, MPI_THREAD_SERIALIZED is %d), and goroutines change threads", provided, C.revgen_serialized)
	}
	w := new(world)
	if err := wrong(C.revgen_dup(&w.comm)); err != nil {
		return nil, err
	}
	var rank, size C.int
	if err := wrong(C.revgen_place(w.comm, &rank, &size)); err != nil {
		return nil, err
	}
	w.rank, w.size = int(rank), int(size)
	w.counts, w.starts = make([]C.int, size), make([]C.int, size)
	return w, nil
}

func (w *world) Rank() int { return w.rank }
func (w *world) Size() int { return w.size }

// Gather implements pool.Ranks. What goes wrong in the middle of a step cannot be
// mended on one rank: it ends the job.
func (w *world) Gather(data []byte, ends []int) {
	if len(data) == 0 {
		return
	}
	var err error
	if len(data) <= most {
		start := 0
		for r, end := range ends {
			w.starts[r], w.counts[r] = C.int(start), C.int(end-start)
			start = end
		}
		err = wrong(C.revgen_gather(w.comm, unsafe.Pointer(&data[0]), &w.counts[0], &w.starts[0]))
	} else {
		start := 0
		for r, end := range ends {
			for ; start < end && err == nil; start += min(most, end-start) {
				err = wrong(C.revgen_tell(w.comm, unsafe.Pointer(&data[start]), C.int(min(most, end-start)), C.int(r)))
			}
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "revgen: rank %d of %d: %v\n", w.rank, w.size, err)
		w.Abort(1)
	}
}

func (w *world) Finalize() error { return wrong(C.revgen_finalize()) }

func (w *world) Abort(code int) {
	C.revgen_abort(C.int(code))
	os.Exit(code) // an MPI whose Abort returns
}

// wrong describes what an MPI function returned, nil for success.
func wrong(code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	text := make([]C.char, C.revgen_text)
	length := C.int(0)
	if C.revgen_describe(code, &text[0], &length) != C.MPI_SUCCESS {
		return fmt.Errorf("MPI: error %d", code)
	}
	return fmt.Errorf("MPI: %s", C.GoStringN(&text[0], length))
}
