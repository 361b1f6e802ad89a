/* Metropolis sweeps of the Ising model (J = 1, no field) on periodic L x L
 * lattices, multi-spin coded by hand with AVX-512: a vector holds the spins of 512
 * replicas at one site. Every thread has 512 replicas of its own.
 *
 * With n unsatisfied bonds a flip is accepted if n >= 2, or with one draw u of the
 * site if n = 1 and u < exp(-4 beta), or n = 0 and u < exp(-8 beta). Shared draws,
 * from 16 generators xoshiro128+ side by side, decide for all replicas; independent
 * ones are compared bit by bit, highest first, from 16 generators whose outputs
 * make a plane of 512 random bits.
 *
 *   select shared|independent L BETA SEED    spins[L][L][8] of the first thread;
 *                                            a call is one sweep of all threads */
#include "peer.h"
#include <immintrin.h>
#include <math.h>
#include <omp.h>

#define THREADS 256
#define SITES 4096 /* of a row */

typedef __m512i word;
typedef struct { word a, b, c, d; } generator;

static struct {
	int side, independent, threads;
	uint32_t one, none; /* thresholds of n = 1 and n = 0 */
	word *spins[THREADS];
	generator random[THREADS];
} lattice;

static inline __attribute__((always_inline)) word next(generator *g)
{
	word out = _mm512_add_epi32(g->a, g->d), t = _mm512_slli_epi32(g->b, 9);
	g->c = _mm512_xor_si512(g->c, g->a);
	g->d = _mm512_xor_si512(g->d, g->b);
	g->b = _mm512_xor_si512(g->b, g->c);
	g->a = _mm512_xor_si512(g->a, g->d);
	g->c = _mm512_xor_si512(g->c, t);
	g->d = _mm512_rol_epi32(g->d, 11);
	return out;
}

/* The functions of three bits that the update needs, as VPTERNLOG's tables. */
enum { A = 0xF0, B = 0xCC, C = 0xAA };
#define LOGIC(table, a, b, c) _mm512_ternarylogic_epi64(a, b, c, (table) & 0xFF)

/* bonds sets both and any: whether both or any of the bonds to x and y are unsatisfied. */
static inline __attribute__((always_inline)) void bonds(word s, word x, word y, word *both, word *any)
{
	*both = LOGIC((A ^ B) & (A ^ C), s, x, y);
	*any = LOGIC((A ^ B) | (A ^ C), s, x, y);
}

/* shared updates the sites of one colour in row s, with up and down beside it. */
static inline __attribute__((always_inline)) void shared(word *s, const word *up, const word *down, int side, int first, generator *g)
{
	static __thread uint32_t one[SITES + 16] __attribute__((aligned(64))), none[SITES + 16] __attribute__((aligned(64)));
	const word t1 = _mm512_set1_epi32((int)lattice.one), t0 = _mm512_set1_epi32((int)lattice.none);
	generator state = *g;
	for (int k = 0; k < side / 2; k += 16) {
		word u = next(&state);
		_mm512_store_si512(one + k, _mm512_movm_epi32(_mm512_cmplt_epu32_mask(u, t1)));
		_mm512_store_si512(none + k, _mm512_movm_epi32(_mm512_cmplt_epu32_mask(u, t0)));
	}
	*g = state;
	word left = s[(first + side - 1) % side];
	for (int k = 0, x = first; x < side; k++, x += 2) {
		word here = s[x], right = s[x + 1 < side ? x + 1 : 0], both, any, both2, any2;
		bonds(here, up[x], down[x], &both, &any);
		bonds(here, left, right, &both2, &any2);
		word flip = LOGIC((A & B) | (C & (A | B)), any, any2, _mm512_set1_epi32((int)one[k]));
		flip = LOGIC(A | B | C, flip, both, both2);
		s[x] = LOGIC(A ^ (B | C), here, flip, _mm512_set1_epi32((int)none[k]));
		left = right;
	}
}

/* independent is the same with a draw for every replica. */
static inline __attribute__((always_inline)) void independent(word *s, const word *up, const word *down, int side, int first, generator *g)
{
	const word zero = _mm512_setzero_si512(), ones = _mm512_set1_epi64(-1);
	generator state = *g;
	word left = s[(first + side - 1) % side];
	for (int x = first; x < side; x += 2) {
		word here = s[x], right = s[x + 1 < side ? x + 1 : 0], both, any, both2, any2;
		bonds(here, up[x], down[x], &both, &any);
		bonds(here, left, right, &both2, &any2);
		word some = _mm512_or_si512(any, any2);                            /* n >= 1 */
		word flip = _mm512_or_si512(LOGIC(A & B, any, any2, zero), _mm512_or_si512(both, both2)); /* n >= 2 */
		word open = _mm512_andnot_si512(flip, ones);                       /* still to be decided */
		for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
			word u = next(&state);
			/* The bit of the threshold of each replica. */
			word p = lattice.one & bit ? (lattice.none & bit ? ones : some) : (lattice.none & bit ? _mm512_andnot_si512(some, ones) : zero);
			flip = _mm512_or_si512(flip, LOGIC(A & B & ~C, open, p, u));
			open = LOGIC(A & ~(B ^ C), open, p, u);
			if (bit <= 1u << 22 && !_mm512_test_epi64_mask(open, open)) break;
		}
		s[x] = _mm512_xor_si512(here, flip);
		left = right;
	}
	*g = state;
}

static inline __attribute__((always_inline)) void row(word *spins, int y, int colour, generator *g)
{
	int side = lattice.side;
	word *s = spins + (size_t)y * side;
	const word *up = spins + (size_t)(y ? y - 1 : side - 1) * side, *down = spins + (size_t)(y + 1 < side ? y + 1 : 0) * side;
	if (lattice.independent) independent(s, up, down, side, (y + colour) % 2, g);
	else shared(s, up, down, side, (y + colour) % 2, g);
}

/* The second colour follows the first by a row, so that a large lattice passes
 * through the cache once; its first row is a neighbour of the last and comes last. */
static void call(void)
{
#pragma omp parallel num_threads(lattice.threads)
	{
		int thread = omp_get_thread_num();
		word *spins = lattice.spins[thread];
		generator g = lattice.random[thread];
		for (int y = 0; y < lattice.side; y++) {
			row(spins, y, 0, &g);
			if (y > 1) row(spins, y - 1, 1, &g);
		}
		row(spins, lattice.side - 1, 1, &g);
		row(spins, 0, 1, &g);
		lattice.random[thread] = g;
	}
}

static const char *about(void)
{
	static char text[128];
	snprintf(text, sizeof text, "gcc %s -O3 -march=native, AVX-512 intrinsics, %d threads", __VERSION__, omp_get_max_threads());
	return text;
}

static uint32_t splitmix(uint64_t *seed)
{
	uint64_t z = *seed += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return (uint32_t)((z ^ (z >> 31)) >> 16);
}

static const char *select_operation(int argc, char **argv)
{
	if (argc != 4 || (strcmp(argv[0], "shared") && strcmp(argv[0], "independent")))
		return "usage: select shared|independent L BETA SEED";
	int side = atoi(argv[1]);
	if (side < 4 || side % 2 || side > SITES) return "L must be even and at least 4";
	double beta = atof(argv[2]);
	uint64_t seed = strtoull(argv[3], NULL, 10);
	for (int i = 0; i < lattice.threads; i++) free(lattice.spins[i]);
	lattice.side = side;
	lattice.independent = argv[0][0] == 'i';
	lattice.threads = omp_get_max_threads() < THREADS ? omp_get_max_threads() : THREADS;
	lattice.one = (uint32_t)lround(exp(-4 * beta) * 4294967295.0);
	lattice.none = (uint32_t)lround(exp(-8 * beta) * 4294967295.0);
	for (int i = 0; i < lattice.threads; i++) {
		size_t bytes = (size_t)side * side * sizeof(word);
		uint32_t *words = aligned_alloc(64, bytes);
		if (!words) abort();
		lattice.spins[i] = (word *)words;
		for (size_t k = 0; k < bytes / 4; k++) words[k] = splitmix(&seed);
		uint32_t *state = (uint32_t *)&lattice.random[i];
		for (size_t k = 0; k < sizeof(generator) / 4; k++) state[k] = splitmix(&seed);
	}
	array("spins", (size_t)side * side * sizeof(word));
	return NULL;
}

static void publish(void)
{
	if (!lattice.side) return;
	size_t bytes = (size_t)lattice.side * lattice.side * sizeof(word);
	memcpy(array("spins", bytes), lattice.spins[0], bytes);
}
