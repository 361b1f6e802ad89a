/* RevGen from C: samples of a trained model, and a generator of a target of one's own.
 *
 *     cc ring.c $(pkg-config --cflags --libs revgen) -lm -o ring
 *     ./ring MODEL SEED N OUT
 *
 * MODEL is that of a 3x3 lattice, which "revgen train" leaves in runs/ising-quick-seed1.
 */
#include <math.h>
#include <revgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static revgen h;

static void check(int status) {
  if (status == REVGEN_OK) return;
  char why[1024];
  revgen_error(h, why, sizeof why);
  fprintf(stderr, "status %d: %s\n", status, why);
  exit(1);
}

/* A ring of radius 2 and width 0.4 in the plane. */
static int ring(void *context, size_t n, size_t d, const double *x, const int32_t *mode,
                double *out) {
  const double *radius = context;
  (void)mode;
  for (size_t i = 0; i < n; i++) {
    double squares = 0;
    for (size_t j = 0; j < d; j++) squares += x[i * d + j] * x[i * d + j];
    double away = (sqrt(squares) - *radius) / 0.4;
    out[i] = -away * away / 2;
  }
  return 0;
}

static int progress(void *context, int64_t step, int64_t steps, double loss, double acceptance) {
  (void)loss;
  *(int64_t *)context = steps - step;
  return !(acceptance > 0); /* nothing moves: stop */
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s MODEL SEED N OUT\n", argv[0]);
    return 2;
  }
  const uint64_t seed = strtoull(argv[2], NULL, 10), n = strtoull(argv[3], NULL, 10);
  check(revgen_open(REVGEN_ABI, &h));
  check(revgen_threads(h, 2));
  check(revgen_load(h, argv[1], NULL));

  /* 3 x 3 spins as int8, each sample after two Metropolis steps. */
  const size_t size = n * 9;
  int8_t *spins = malloc(size);
  double *energies = malloc(n * sizeof *energies), beta, mean = 0;
  if (!spins || !energies) return 1;
  check(revgen_sample(h, seed, 0, n, "spins", 2, spins, size));
  check(revgen_energies(h, n, "spins", spins, size, energies, &beta));
  for (uint64_t i = 0; i < n; i++) mean += energies[i] / (double)n;
  FILE *out = fopen(argv[4], "wb");
  if (!out || fwrite(spins, 1, size, out) != size || fclose(out)) return 1;
  printf("%s on %s: <E> = %.3f at beta = %g\n", revgen_version(), revgen_kernel_path(), mean, beta);
  free(spins);
  free(energies);

  /* Chains of the same target: 1024 states, all up, after 20 sweeps. */
  static uint64_t words[1024];
  static double chain[1024];
  const revgen_spins lattice = {sizeof lattice, beta, 3, 1, 0, 0, 0, NULL, NULL, NULL};
  for (int i = 0; i < 1024; i++) words[i] = 0777;
  check(revgen_metropolis(h, &lattice, REVGEN_SWEEPS, 20, seed, 0, 0, 1024, words, sizeof words));
  check(revgen_spin_energies(h, &lattice, 1024, words, sizeof words, chain));
  double walked = 0;
  for (int i = 0; i < 1024; i++) walked += chain[i] / 1024;
  printf("<E> = %.3f of chains\n", walked);
  if (fabs(walked + 4.843) > 0.7) return 1;

  /* What the samples can be trusted for, in half a second. */
  size_t needed;
  revgen_diagnose(h, 0.5, NULL, 0, &needed);
  char *report = malloc(needed);
  if (!report) return 1;
  check(revgen_diagnose(h, 0.5, report, needed, NULL));
  const char *sentence = strstr(report, "\"sentence\":\""); /* of JSON, which has much more */
  if (!sentence) return 1;
  sentence += strlen("\"sentence\":\"");
  printf("diagnosis: %.*s\n", (int)strcspn(sentence, "\""), sentence);
  free(report);

  double radius = 2;
  int64_t left = -1;
  const revgen_target target = {sizeof target, 2, 0, ring, &radius};
  const revgen_training training = {sizeof training, NULL, 0, progress, &left};
  check(revgen_train(h,
                     "{\"system\": \"callback\", \"training\": {\"steps\": 50, \"batch\": 256},"
                     " \"evaluation\": {\"samples\": 2000}}",
                     &target, &training));
  static float x[1000][2];
  check(revgen_sample(h, seed, 0, 1000, "states", 64, x, sizeof x));
  double distance = 0;
  for (int i = 0; i < 1000; i++) distance += sqrt(x[i][0] * x[i][0] + x[i][1] * x[i][1]) / 1000;
  printf("<|x|> = %.2f on a ring of radius 2, %d steps left\n", distance, (int)left);
  check(revgen_close(h));
  return left != 0 || fabs(distance - 2) > 0.3;
}
