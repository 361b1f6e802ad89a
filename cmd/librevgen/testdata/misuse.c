/* Whatever a host does wrong is a status, and what it does right works afterwards. Nothing
 * is printed unless something is not as it should be. The arguments are a model of 3 x 3
 * spins, a number of random calls, a directory that is not there, and a seed. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <revgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(want, call)                                                                     \
  do {                                                                                         \
    int got = (call);                                                                          \
    if (got != (want)) {                                                                       \
      char why[512];                                                                           \
      revgen_error(h, why, sizeof why);                                                        \
      fprintf(stderr, "line %d: status %d, not %d (%s): %s\n", __LINE__, got, want, why, #call); \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

/* A wrong argument is said in these words. */
#define SAYS(words, call)                                                                      \
  do {                                                                                         \
    char why[512];                                                                             \
    EXPECT(REVGEN_ARGUMENT, call);                                                             \
    revgen_error(h, why, sizeof why);                                                          \
    if (!strstr(why, words)) fprintf(stderr, "line %d: not \"%s\": %s\n", __LINE__, words, why), exit(1); \
  } while (0)

static revgen h;

enum behaviour { RIGHT, FAILS, FAILS_LATE, UNDEFINED, CALLS_BACK, CANCELS, OTHER_HANDLE };

static struct { enum behaviour behaviour; int calls, inner; } state;

static int normal(void *context, size_t n, size_t d, const double *x, const int32_t *mode, double *out) {
  (void)context;
  state.calls++;
  for (size_t i = 0; i < n; i++) {
    out[i] = mode ? -0.1 * mode[i] : 0;
    for (size_t j = 0; j < d; j++) out[i] -= x[i * d + j] * x[i * d + j] / 2;
    if (state.behaviour == UNDEFINED) out[i] = NAN;
  }
  char buffer[9];
  revgen other;
  switch (state.behaviour) {
    case FAILS: return 42;
    case FAILS_LATE: return state.calls > 40;
    case CALLS_BACK:
      state.inner = revgen_sample(h, 1, 0, 1, NULL, 0, buffer, sizeof buffer);
      break;
    case CANCELS: return revgen_cancel(h);
    case OTHER_HANDLE: /* which is independent */
      if (revgen_open(REVGEN_ABI, &other)) return 1;
      state.inner = revgen_save(other, "nowhere");
      return revgen_close(other);
    default: break;
  }
  return 0;
}

static int stop_at_once(void *context, int64_t step, int64_t steps, double loss, double acceptance) {
  (void)context, (void)steps, (void)loss, (void)acceptance;
  return step > 0;
}

#define BRIEF \
  "\"training\": {\"steps\": 20, \"batch\": 64, \"log_every\": 1}, \"evaluation\": {\"samples\": 200}}"
static const char config[] = "{\"system\": \"callback\", \"preset\": \"paper\", " BRIEF;
static const char scouting[] = "{\"system\": \"callback\", " BRIEF; /* places Gaussians before it trains */

static void *cancel_soon(void *p) {
  for (int i = 0; i < 200000 && *(volatile int *)p == 0; i++) revgen_cancel(h);
  return NULL;
}

/* Memory whose end is that of a page after which there is none. */
static void *before_the_end(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
  char *all = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + whole, page, PROT_NONE)) exit(2);
  return all + whole - size;
}

/* No function writes or reads beyond a buffer. */
static void exactly(const char *path) {
  size_t needed;
  EXPECT(REVGEN_OK, revgen_load(h, path, NULL));
  static const size_t counts[] = {1, 7, 64, 65, 1000};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    const size_t n = counts[k];
    char *spins = before_the_end(9 * n);
    uint64_t *packed = before_the_end(8 * n);
    double *energies = before_the_end(8 * n), *beta = before_the_end(8);
    EXPECT(REVGEN_OK, revgen_sample(h, 1, 3, n, "spins", 2, spins, 9 * n));
    EXPECT(REVGEN_OK, revgen_refine(h, 1, 3, "spins", 2, spins, 9 * n));
    EXPECT(REVGEN_OK, revgen_energies(h, n, "spins", spins, 9 * n, energies, beta));
    EXPECT(REVGEN_OK, revgen_sample(h, 1, 3, n, "bits", 0, packed, 8 * n));
    revgen_spins law = {sizeof law, 0.3, 3, 1, 0, 0, 0, NULL, NULL, NULL};
    EXPECT(REVGEN_OK, revgen_metropolis(h, &law, REVGEN_SWEEPS, 2, 1, 0, 512, n, packed, 8 * n));
    EXPECT(REVGEN_OK, revgen_metropolis(h, &law, REVGEN_FLIPS, 2, 1, 0, 512, n, packed, 8 * n));
    EXPECT(REVGEN_OK, revgen_spin_energies(h, &law, n, packed, 8 * n, energies));
  }
  EXPECT(REVGEN_ARGUMENT, revgen_describe(h, NULL, 0, &needed));
  EXPECT(REVGEN_OK, revgen_describe(h, before_the_end(needed), needed, NULL));
  EXPECT(REVGEN_ARGUMENT, revgen_describe(h, before_the_end(needed / 2), needed / 2, NULL));
  revgen_load(h, "/nowhere", NULL);
  for (size_t size = 0; size < 40; size++) revgen_error(h, before_the_end(size), size);
}

/* A forked child is refused, by every function, and can end. */
static void forks(void) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    char why[200], byte[9];
    double energy;
    revgen other;
    uint64_t word = 0;
    revgen_spins law = {sizeof law, 0.3, 3, 1, 0, 0, 0, NULL, NULL, NULL};
    const int all[] = {revgen_open(REVGEN_ABI, &other), revgen_close(h), revgen_threads(h, 1), revgen_load(h, "x", NULL),
                       revgen_save(h, "x"), revgen_train(h, "{}", NULL, NULL), revgen_describe(h, byte, 9, NULL),
                       revgen_sample(h, 1, 0, 1, NULL, 0, byte, 9), revgen_energies(h, 1, NULL, byte, 9, &energy, NULL),
                       revgen_refine(h, 1, 0, NULL, 1, byte, 9), revgen_diagnose(h, 1, byte, 9, NULL),
                       revgen_metropolis(h, &law, 0, 1, 1, 0, 0, 1, &word, 8), revgen_spin_energies(h, &law, 1, &word, 8, &energy),
                       revgen_set_communicator(h, 0), revgen_cancel(h)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
      if (all[i] != REVGEN_FORKED) _exit(10 + (int)i);
    if (revgen_error(h, why, sizeof why) > sizeof why || !strstr(why, "fork") || revgen_error_kind(h) || *revgen_version() || *revgen_kernel_path()) _exit(9);
    _exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status) fprintf(stderr, "the child ended with %x\n", status), exit(1);
}

static uint64_t seed;

static uint64_t random_bits(void) { /* splitmix64 */
  uint64_t z = (seed += 0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
#define PICK(list) (list)[random_bits() % (sizeof(list) / sizeof *(list))]

/* Any arguments: a status below REVGEN_DEFECT, and no harm. */
static void fuzz(const char *path, int rounds) {
  static char buffer[9 * 64], text[64];
  static double energies[64];
  for (int i = 0; i < rounds; i++) {
    for (size_t k = 0; k < sizeof buffer; k++) buffer[k] = PICK(((char[]){1, -1, 1, -1, 1, -1, 1, -1, 0}));
    revgen closed = 1000 + i % 7, handle = PICK(((revgen[]){h, h, h, h, 0, closed, UINT64_MAX}));
    const char *format = PICK(((const char *[]){NULL, "spins", "bits", "states", "", "\xff", "?"}));
    const char *file = PICK(((const char *[]){NULL, path, "", "/nowhere/at/all", "/", "/dev/null"}));
    const char *json = PICK(((const char *[]){NULL, "", "{", "[]", "{}", "{\"system\": 3}", "{\"system\": \"callback\"}",
                                              "{\"system\": \"ising\", \"target\": {\"l\": -1}}", "\xff\xfe"}));
    revgen_target target = {PICK(((size_t[]){0, sizeof(revgen_target), SIZE_MAX})), PICK(((size_t[]){0, SIZE_MAX, 1 << 20})),
                            PICK(((size_t[]){0, 1, SIZE_MAX})), PICK(((revgen_log_density[]){NULL, normal})), NULL};
    revgen_training training = {PICK(((size_t[]){0, sizeof(revgen_training)})), NULL, PICK(((double[]){-1, NAN, INFINITY})), NULL, NULL};
    uint64_t first = PICK(((uint64_t[]){0, 1, 1 << 20, UINT64_MAX, UINT64_MAX - 3, (uint64_t)1 << 63}));
    uint64_t n = random_bits() % 65, count = PICK(((uint64_t[]){n, n, n, n + 1, UINT64_MAX, (uint64_t)1 << 61}));
    size_t size = PICK(((size_t[]){9 * n, 9 * n, 8 * n, 9 * n + 1, 0, SIZE_MAX}));
    void *data = size == SIZE_MAX || random_bits() % 16 == 0 ? NULL : buffer;
    int steps = PICK(((int[]){0, 1, 3, -1, 5, INT32_MIN})); /* INT32_MAX would be taken, for hours */
    double beta;
    static uint64_t packed[64];
    for (size_t k = 0; k < 64; k++) packed[k] = random_bits() >> PICK(((int[]){55, 55, 55, 0}));
    static const uint32_t pairs[] = {0, 1, 1, 2, 2, 0, 0, 9, 3, 3};
    static const double numbers[] = {1, -1, 0.5, 1, INFINITY, NAN, 0, 0, 0};
    revgen_spins spins = {PICK(((size_t[]){sizeof(revgen_spins), sizeof(revgen_spins), 0, SIZE_MAX})),
                          PICK(((double[]){0.3, 0, -1, NAN, INFINITY})), PICK(((size_t[]){3, 0, 0, 1, 2048, SIZE_MAX})),
                          PICK(((double[]){1, 1, NAN})), PICK(((double[]){0, 1, INFINITY})), PICK(((size_t[]){9, 9, 0, 1, SIZE_MAX})),
                          PICK(((size_t[]){3, 0, 4, 5, SIZE_MAX})), PICK(((const uint32_t *[]){pairs, pairs, pairs, NULL})),
                          PICK(((const double *[]){numbers, numbers, NULL})), PICK(((const double *[]){NULL, numbers}))};
    if (spins.edges == SIZE_MAX || spins.sites > 9) spins.edge = NULL, spins.couplings = NULL, spins.fields = NULL;
    revgen_spins *law = random_bits() % 9 ? &spins : NULL;
    uint64_t *words = random_bits() % 9 ? packed : PICK(((uint64_t *[]){NULL, (uint64_t *)((char *)packed + 4)}));
    size_t room = PICK(((size_t[]){8 * n, 8 * n, 8 * n, 8 * n + 1, 0}));
    if (words != packed && words) room = room < 400 ? room : 400;
    double limit = PICK(((double[]){0.05, -1, NAN, INFINITY}));
    int status = 0;
    switch (random_bits() % 13) {
      case 9: case 10: status = revgen_metropolis(handle, law, PICK(((int[]){0, 1, 0, 1, 2, -1})), PICK(((uint64_t[]){0, 1, 3, UINT64_MAX})), random_bits(), 1, first, count, words, room); break;
      case 11: status = revgen_spin_energies(handle, law, count, words, room, random_bits() % 9 ? energies : NULL); break;
      case 12: status = revgen_diagnose(handle, limit, random_bits() % 2 ? NULL : text, random_bits() % (sizeof text + 1), random_bits() % 2 ? NULL : &size); break;
      case 0: status = revgen_load(handle, file, random_bits() % 2 ? NULL : &target); break;
      case 1: status = revgen_train(handle, json, random_bits() % 2 ? NULL : &target, &training); break;
      case 2: case 3: status = revgen_sample(handle, random_bits(), first, count, format, steps, data, size); break;
      case 4: status = revgen_energies(handle, count, format, data, size, random_bits() % 9 ? energies : NULL, random_bits() % 2 ? NULL : &beta); break;
      case 5: status = revgen_refine(handle, random_bits(), first, format, steps, data, size); break;
      case 6: status = revgen_describe(handle, text, random_bits() % sizeof text, NULL); break;
      case 7: status = revgen_threads(handle, steps); break;
      default: revgen_error(handle, text, random_bits() % sizeof text); break;
    }
    if (status < REVGEN_OK || status >= REVGEN_DEFECT) {
      revgen_error(h, text, sizeof text);
      fprintf(stderr, "round %d: status %d: %s\n", i, status, text);
      exit(1);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  seed = strtoull(argv[4], NULL, 10);
  const char *path = argv[1];
  char buffer[90], text[4096];
  double energies[10];
  size_t needed;

  /* Handles. */
  EXPECT(REVGEN_VERSION, revgen_open(REVGEN_ABI + 1, &h));
  EXPECT(REVGEN_ARGUMENT, revgen_open(REVGEN_ABI, NULL));
  EXPECT(REVGEN_HANDLE, revgen_load(0, path, NULL));
  revgen closed;
  EXPECT(REVGEN_OK, revgen_open(REVGEN_ABI, &closed));
  EXPECT(REVGEN_OK, revgen_close(closed));
  EXPECT(REVGEN_HANDLE, revgen_close(closed));
  EXPECT(REVGEN_HANDLE, revgen_sample(closed, 1, 0, 1, NULL, 0, buffer, 9));
  EXPECT(REVGEN_OK, revgen_open(REVGEN_ABI, &h));

  /* Without a model, and with one. */
  EXPECT(REVGEN_ERROR, revgen_sample(h, 1, 0, 1, NULL, 0, buffer, 9));
  EXPECT(REVGEN_ARGUMENT, revgen_load(h, NULL, NULL));
  EXPECT(REVGEN_KIND_OTHER, revgen_error_kind(h));
  EXPECT(REVGEN_ERROR, revgen_load(h, "/nowhere", NULL));
  EXPECT(REVGEN_KIND_MISSING, revgen_error_kind(h));
  EXPECT(REVGEN_ERROR, revgen_load(h, argv[0], NULL));
  EXPECT(REVGEN_KIND_FILE, revgen_error_kind(h));
  EXPECT(REVGEN_KIND_OTHER, revgen_error_kind(closed));
  EXPECT(REVGEN_ERROR, revgen_train(h, "{\"system\": \"callback\"}", NULL, NULL));
  EXPECT(REVGEN_KIND_CONFIGURATION, revgen_error_kind(h));
  revgen_error(h, text, sizeof text);
  if (!strstr(text, "callback is that of a target by callback, which was not given")) return 1;
  if (revgen_error(h, text, 4) < 10 || strlen(text) != 3) return 1; /* cut, and ended */
  EXPECT(REVGEN_OK, revgen_load(h, path, NULL));
  EXPECT(REVGEN_OK, revgen_sample(h, 1, 0, 10, NULL, 1, buffer, sizeof buffer));
  EXPECT(REVGEN_ARGUMENT, revgen_sample(h, 1, 0, 10, NULL, 1, buffer, 89));
  revgen_error(h, text, sizeof text);
  if (strcmp(text, "size: 89 bytes, where 10·9 of the format spins are needed")) return 1;
  EXPECT(REVGEN_ARGUMENT, revgen_sample(h, 1, 0, UINT64_MAX, NULL, 1, buffer, 90));
  EXPECT(REVGEN_ARGUMENT, revgen_sample(h, 1, 0, 10, NULL, 1, NULL, 90));
  EXPECT(REVGEN_OK, revgen_sample(h, 1, 0, 0, NULL, 1, NULL, 0));
  EXPECT(REVGEN_ERROR, revgen_sample(h, 1, 0, 10, "csv", 1, buffer, 90));
  EXPECT(REVGEN_ERROR, revgen_sample(h, 1, UINT64_MAX, 10, NULL, 1, buffer, 90));
  EXPECT(REVGEN_ARGUMENT, revgen_energies(h, 10, "spins", buffer, 90, NULL, NULL));
  EXPECT(REVGEN_OK, revgen_energies(h, 10, "spins", buffer, 90, energies, NULL));
  buffer[3] = 0;
  EXPECT(REVGEN_ERROR, revgen_energies(h, 10, "spins", buffer, 90, energies, NULL));
  EXPECT(REVGEN_ARGUMENT, revgen_describe(h, NULL, 0, &needed));
  EXPECT(REVGEN_ARGUMENT, revgen_describe(h, text, 10, NULL));
  EXPECT(needed < sizeof text ? REVGEN_OK : REVGEN_ARGUMENT, revgen_describe(h, text, sizeof text, NULL));
  EXPECT(REVGEN_ARGUMENT, revgen_diagnose(h, -1, NULL, 0, &needed));
  EXPECT(REVGEN_ARGUMENT, revgen_diagnose(h, 1, NULL, 0, &needed));
  char *report = malloc(needed);
  EXPECT(REVGEN_ARGUMENT, revgen_diagnose(h, 1, report, needed - 1, NULL));
  EXPECT(REVGEN_OK, revgen_diagnose(h, 1, report, needed, &needed));
  if (strlen(report) + 1 != needed || !strstr(report, "\"verdict\"")) return 1;
  free(report);
  EXPECT(REVGEN_ARGUMENT, revgen_threads(h, -1));
  EXPECT(REVGEN_OK, revgen_threads(h, 2));

  /* Spins. */
  uint64_t words[4] = {0, 1, 0777, 0525};
  const uint32_t pairs[] = {0, 1, 1, 0};
  const double ones[] = {1, 1};
  revgen_spins law = {sizeof law, 0.3, 3, 1, 0, 0, 0, NULL, NULL, NULL};
  EXPECT(REVGEN_OK, revgen_spin_energies(h, &law, 4, words, sizeof words, energies));
  if (energies[0] != -18 || energies[1] != -10 || energies[2] != -18) return 1;
  EXPECT(REVGEN_OK, revgen_metropolis(h, &law, REVGEN_SWEEPS, 3, 1, 0, 512, 4, words, sizeof words));
  EXPECT(REVGEN_OK, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 4, words, sizeof words));
  EXPECT(REVGEN_OK, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 0, NULL, 0));
  EXPECT(REVGEN_ARGUMENT, revgen_metropolis(h, NULL, REVGEN_FLIPS, 3, 1, 0, 5, 4, words, sizeof words));
  SAYS("of 8 bytes each", revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 4, words, 31));
  EXPECT(REVGEN_ARGUMENT, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 4, NULL, 32));
  SAYS("kind: 2 is", revgen_metropolis(h, &law, 2, 3, 1, 0, 5, 4, words, sizeof words));
  SAYS("first: 5 is not a multiple of the 512 chains", revgen_metropolis(h, &law, REVGEN_SWEEPS, 3, 1, 0, 5, 4, words, sizeof words));
  SAYS("steps: 18446744073709551615 are more", revgen_metropolis(h, &law, REVGEN_FLIPS, UINT64_MAX, 1, 0, 5, 4, words, sizeof words));
  EXPECT(REVGEN_ARGUMENT, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, UINT64_MAX, 4, words, sizeof words));
  EXPECT(REVGEN_OK, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, (UINT64_C(1) << 36) - 4, 4, words, sizeof words));
  SAYS("first: chains 68719476733 to 68719476736 are beyond the 68719476736 ", revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, (UINT64_C(1) << 36) - 3, 4, words, sizeof words));
  words[2] |= 1 << 9;
  SAYS("state 2 has bits beyond its 9 spins", revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 4, words, sizeof words));
  words[2] = 0, law.size--;
  EXPECT(REVGEN_VERSION, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 4, words, sizeof words));
  law.size++, law.beta = -1;
  EXPECT(REVGEN_ERROR, revgen_metropolis(h, &law, REVGEN_FLIPS, 3, 1, 0, 5, 4, words, sizeof words));
  law = (revgen_spins){sizeof law, 0.3, 0, 0, 0, 2, 2, pairs, ones, NULL};
  EXPECT(REVGEN_ERROR, revgen_spin_energies(h, &law, 1, words, 8, energies)); /* a pair twice */
  law.edges = 1, words[0] = 0;
  EXPECT(REVGEN_OK, revgen_spin_energies(h, &law, 1, words, 8, energies));
  law.side = 2;
  EXPECT(REVGEN_ARGUMENT, revgen_spin_energies(h, &law, 1, words, 8, energies));
  EXPECT(REVGEN_ERROR, revgen_set_communicator(h, 0)); /* no MPI */

  /* Callbacks. */
  revgen_target target = {sizeof target, 2, 0, normal, NULL};
  revgen_training training = {sizeof training, NULL, 0, NULL, NULL};
  EXPECT(REVGEN_ERROR, revgen_train(h, config, NULL, NULL));
  target.size--;
  EXPECT(REVGEN_VERSION, revgen_train(h, config, &target, NULL));
  target.size++, training.size--;
  EXPECT(REVGEN_VERSION, revgen_train(h, config, &target, &training));
  training.size++, target.log_density = NULL;
  EXPECT(REVGEN_ARGUMENT, revgen_train(h, config, &target, &training));
  target.log_density = normal;
  const struct { enum behaviour behaviour; int status; } cases[] = {
      {FAILS, REVGEN_CALLBACK}, {FAILS_LATE, REVGEN_CALLBACK}, {UNDEFINED, REVGEN_ERROR}, {CALLS_BACK, REVGEN_OK},
      {CANCELS, REVGEN_STOPPED}, {OTHER_HANDLE, REVGEN_OK}, {RIGHT, REVGEN_OK}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    state.behaviour = cases[i].behaviour, state.calls = state.inner = 0;
    const int kind = cases[i].behaviour == UNDEFINED ? REVGEN_KIND_CONFIGURATION : REVGEN_KIND_OTHER;
    EXPECT(cases[i].status, revgen_train(h, i == 1 || cases[i].behaviour == RIGHT ? scouting : config, &target, &training));
    EXPECT(kind, revgen_error_kind(h));
    if (cases[i].behaviour == CALLS_BACK && state.inner != REVGEN_BUSY) return 1;
    if (cases[i].behaviour == OTHER_HANDLE && state.inner != REVGEN_ERROR) return 1;
    revgen_error(h, text, sizeof text);
    if ((cases[i].status == REVGEN_OK) != (*text == 0)) return 1;
  }
  training.progress = stop_at_once, training.directory = argv[3];
  EXPECT(REVGEN_STOPPED, revgen_train(h, config, &target, &training));
  training.progress = NULL;
  state.behaviour = UNDEFINED;
  EXPECT(REVGEN_ERROR, revgen_train(h, config, &target, &training));
  EXPECT(REVGEN_ERROR, revgen_train(h, scouting, &target, &training)); /* another configuration's checkpoint */
  state.behaviour = RIGHT;
  EXPECT(REVGEN_OK, revgen_train(h, config, &target, &training));
  training.directory = "/dev/null/run";
  EXPECT(REVGEN_ERROR, revgen_train(h, config, &target, &training));
  training.directory = NULL;
  /* What failed before leaves the last model, whose target may fail later. */
  float x[64];
  state.behaviour = FAILS;
  EXPECT(REVGEN_CALLBACK, revgen_sample(h, 1, 0, 32, NULL, 2, x, sizeof x));
  EXPECT(REVGEN_OK, revgen_sample(h, 1, 0, 32, NULL, 0, x, sizeof x));
  state.behaviour = RIGHT;
  EXPECT(REVGEN_OK, revgen_sample(h, 1, 0, 32, NULL, 2, x, sizeof x));
  target.modes = 3;
  EXPECT(REVGEN_OK, revgen_train(h, config, &target, &training));

  /* Another thread cancels, at any moment. */
  for (int i = 0; i < 3; i++) {
    volatile int done = 0;
    pthread_t other;
    if (pthread_create(&other, NULL, cancel_soon, (void *)&done)) return 1;
    int status = revgen_train(h, config, &target, &training);
    done = 1;
    pthread_join(other, NULL);
    if (status != REVGEN_OK && status != REVGEN_STOPPED) return 1;
  }

  EXPECT(REVGEN_OK, revgen_load(h, path, NULL));
  fuzz(path, atoi(argv[2]));
  exactly(path);
  forks();
  EXPECT(REVGEN_OK, revgen_load(h, path, NULL));
  EXPECT(REVGEN_OK, revgen_sample(h, 1, 0, 10, NULL, 1, buffer, sizeof buffer));
  EXPECT(REVGEN_OK, revgen_close(h));
  return 0;
}
