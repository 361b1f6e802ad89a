//go:build mpi

package mpi

/*
#include <mpi.h>
#include <pthread.h>
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
	int err = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, provided);
	if (err == MPI_SUCCESS) revgen_onstack();
	return err;
}

// revgen_usable tells whether MPI is between its start and its end, and allows this
// thread to call it.
static int revgen_usable(int *usable, int *here) {
	int begun = 0, over = 0, level = MPI_THREAD_SINGLE, first = 0;
	*usable = *here = 0;
	int err = MPI_Initialized(&begun);
	if (err == MPI_SUCCESS) err = MPI_Finalized(&over);
	if (err != MPI_SUCCESS || !begun || over) return err;
	*usable = 1;
	err = MPI_Query_thread(&level);
	if (err == MPI_SUCCESS) err = MPI_Is_thread_main(&first);
	*here = first || level >= MPI_THREAD_SERIALIZED;
	return err;
}

// revgen_dup asks for errors in place of an end of the process, which is what an
// invalid communicator would be, as that has no handler of its own.
static int revgen_dup(MPI_Comm from, MPI_Comm *comm) {
	MPI_Comm of[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
	MPI_Errhandler before[2];
	for (int i = 0; i < 2; i++) {
		MPI_Comm_get_errhandler(of[i], &before[i]);
		MPI_Comm_set_errhandler(of[i], MPI_ERRORS_RETURN);
	}
	int err = from == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_Comm_dup(from, comm);
	for (int i = 0; i < 2; i++) {
		MPI_Comm_set_errhandler(of[i], before[i]);
		if (before[i] != MPI_ERRORS_ARE_FATAL && before[i] != MPI_ERRORS_RETURN) MPI_Errhandler_free(&before[i]);
	}
	return err != MPI_SUCCESS ? err : MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

static int revgen_dup_world(MPI_Comm *comm) { return revgen_dup(MPI_COMM_WORLD, comm); }
static int revgen_dup_host(int from, MPI_Comm *comm) { return revgen_dup(MPI_Comm_f2c(from), comm); }

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

static int revgen_send(MPI_Comm comm, const void *data, int count, int to) {
	return MPI_Send(data, count, MPI_BYTE, to, 0, comm);
}

static int revgen_receive(MPI_Comm comm, void *data, int count, int from) {
	return MPI_Recv(data, count, MPI_BYTE, from, 0, comm, MPI_STATUS_IGNORE);
}

// revgen_meet begins a barrier, once, and tells whether all ranks have come to it.
static int revgen_meet(MPI_Comm comm, int *met) {
	static MPI_Request request;
	static int begun = 0;
	int err = begun ? MPI_SUCCESS : MPI_Ibarrier(comm, &request);
	begun = err == MPI_SUCCESS;
	*met = 0;
	return begun ? MPI_Test(&request, met, MPI_STATUS_IGNORE) : err;
}

static int revgen_finalize(void) {
	int done = 0, err = MPI_Finalized(&done);
	return err != MPI_SUCCESS || done ? err : MPI_Finalize();
}

static int revgen_free(MPI_Comm *comm) { return MPI_Comm_free(comm); }

static void revgen_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static int revgen_describe(int code, char *text, int *length) { return MPI_Error_string(code, text, length); }

enum { revgen_text = MPI_MAX_ERROR_STRING, revgen_funneled = MPI_THREAD_FUNNELED };

static pthread_t revgen_self(void) { return pthread_self(); }
static int revgen_is(pthread_t thread) { return pthread_equal(thread, pthread_self()); }
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/revgen/revgen/internal/cluster"
)

// Present tells whether the program has MPI.
const Present = true

// maxCount is the largest number of bytes of one call of MPI.
const maxCount = math.MaxInt32

// A job is the ranks of a communicator.
type job struct {
	comm       C.MPI_Comm
	rank, size int
	counts     []C.int // of each rank's bytes in a gathered message
	starts     []C.int // of the same bytes
}

// A world is a job of a program that begins and ends MPI itself.
type world struct {
	job
	thread  C.pthread_t // the thread of Init, which makes all calls
	meeting C.MPI_Comm  // where ranks meet at their end, while others may still wait in comm
}

// A hosted job is the job of a program whose host begins and ends MPI.
type hosted struct{ job }

// signalSettings are environment variables. They keep libraries under MPI from handling signals that Go
// handles itself, such as that of a nil pointer.
var signalSettings = []string{"UCX_ERROR_SIGNALS=", "IPATH_NO_BACKTRACE=1", "HFI_NO_BACKTRACE=1"}

// Prepare restarts a program that a launcher started as one of several processes, with signalSettings in
// its environment, because libraries read them when they are loaded. It must be called before the
// program listens for signals, because the restart would lose them.
func Prepare() error {
	if task, _, err := cluster.Step(os.Getenv); err != nil || task.Count == 1 {
		return nil
	}
	env := os.Environ()
	for _, setting := range signalSettings {
		if name, _, _ := strings.Cut(setting, "="); !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, setting)
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

// Init joins the job, after Prepare. It locks the goroutine to its thread, from which all calls of MPI must
// come.
func Init() (World, error) {
	runtime.LockOSThread()
	var provided C.int
	if err := mpiError(C.revgen_init(&provided)); err != nil {
		return nil, err
	}
	if provided < C.revgen_funneled {
		return nil, fmt.Errorf("MPI: it allows a process no threads (level %d, MPI_THREAD_FUNNELED is %d)", provided, C.revgen_funneled)
	}
	w := &world{thread: C.revgen_self()}
	for _, c := range []*C.MPI_Comm{&w.comm, &w.meeting} {
		if err := mpiError(C.revgen_dup_world(c)); err != nil {
			return nil, err
		}
	}
	return w, w.place()
}

// Host joins a communicator of the host's, by its Fortran handle. All of its ranks
// call it.
func Host(communicator int32) (Hosted, error) {
	if err := callable(); err != nil {
		return nil, err
	}
	h := new(hosted)
	if err := mpiError(C.revgen_dup_host(C.int(communicator), &h.comm)); err != nil {
		return nil, fmt.Errorf("%w; a communicator's number is that of MPI_Comm_c2f", err)
	}
	return h, h.place()
}

// callable returns why the host's thread cannot call MPI now.
func callable() error {
	var usable, here C.int
	err := mpiError(C.revgen_usable(&usable, &here))
	switch {
	case err != nil:
	case usable == 0:
		err = errors.New("MPI: the host has not called MPI_Init, or has ended MPI")
	case here == 0:
		err = errors.New("MPI: the host has allowed calls from the thread of MPI_Init alone, and this is another")
	}
	return err
}

// place asks MPI for the rank and the size of a job.
func (j *job) place() error {
	var rank, size C.int
	if err := mpiError(C.revgen_place(j.comm, &rank, &size)); err != nil {
		return err
	}
	j.rank, j.size = int(rank), int(size)
	j.counts, j.starts = make([]C.int, size), make([]C.int, size)
	return nil
}

func (j *job) Rank() int { return j.rank }
func (j *job) Size() int { return j.size }

func (j *job) gather(data []byte, ends []int) error {
	if len(data) == 0 {
		return nil
	}
	start, broadcast := 0, true // if one rank has all data
	for _, end := range ends {
		broadcast = broadcast && (end == 0 || end == len(data))
	}
	if len(data) <= maxCount && !broadcast {
		for r, end := range ends {
			j.starts[r], j.counts[r] = C.int(start), C.int(end-start)
			start = end
		}
		return mpiError(C.revgen_gather(j.comm, unsafe.Pointer(&data[0]), &j.counts[0], &j.starts[0]))
	}
	for r, end := range ends {
		for start < end {
			n := min(maxCount, end-start)
			if err := mpiError(C.revgen_tell(j.comm, unsafe.Pointer(&data[start]), C.int(n), C.int(r))); err != nil {
				return err
			}
			start += n
		}
	}
	return nil
}

// pass sends data to another rank, or receives data from it.
func (j *job) pass(data []byte, rank int, sends bool) error {
	for len(data) > 0 {
		n := min(maxCount, len(data))
		code := C.int(0)
		if sends {
			code = C.revgen_send(j.comm, unsafe.Pointer(&data[0]), C.int(n), C.int(rank))
		} else {
			code = C.revgen_receive(j.comm, unsafe.Pointer(&data[0]), C.int(n), C.int(rank))
		}
		if err := mpiError(code); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// checkThread panics on another thread than Init's.
func (w *world) checkThread() {
	if C.revgen_is(w.thread) == 0 {
		panic("mpi: called from another thread than Init was")
	}
}

// check ends the job if MPI failed. In the middle of a step one rank alone cannot mend that.
func (w *world) check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "revgen: rank %d of %d: %v\n", w.rank, w.size, err)
		w.Abort(1)
	}
}

// Gather implements pool.Ranks.
func (w *world) Gather(data []byte, ends []int) {
	w.checkThread()
	w.check(w.gather(data, ends))
}

// Send implements pool.Ranks.
func (w *world) Send(to int, data []byte) {
	w.checkThread()
	w.check(w.pass(data, to, true))
}

// Receive implements pool.Ranks.
func (w *world) Receive(from int, data []byte) {
	w.checkThread()
	w.check(w.pass(data, from, false))
}

// check panics if MPI failed, because the host's step cannot continue.
func (h *hosted) check(err error) {
	if err != nil {
		panic(&Failure{err})
	}
}

// Gather implements pool.Ranks.
func (h *hosted) Gather(data []byte, ends []int) { h.check(h.gather(data, ends)) }

// Send implements pool.Ranks.
func (h *hosted) Send(to int, data []byte) { h.check(h.pass(data, to, true)) }

// Receive implements pool.Ranks.
func (h *hosted) Receive(from int, data []byte) { h.check(h.pass(data, from, false)) }

func (h *hosted) Ready() error { return callable() }

func (h *hosted) Free() error {
	if err := callable(); err != nil {
		return err
	}
	return mpiError(C.revgen_free(&h.comm))
}

func (w *world) Meet(patience time.Duration) bool {
	w.checkThread()
	var met C.int
	for end := time.Now().Add(patience); met == 0; time.Sleep(time.Millisecond) {
		_ = C.revgen_meet(w.meeting, &met) // a failure is tried again
		if met == 0 && time.Now().After(end) {
			return false
		}
	}
	return true
}

func (w *world) Finalize(code int) error {
	w.Meet(math.MaxInt64)
	err := mpiError(C.revgen_finalize())
	if code != 0 {
		linger()
	}
	return err
}

// Times of Abort.
const (
	// forwardTime is how long a launcher is given to pass on what was written to stderr, because Open
	// MPI's drops what it has not read when the job is aborted. Abort waits as long for
	// the other ranks.
	forwardTime = 500 * time.Millisecond
	// finalizeTime is how long MPI may take to end.
	finalizeTime = 2 * time.Second
)

func (w *world) Abort(code int) {
	forwarded := time.After(forwardTime)
	here := C.revgen_is(w.thread) != 0
	if here && finalizeOnAbort && w.Meet(forwardTime) {
		time.AfterFunc(finalizeTime, func() { os.Exit(code) })
		_ = w.Finalize(code)
		os.Exit(code)
	}
	<-forwarded
	if here {
		C.revgen_abort(C.int(code))
	}
	linger()
	os.Exit(code) // which the launcher sees, as well as an MPI whose Abort returns
}

// mpiError returns the error of an MPI function by its return code, nil for success.
func mpiError(code C.int) error {
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
