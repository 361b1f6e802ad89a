/* What a call through the C ABI costs over the same call in Go: both in one process, by
 * turns, the medians of the processor times of one thread. Arguments: a model of 3 x 3
 * spins, the number of turns, and the largest number of samples. */
#define _POSIX_C_SOURCE 200809L
#include <revgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t revgen_overhead(revgen h, uint64_t first, void *buffer, size_t size, int calls); /* with -tags overhead */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  enum { most = 1000 };
  const int turns = argc == 4 ? atoi(argv[2]) : 0;
  revgen h;
  if (turns < 1 || turns > most || revgen_open(REVGEN_ABI, &h) || revgen_threads(h, 1) || revgen_load(h, argv[1], NULL)) return 2;
  const size_t largest = strtoull(argv[3], NULL, 10);
  char *spins = malloc(9 * largest);
  const struct { size_t samples; int calls; } cases[] = {{0, 10000}, {1, 1000}, {1000, 100}, {largest, 1}};
  static double c[most], go[most];
  if (!spins || largest < 1000 || revgen_sample(h, 1, 0, largest, "spins", 0, spins, 9 * largest)) return 1;
  printf("samples  ns a call in C  ns a call in Go   ratio\n");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const size_t n = cases[k].samples;
    for (int i = 0; i < turns; i++) {
      double start = now();
      for (int j = 0; j < cases[k].calls; j++)
        if (revgen_sample(h, 1, 0, n, "spins", 0, spins, 9 * n)) return 1;
      c[i] = (now() - start) / cases[k].calls;
      go[i] = (double)revgen_overhead(h, 0, spins, 9 * n, cases[k].calls) / cases[k].calls;
      if (go[i] < 0) return 1;
    }
    qsort(c, turns, sizeof *c, ascending);
    qsort(go, turns, sizeof *go, ascending);
    printf("%7zu  %14.0f  %15.0f  %6.4f\n", n, c[turns / 2], go[turns / 2], c[turns / 2] / go[turns / 2]);
  }
  free(spins);
  return revgen_close(h);
}
