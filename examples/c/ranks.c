/* RevGen in a program with MPI of its own: one training on all ranks of a communicator.
 *
 *     mpicc ranks.c $(pkg-config --cflags --libs revgen) -o ranks
 *     mpirun -n 4 ./ranks OUT
 *
 * The library is one built with -tags mpi. Every rank has the model in the end, with
 * the bits of one process, and draws samples of its own. */
#include <math.h>
#include <mpi.h>
#include <revgen.h>
#include <stdio.h>
#include <stdlib.h>

static revgen h;

static void check(int status) {
  if (status == REVGEN_OK) return;
  char why[1024];
  revgen_error(h, why, sizeof why);
  fprintf(stderr, "status %d: %s\n", status, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A ring of radius 2 and width 0.4 in the plane. */
static int ring(void *context, size_t n, size_t d, const double *x, const int32_t *mode, double *out) {
  (void)mode;
  *(long *)context += (long)n;
  for (size_t i = 0; i < n; i++) {
    double squares = 0;
    for (size_t j = 0; j < d; j++) squares += x[i * d + j] * x[i * d + j];
    double away = (sqrt(squares) - 2) / 0.4;
    out[i] = -away * away / 2;
  }
  return 0;
}

int main(int argc, char **argv) {
  int level, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  if (argc != 2) {
    fprintf(stderr, "usage: %s OUT\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  /* Any communicator: this one has the ranks in the opposite order. */
  MPI_Comm mine;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &mine);
  MPI_Comm_rank(mine, &rank);
  MPI_Comm_size(mine, &size);

  check(revgen_open(REVGEN_ABI, &h));
  check(revgen_threads(h, 1));
  check(revgen_set_communicator(h, (int)MPI_Comm_c2f(mine)));
  long evaluated = 0;
  const revgen_target target = {sizeof target, 2, 0, ring, &evaluated};
  check(revgen_train(h,
                     "{\"system\": \"callback\", \"preset\": \"paper\", \"training\": {\"steps\": 40, \"batch\": 256},"
                     " \"evaluation\": {\"samples\": 2000}}",
                     &target, NULL));
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  check(revgen_save(h, path));

  /* 1000 samples, of which each rank draws its part, and their mean over all. */
  static float x[1000][2];
  const uint64_t first = 1000 * (uint64_t)rank / (uint64_t)size, n = 1000 * (uint64_t)(rank + 1) / (uint64_t)size - first;
  check(revgen_sample(h, 3, first, n, "states", 64, x, n * sizeof *x));
  double sum = 0, mean;
  for (uint64_t i = 0; i < n; i++) sum += sqrt(x[i][0] * x[i][0] + x[i][1] * x[i][1]) / 1000;
  MPI_Allreduce(&sum, &mean, 1, MPI_DOUBLE, MPI_SUM, mine);
  if (rank == 0) printf("<|x|> = %.4f on a ring of radius 2, by %d ranks; %ld states evaluated here\n", mean, size, evaluated);

  check(revgen_close(h));
  MPI_Comm_free(&mine);
  MPI_Finalize();
  return fabs(mean - 2) > 0.3;
}
