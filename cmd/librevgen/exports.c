// The exported functions. They come before Go's, because a fork of a process has no
// Go runtime that could be entered: only the thread that forked is left of it.
#include <unistd.h>

#include "_cgo_export.h"

static pid_t owner;

__attribute__((constructor)) static void remember(void) { owner = getpid(); }

#define OWNED(result)             \
  do {                            \
    if (getpid() != owner) return result; \
  } while (0)

static const char forked[] =
    "this process is a fork of the one that loaded librevgen, which cannot be used in it; "
    "fork first, or start another program";

int revgen_open(uint32_t abi, revgen *handle) {
  OWNED(REVGEN_FORKED);
  if (abi != REVGEN_ABI) return REVGEN_VERSION;
  if (!handle) return REVGEN_ARGUMENT;
  return revgenOpen(handle);
}

int revgen_close(revgen handle) {
  OWNED(REVGEN_FORKED);
  return revgenClose(handle);
}

int revgen_threads(revgen handle, int threads) {
  OWNED(REVGEN_FORKED);
  return revgenThreads(handle, threads);
}

int revgen_load(revgen handle, const char *path, const revgen_target *target) {
  OWNED(REVGEN_FORKED);
  return revgenLoad(handle, (char *)path, (revgen_target *)target);
}

int revgen_save(revgen handle, const char *path) {
  OWNED(REVGEN_FORKED);
  return revgenSave(handle, (char *)path);
}

int revgen_train(revgen handle, const char *configuration, const revgen_target *target,
                 const revgen_training *training) {
  OWNED(REVGEN_FORKED);
  return revgenTrain(handle, (char *)configuration, (revgen_target *)target, (revgen_training *)training);
}

int revgen_describe(revgen handle, char *buffer, size_t size, size_t *needed) {
  OWNED(REVGEN_FORKED);
  return revgenDescribe(handle, buffer, size, needed);
}

int revgen_sample(revgen handle, uint64_t seed, uint64_t first, uint64_t count, const char *format,
                  int refine, void *buffer, size_t size) {
  OWNED(REVGEN_FORKED);
  return revgenSample(handle, seed, first, count, (char *)format, refine, buffer, size);
}

int revgen_energies(revgen handle, uint64_t count, const char *format, const void *states,
                    size_t size, double *energies, double *beta) {
  OWNED(REVGEN_FORKED);
  return revgenEnergies(handle, count, (char *)format, (void *)states, size, energies, beta);
}

int revgen_refine(revgen handle, uint64_t seed, uint64_t first, const char *format, int steps,
                  void *states, size_t size) {
  OWNED(REVGEN_FORKED);
  return revgenRefine(handle, seed, first, (char *)format, steps, states, size);
}

int revgen_diagnose(revgen handle, double max_seconds, char *buffer, size_t size, size_t *needed) {
  OWNED(REVGEN_FORKED);
  return revgenDiagnose(handle, max_seconds, buffer, size, needed);
}

int revgen_metropolis(revgen handle, const revgen_spins *target, int kind, uint64_t steps, uint64_t seed,
                      uint32_t stream, uint64_t first, uint64_t count, uint64_t *states, size_t size) {
  OWNED(REVGEN_FORKED);
  return revgenMetropolis(handle, (revgen_spins *)target, kind, steps, seed, stream, first, count, states, size);
}

int revgen_spin_energies(revgen handle, const revgen_spins *target, uint64_t count, const uint64_t *states,
                         size_t size, double *energies) {
  OWNED(REVGEN_FORKED);
  return revgenSpinEnergies(handle, (revgen_spins *)target, count, (uint64_t *)states, size, energies);
}

int revgen_set_communicator(revgen handle, int communicator) {
  OWNED(REVGEN_FORKED);
  return revgenSetCommunicator(handle, communicator);
}

int revgen_cancel(revgen handle) {
  OWNED(REVGEN_FORKED);
  return revgenCancel(handle);
}

size_t revgen_error(revgen handle, char *buffer, size_t size) {
  if (getpid() == owner) return revgenError(handle, buffer, size);
  size_t n = buffer && size ? size - 1 : 0;
  if (n > sizeof forked - 1) n = sizeof forked - 1;
  for (size_t i = 0; i < n; i++) buffer[i] = forked[i];
  if (buffer && size) buffer[n] = 0;
  return sizeof forked;
}

int revgen_error_kind(revgen handle) {
  OWNED(REVGEN_KIND_OTHER);
  return revgenErrorKind(handle);
}

uint32_t revgen_abi(void) { return REVGEN_ABI; }

const char *revgen_version(void) {
  OWNED("");
  return revgenVersion();
}

const char *revgen_kernel_path(void) {
  OWNED("");
  return revgenKernelPath();
}

// Go cannot call a C function by its pointer.
int revgen_call_log_density(const revgen_target *t, size_t n, const double *x, const int32_t *mode,
                            double *out) {
  return t->log_density(t->context, n, t->dim, x, mode, out);
}

int revgen_call_progress(const revgen_training *t, int64_t step, int64_t steps, double loss,
                         double acceptance) {
  return t->progress(t->context, step, steps, loss, acceptance);
}
