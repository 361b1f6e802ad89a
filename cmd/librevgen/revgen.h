/* RevGen from C: generators of independent samples, trained by reversibility.
 *
 *     revgen h;
 *     char why[256];
 *     if (revgen_open(REVGEN_ABI, &h) || revgen_load(h, "runs/ising", NULL) ||
 *         revgen_sample(h, 7, 0, 1000, "spins", 0, spins, sizeof spins))
 *       fprintf(stderr, "%s\n", (revgen_error(h, why, sizeof why), why));
 *     revgen_close(h);
 *
 * Every function but the last five below returns a status, 0 for success, and
 * leaves a text for revgen_error. Nothing is printed, no function ends the
 * process, and all buffers are the caller's. A handle serves one call at a time,
 * from any thread; different handles are independent. docs/embedding.md says what
 * a host with a Go runtime inside must know. */
#ifndef REVGEN_H
#define REVGEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A library serves hosts of its own version alone. */
#define REVGEN_ABI 1

enum {
  REVGEN_OK = 0,
  REVGEN_ERROR = 1,    /* what revgen_error says: a file, a format, a configuration */
  REVGEN_HANDLE = 2,   /* no open handle */
  REVGEN_ARGUMENT = 3, /* a null pointer or a wrong length */
  REVGEN_VERSION = 4,  /* another version of this interface */
  REVGEN_BUSY = 5,     /* the handle is in a call: of another thread, or the one that called back */
  REVGEN_STOPPED = 6,  /* cancelled, or out of time; the same call continues, if it has a directory */
  REVGEN_CALLBACK = 7, /* a callback failed */
  REVGEN_FORKED = 8,   /* this process is a fork of the one that loaded the library */
  REVGEN_DEFECT = 9    /* a mistake in the library; please report it */
};

/* A handle holds a model and the text of its last error. 0 is none. Handles are
 * numbers that are never used again: one that was closed is refused. */
typedef uint64_t revgen;

/* revgen_log_density sets out[i] = ln pi(x_i, mode_i) + const, -INFINITY where pi
 * vanishes, for n states x, row-major [n][d]; mode is NULL unless the target has
 * modes. It returns 0, or anything else to end the call in which it was called.
 * Calls come one after another, from any thread. It must return: no exception, no
 * longjmp. */
typedef int (*revgen_log_density)(void *context, size_t n, size_t d, const double *x,
                                  const int32_t *mode, double *out);

/* A target of one's own. Its system is named "callback" in a configuration. */
typedef struct {
  size_t size;   /* sizeof(revgen_target) */
  size_t dim;    /* d */
  size_t modes;  /* 0 for real vectors alone */
  revgen_log_density log_density;
  void *context; /* for log_density */
} revgen_target;

/* revgen_progress is called at every logged step. It returns 0 to go on, or
 * anything else to stop with REVGEN_STOPPED. */
typedef int (*revgen_progress)(void *context, int64_t step, int64_t steps, double loss,
                               double acceptance);

/* How a training is carried out; NULL for all zero, which trains in memory. */
typedef struct {
  size_t size;           /* sizeof(revgen_training) */
  const char *directory; /* run directory, or NULL */
  double max_seconds;    /* 0 for no limit */
  revgen_progress progress;
  void *context; /* for progress */
} revgen_training;

/* revgen_open makes a handle. abi is REVGEN_ABI. */
int revgen_open(uint32_t abi, revgen *handle);

/* revgen_close gives a handle back, with what it holds. */
int revgen_close(revgen handle);

/* revgen_threads sets the number of threads of later calls, 0 for one for each
 * processor. Results do not depend on it. */
int revgen_threads(revgen handle, int threads);

/* revgen_load reads the model of a run directory or a model file. target is NULL
 * unless the model is of a target of one's own, and then lives as long as the model. */
int revgen_load(revgen handle, const char *path, const revgen_target *target);

/* revgen_save writes a model file. */
int revgen_save(revgen handle, const char *path);

/* revgen_train trains the model that a configuration in JSON describes:
 *     {"system": "ising", "preset": "best", "target": {"l": 16}}
 * target is as for revgen_load. */
int revgen_train(revgen handle, const char *configuration, const revgen_target *target,
                 const revgen_training *training);

/* revgen_describe writes a JSON object, with a final 0, of the model, its
 * configuration, its evaluation and the formats of its states, to the buffer. needed,
 * which may be NULL, gets its size; REVGEN_ARGUMENT says that the buffer is smaller. */
int revgen_describe(revgen handle, char *buffer, size_t size, size_t *needed);

/* revgen_sample fills the buffer with count samples from number first on of the
 * stream that belongs to the model and the seed, in a format, NULL for the default,
 * each after refine Metropolis steps: the bytes that "revgen sample" writes after a
 * file's header. size is count times row_bytes of the format. */
int revgen_sample(revgen handle, uint64_t seed, uint64_t first, uint64_t count,
                  const char *format, int refine, void *buffer, size_t size);

/* revgen_energies sets energies, [count], to E of states in a format, and beta, which
 * may be NULL, to that of pi(s) ~ exp(-beta E(s)). */
int revgen_energies(revgen handle, uint64_t count, const char *format, const void *states,
                    size_t size, double *energies, double *beta);

/* revgen_refine takes states in a format the given number of Metropolis steps, in
 * place; state i draws the random numbers of sample first + i of the seed. */
int revgen_refine(revgen handle, uint64_t seed, uint64_t first, const char *format, int steps,
                  void *states, size_t size);

/* revgen_diagnose writes a JSON object, with a final 0, that says how far the model's
 * samples can be trusted, without anything exact of the target: what "revgen diagnose
 * --json" prints of it. It takes about max_seconds at most, 0 for a minute. needed
 * is as for revgen_describe. The object is kept with the model: a second call for the
 * same time, with a buffer as large as needed, only copies it. */
int revgen_diagnose(revgen handle, double max_seconds, char *buffer, size_t size, size_t *needed);

/* Spins s_i = +1 or -1 on a graph or a periodic square lattice,
 *     E(s) = - sum over edges J_ij s_i s_j - sum h_i s_i,  pi(s) ~ exp(-beta E(s)).
 * A state is packed into ceil(sites / 64) words: bit i mod 64 of word i / 64 is spin i,
 * 1 for +1; bits beyond the last spin are 0. */
typedef struct {
  size_t size;             /* sizeof(revgen_spins) */
  double beta;             /* at least 0 */
  size_t side;             /* L of an L x L lattice, site row * L + column; 0 for a graph */
  double coupling, field;  /* J and h of the lattice */
  size_t sites, edges;     /* of the graph */
  const uint32_t *edge;    /* [edges][2], sites from 0 on, each pair at most once */
  const double *couplings; /* [edges], J_ij */
  const double *fields;    /* [sites], or NULL for none */
} revgen_spins;

enum {
  REVGEN_FLIPS = 0, /* a step proposes to flip one spin, any as likely (Metropolis) */
  REVGEN_SWEEPS = 1 /* a step redraws every spin given its neighbours, by colours (heat bath) */
};

/* revgen_metropolis takes count packed states the given number of steps along a chain
 * that leaves pi as it is, in place. State i draws the random numbers of chain first + i
 * of a seed and a stream alone: chains that go on draw from another stream. first is a
 * multiple of 64 for sweeps of a graph and of 512 for those of a lattice, whose chains
 * draw together. size is count times the bytes of a state. It needs no model. */
int revgen_metropolis(revgen handle, const revgen_spins *target, int kind, uint64_t steps,
                      uint64_t seed, uint32_t stream, uint64_t first, uint64_t count,
                      uint64_t *states, size_t size);

/* revgen_spin_energies sets energies, [count], to E of packed states. */
int revgen_spin_energies(revgen handle, const revgen_spins *target, uint64_t count,
                         const uint64_t *states, size_t size, double *energies);

/* revgen_set_communicator makes later trainings of the handle one training of all ranks
 * of the host's MPI communicator, a Fortran handle as MPI_Comm_c2f returns it. The host
 * calls MPI_Init_thread before, with MPI_THREAD_FUNNELED or more, and MPI_Finalize after
 * revgen_close. All ranks call revgen_set_communicator, revgen_train and revgen_close
 * with the same arguments, from the thread of MPI_Init_thread unless MPI allows others;
 * all have the model then, the bits of one process. Rank 0 alone uses the directory,
 * calls progress and has an evaluation. REVGEN_ERROR where the library was built
 * without MPI (-tags mpi). */
int revgen_set_communicator(revgen handle, int communicator);

/* revgen_cancel ends the call that the handle is in, from any thread or callback. */
int revgen_cancel(revgen handle);

/* revgen_error writes the text of the handle's last error, cut to size and with a
 * final 0, to the buffer, and returns the size of all of it. */
size_t revgen_error(revgen handle, char *buffer, size_t size);

/* What the last error of a handle is about. */
enum {
  REVGEN_KIND_OTHER = 0,         /* anything else, or there was no error */
  REVGEN_KIND_CONFIGURATION = 1, /* a configuration; the text names the key */
  REVGEN_KIND_FILE = 2,          /* a file that is damaged, of another version, or refused by the system */
  REVGEN_KIND_MISSING = 3,       /* a file that is not there */
  REVGEN_KIND_NUMBER = 4         /* a number of the training or of the target that is not finite */
};

/* revgen_error_kind returns one of them. */
int revgen_error_kind(revgen handle);

/* The interface's and the program's version, and the kernel path: generic, avx2 or
 * avx512. The texts stay. */
uint32_t revgen_abi(void);
const char *revgen_version(void);
const char *revgen_kernel_path(void);

#ifdef __cplusplus
}
#endif
#endif
