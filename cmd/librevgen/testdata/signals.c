/* A host's signal handlers stay its own: those of signals that other processes send are
 * not touched, and SIGPIPE and the faults of the host's own code, which Go handles
 * first, still reach its handler.
 * The arguments are the library and a model of 3 x 3 spins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <revgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t seen;

static void count(int s) { seen = seen + (s > 0); }

static void fault(int s, siginfo_t *info, void *context) {
  (void)context;
  _exit(s == SIGSEGV && info->si_addr == (void *)16 ? 0 : 1);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  static const int asynchronous[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE, SIGCONT, SIGTSTP};
  struct sigaction mine = {0}, now;
  mine.sa_handler = count;
  for (size_t i = 0; i < sizeof asynchronous / sizeof *asynchronous; i++)
    if (sigaction(asynchronous[i], &mine, NULL)) return 1;
  struct sigaction faults = {0};
  faults.sa_sigaction = fault;
  faults.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (sigaction(SIGSEGV, &faults, NULL)) return 1;

  void *lib = dlopen(argv[1], RTLD_NOW);
  if (!lib) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*open_)(uint32_t, revgen *) = (int (*)(uint32_t, revgen *))dlsym(lib, "revgen_open");
  int (*load)(revgen, const char *, const revgen_target *) = (int (*)(revgen, const char *, const revgen_target *))dlsym(lib, "revgen_load");
  int (*sample)(revgen, uint64_t, uint64_t, uint64_t, const char *, int, void *, size_t) =
      (int (*)(revgen, uint64_t, uint64_t, uint64_t, const char *, int, void *, size_t))dlsym(lib, "revgen_sample");
  revgen h;
  static char spins[9 * 10000];
  if (open_(REVGEN_ABI, &h) || load(h, argv[2], NULL) || sample(h, 1, 0, 10000, NULL, 4, spins, sizeof spins)) return 1;

  for (size_t i = 0; i < sizeof asynchronous / sizeof *asynchronous; i++) {
    if (sigaction(asynchronous[i], NULL, &now) || (now.sa_handler != count && asynchronous[i] != SIGPIPE))
      return fprintf(stderr, "the handler of signal %d is another\n", asynchronous[i]), 1;
    int before = seen;
    raise(asynchronous[i]);
    if (seen != before + 1) return fprintf(stderr, "signal %d did not arrive\n", asynchronous[i]), 1;
  }
  dlclose(lib); /* keeps it: the library is linked with -z nodelete */
  if (sample(h, 1, 0, 10000, NULL, 4, spins, sizeof spins)) return 1;
  *(volatile int *)16 = 0; /* the host's own fault ends in its handler */
  return 1;
}
