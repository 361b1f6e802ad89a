/* What a host can do wrong with a communicator is a status, and MPI goes on. */
#include <mpi.h>
#include <pthread.h>
#include <revgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static revgen h;
static int rank;

#define EXPECT(want, call)                                                                     \
  do {                                                                                         \
    int got = (call);                                                                          \
    char why[512];                                                                             \
    revgen_error(h, why, sizeof why);                                                          \
    if (got != (want)) {                                                                       \
      fprintf(stderr, "rank %d, line %d: status %d, not %d (%s): %s\n", rank, __LINE__, got, want, why, #call); \
      exit(1);                                                                                 \
    }                                                                                          \
    if (rank == 0 && got) printf("%d: %s\n", got, why);                                        \
  } while (0)

static int status;
static void *elsewhere(void *p) {
  status = revgen_set_communicator(h, *(int *)p);
  return NULL;
}

static const char config[] =
    "{\"system\": \"callback\", \"preset\": \"paper\", \"training\": {\"steps\": 9, \"batch\": 256}, \"evaluation\": {\"samples\": 200}}";
static const char other[] =
    "{\"system\": \"callback\", \"preset\": \"paper\", \"training\": {\"steps\": 5, \"batch\": 64}, \"evaluation\": {\"samples\": 200}}";

static int fails_at = -1, calls_left; /* rank, and how often it answers before */
static int density(void *context, size_t n, size_t d, const double *x, const int32_t *mode, double *out) {
  (void)context, (void)mode;
  for (size_t i = 0; i < n; i++) {
    out[i] = 0;
    for (size_t j = 0; j < d; j++) out[i] -= x[i * d + j] * x[i * d + j] / 2;
  }
  return rank == fails_at && calls_left-- <= 0;
}

int main(int argc, char **argv) {
  int level;
  EXPECT(REVGEN_OK, revgen_open(REVGEN_ABI, &h));
  EXPECT(REVGEN_ERROR, revgen_set_communicator(h, 0)); /* before MPI_Init */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int world = (int)MPI_Comm_c2f(MPI_COMM_WORLD);
  EXPECT(REVGEN_ERROR, revgen_set_communicator(h, (int)MPI_Comm_c2f(MPI_COMM_NULL)));
  EXPECT(REVGEN_ERROR, revgen_set_communicator(h, 123456789));
  EXPECT(REVGEN_HANDLE, revgen_set_communicator(0, world));
  pthread_t thread;
  if (level < MPI_THREAD_SERIALIZED) { /* another thread must not */
    if (pthread_create(&thread, NULL, elsewhere, &world) || pthread_join(thread, NULL)) return 1;
    if (status != REVGEN_ERROR) return 1;
  }
  EXPECT(REVGEN_OK, revgen_set_communicator(h, world));
  EXPECT(REVGEN_OK, revgen_set_communicator(h, world));
  EXPECT(REVGEN_OK, revgen_threads(h, 1));

  /* What is wrong on one rank alone ends the call on all. */
  const revgen_target target = {sizeof target, 2, 0, density, NULL};
  EXPECT(rank == 1 ? REVGEN_ARGUMENT : REVGEN_ERROR, revgen_train(h, rank == 1 ? NULL : config, &target, NULL));
  EXPECT(REVGEN_ERROR, revgen_train(h, rank == 1 ? other : config, &target, NULL));
  EXPECT(REVGEN_OK, revgen_train(h, config, &target, NULL));
  fails_at = 1; /* at once, where the configuration is read */
  EXPECT(rank == 1 ? REVGEN_CALLBACK : REVGEN_ERROR, revgen_train(h, config, &target, NULL));
  fails_at = 1, calls_left = 30; /* in the middle of a step */
  EXPECT(rank == 1 ? REVGEN_CALLBACK : REVGEN_ERROR, revgen_train(h, config, &target, NULL));
  fails_at = -1;
  EXPECT(REVGEN_OK, revgen_train(h, config, &target, NULL));

  /* The errors of the host's own communicators end the process as before. */
  MPI_Errhandler now;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
  if (now != MPI_ERRORS_ARE_FATAL) return 1;
  MPI_Finalize();
  EXPECT(REVGEN_ERROR, revgen_train(h, config, &target, NULL));
  EXPECT(REVGEN_OK, revgen_close(h));
  return 0;
}
