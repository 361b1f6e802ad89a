//go:build mpi && mpich

package mpi

/*
#cgo pkg-config: mpich

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void revgen_pause(void) {
	const struct timespec ms = {0, 1000000};
	nanosleep(&ms, NULL);
}

// revgen_linger leaves a child that has nothing but stdout and stderr, closes stdout when
// this process has ended, and stderr when it has been waited for, or 2 s later. The child
// is of one thread and calls only what a signal handler may.
static void revgen_linger(void) {
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const pid_t self = getpid();
	if (fork() == 0) {
		close(0);
#ifdef SYS_close_range
		if (syscall(SYS_close_range, 3, ~0u, 0) != 0)
#endif
			for (long fd = sysconf(_SC_OPEN_MAX); fd > 2; fd--) close((int)fd);
		for (int i = 0; i < 10000 && getppid() == self; i++) revgen_pause();
		for (int i = 0; i < 10; i++) revgen_pause();
		close(1);
		for (int i = 0; i < 2000 && (kill(self, 0) == 0 || errno != ESRCH); i++) revgen_pause();
		_exit(0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
*/
import "C"

// finalizeOnAbort tells Abort to end MPI if all ranks end at the same time. If one exits without doing so,
// MPICH's mpirun kills the others, and takes their codes.
const finalizeOnAbort = true

// linger is called before an exit with a code other than 0. After the proxy of MPICH's mpirun has passed
// on a signal, it takes 0 for the code of any process that it waits for after stdout and stderr of all
// processes of a node have closed (HYD_pmcd_pmip.downstream.forced_cleanup in hydra's pmip.c). So linger
// lets them close one after the other, and after the process has ended.
func linger() { C.revgen_linger() }
