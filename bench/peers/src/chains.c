/* Markov chains of spins as an expert would run them on one thread: Wolff's and
 * Swendsen and Wang's clusters of the square lattice, and replica exchange of 64 lanes of
 * bit-coded Metropolis for couplings ±1 on any graph of even degrees up to 6.
 *
 * select wolff|swendsen-wang L BETA SEED [MOVES]    row: E, |m| after so many moves, 1 if not said
 * select tempering N SEED LEVELS, after load        row: means over 64 lanes of E, E² and each pair's s_i s_j
 *        edges (i j J)*, pairs (i j)*, levels BETA*, the first of which is observed
 * Each call adds a row to the array series; forget empties it. */
#include "peer.h"
#include <math.h>

static const char *about(void) { return "gcc " __VERSION__ ", one thread, xoshiro256+"; }

/* xoshiro256+ of Blackman and Vigna, seeded by splitmix64. */
static uint64_t state[4];

static inline uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

static inline uint64_t draw(void)
{
	uint64_t result = state[0] + state[3], t = state[1] << 17;
	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= t;
	state[3] = rotl(state[3], 45);
	return result;
}

static inline uint32_t draw32(void) { return draw() >> 32; }

static void seed(uint64_t s)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = s += 0x9e3779b97f4a7c15;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		state[i] = z ^ z >> 31;
	}
}

static double *rows;
static size_t filled, room, width;

static void record(const double *row)
{
	if (filled + width > room) {
		room = room ? 2 * room : 1 << 20;
		rows = realloc(rows, room * sizeof *rows);
		if (!rows) abort();
	}
	memcpy(rows + filled, row, width * sizeof *rows);
	filled += width;
}

static void publish(void)
{
	memcpy(array("series", filled * sizeof *rows), rows, filled * sizeof *rows);
}

static void (*update)(void);

static void call(void) { update(); }

/* The square lattice. */
static int side, sites;
static uint32_t bond; /* 2³² (1 − exp(−2β)) */
static int8_t *spin;
static int32_t (*near)[4], *stack, *root;
static int8_t *face;
static int moves; /* of a call */
static void (*move)(void);

static void observe(void)
{
	int32_t m = 0, agree = 0;
	for (int y = 0; y < side; y++) {
		const int8_t *row = spin + y * side, *below = spin + (y + 1) % side * side;
		int32_t sum = 0, down = 0, right = row[side - 1] * row[0];
		for (int x = 0; x < side; x++) sum += row[x];
		for (int x = 0; x < side; x++) down += row[x] * below[x];
		for (int x = 0; x + 1 < side; x++) right += row[x] * row[x + 1];
		m += sum;
		agree += down + right;
	}
	double a = fabs((double)m) / sites, row[2] = {-(double)agree, a};
	record(row);
}

static void wolff(void)
{
	int i = (uint64_t)draw32() * sites >> 32;
	int8_t s = spin[i];
	int n = 0;
	spin[i] = -s;
	stack[n++] = i;
	while (n) {
		const int32_t *of = near[stack[--n]];
		for (int e = 0; e < 4; e++) {
			int j = of[e];
			if (spin[j] == s && draw32() < bond) {
				spin[j] = -s;
				stack[n++] = j;
			}
		}
	}
}

static int find(int i)
{
	while (root[i] != i) i = root[i] = root[root[i]];
	return i;
}

static void swendsen_wang(void)
{
	for (int i = 0; i < sites; i++) root[i] = i;
	for (int i = 0; i < sites; i++) {
		for (int e = 0; e < 2; e++) {
			int j = near[i][e];
			if (spin[i] == spin[j] && draw32() < bond) {
				int a = find(i), b = find(j);
				if (a < b) root[b] = a;
				else root[a] = b;
			}
		}
	}
	uint64_t bits = 0;
	for (int i = 0; i < sites; i++) {
		/* A root is the first site of its cluster. */
		int r = find(i);
		if (r == i) {
			if (!(i & 63) || !bits) bits = draw();
			face[i] = bits & 1 ? 1 : -1;
			bits >>= 1;
		}
		spin[i] *= face[r];
	}
}

static void clusters(void)
{
	for (int i = 0; i < moves; i++) move();
	observe();
}

static const char *square(int argc, char **argv)
{
	if (argc != 4 && argc != 5) return "select wolff|swendsen-wang L BETA SEED [MOVES]";
	side = atoi(argv[1]);
	if (side < 3 || side > 4096) return "L is not between 3 and 4096";
	sites = side * side;
	bond = (uint32_t)(-expm1(-2 * atof(argv[2])) * 4294967296.0);
	moves = argc == 5 ? atoi(argv[4]) : 1;
	seed(strtoull(argv[3], NULL, 10));
	spin = realloc(spin, sites);
	face = realloc(face, sites);
	near = realloc(near, sites * sizeof *near);
	stack = realloc(stack, sites * sizeof *stack);
	root = realloc(root, sites * sizeof *root);
	if (!spin || !face || !near || !stack || !root) abort();
	for (int i = 0; i < sites; i++) {
		int x = i % side, y = i / side;
		near[i][0] = y * side + (x + 1) % side;
		near[i][1] = (y + 1) % side * side + x;
		near[i][2] = y * side + (x + side - 1) % side;
		near[i][3] = (y + side - 1) % side * side + x;
		spin[i] = 1;
	}
	width = 2;
	move = strcmp(argv[0], "wolff") ? swendsen_wang : wolff;
	update = clusters;
	return NULL;
}

/* Bit l of a word is the spin of lane l, 1 for −1. */
enum { DEGREE = 6, LEVELS = 64, COUNTS = 16 };
static int vertices, levels, couples, bonds;
static struct { int degree, other[DEGREE]; uint64_t sign[DEGREE]; } *vertex;
static int32_t (*edge)[3], (*pair)[2];
static uint64_t *replica;
static double beta[LEVELS];
static uint64_t below[LEVELS][DEGREE / 2]; /* 2⁶⁴ exp(−4β(k+1)) */
static int parity;

/* bernoulli returns 64 independent bits of probability p/2⁶⁴: binary digits of 64 random
 * numbers, most significant first, until all have been decided. */
static inline uint64_t bernoulli(uint64_t p, uint64_t undecided)
{
	uint64_t yes = 0;
	for (; undecided && p; p <<= 1) {
		uint64_t r = draw();
		if (p >> 63) {
			yes |= undecided & ~r;
			undecided &= r;
		} else {
			undecided &= ~r;
		}
	}
	return yes;
}

static void sweep(int t)
{
	uint64_t *s = replica + (size_t)t * vertices;
	for (int i = 0; i < vertices; i++) {
		/* Unsatisfied bonds, counted in three binary digits. */
		uint64_t one = 0, two = 0, four = 0;
		int d = vertex[i].degree;
		for (int e = 0; e < d; e++) {
			uint64_t x = s[i] ^ s[vertex[i].other[e]] ^ vertex[i].sign[e], carry = one & x;
			one ^= x;
			four |= two & carry;
			two ^= carry;
		}
		/* With u unsatisfied bonds the flip costs 2(d − 2u): at most 0 from d/2 on. */
		uint64_t flip = ~(uint64_t)0;
		for (int u = 0; 2 * u < d; u++) {
			uint64_t are = (u & 1 ? one : ~one) & (u & 2 ? two : ~two) & ~four;
			if (are) flip &= ~are | bernoulli(below[t][(d - 2 * u) / 2 - 1], are);
		}
		s[i] ^= flip;
	}
}

/* energies counts unsatisfied bonds of each lane. */
static void energies(int t, int32_t *unsatisfied)
{
	const uint64_t *s = replica + (size_t)t * vertices;
	uint64_t count[COUNTS] = {0};
	for (int e = 0; e < bonds; e++) {
		uint64_t x = s[edge[e][0]] ^ s[edge[e][1]] ^ (edge[e][2] < 0 ? ~(uint64_t)0 : 0);
		for (int k = 0; x && k < COUNTS; k++) {
			uint64_t carry = count[k] & x;
			count[k] ^= x;
			x = carry;
		}
	}
	for (int l = 0; l < 64; l++) {
		int32_t n = 0;
		for (int k = 0; k < COUNTS; k++) n |= (int32_t)(count[k] >> l & 1) << k;
		unsatisfied[l] = n;
	}
}

static void tempering(void)
{
	static int32_t e[LEVELS][64];
	for (int t = 0; t < levels; t++) sweep(t);
	for (int t = 0; t < levels; t++) energies(t, e[t]);
	parity ^= 1;
	for (int t = parity; t + 1 < levels; t += 2) {
		uint64_t swap = 0;
		for (int l = 0; l < 64; l++) {
			double x = 2 * (beta[t] - beta[t + 1]) * (e[t][l] - e[t + 1][l]);
			if (x >= 0 || draw() < (uint64_t)(exp(x) * 18446744073709549568.0)) {
				swap |= (uint64_t)1 << l;
				int32_t was = e[t][l];
				e[t][l] = e[t + 1][l];
				e[t + 1][l] = was;
			}
		}
		uint64_t *a = replica + (size_t)t * vertices, *b = a + vertices;
		for (int i = 0; i < vertices; i++) {
			uint64_t x = (a[i] ^ b[i]) & swap;
			a[i] ^= x;
			b[i] ^= x;
		}
	}
	double row[2 + 64] = {0};
	for (int l = 0; l < 64; l++) {
		double energy = 2 * e[0][l] - bonds;
		row[0] += energy / 64;
		row[1] += energy * energy / 64;
	}
	for (int c = 0; c < couples; c++)
		row[2 + c] = 1 - __builtin_popcountll(replica[pair[c][0]] ^ replica[pair[c][1]]) / 32.0;
	record(row);
}

static size_t bytes_of(const char *name)
{
	for (int i = 0; i < peer_count; i++)
		if (!strcmp(peer_arrays[i].name, name)) return peer_arrays[i].bytes;
	return 0;
}

static const char *glass(int argc, char **argv)
{
	if (argc != 4) return "select tempering N SEED LEVELS";
	vertices = atoi(argv[1]);
	seed(strtoull(argv[2], NULL, 10));
	levels = atoi(argv[3]);
	bonds = bytes_of("edges") / sizeof *edge;
	couples = bytes_of("pairs") / sizeof *pair;
	if (levels < 1 || levels > LEVELS || bytes_of("levels") != levels * sizeof *beta) return "there are not that many levels";
	if (couples > 64 || bonds >= 1 << COUNTS) return "too many pairs or edges";
	edge = array("edges", bonds * sizeof *edge);
	pair = array("pairs", couples * sizeof *pair);
	memcpy(beta, array("levels", levels * sizeof *beta), levels * sizeof *beta);
	vertex = realloc(vertex, vertices * sizeof *vertex);
	replica = realloc(replica, (size_t)levels * vertices * sizeof *replica);
	if (!vertex || !replica) abort();
	memset(vertex, 0, vertices * sizeof *vertex);
	for (int e = 0; e < bonds; e++) {
		for (int end = 0; end < 2; end++) {
			int i = edge[e][end], d = vertex[i].degree++;
			if (d == DEGREE) return "a spin has more than six neighbours";
			vertex[i].other[d] = edge[e][1 - end];
			vertex[i].sign[d] = edge[e][2] < 0 ? ~(uint64_t)0 : 0;
		}
	}
	for (int i = 0; i < vertices; i++)
		if (vertex[i].degree & 1) return "a spin has an odd number of neighbours";
	for (int t = 0; t < levels; t++)
		for (int k = 0; k < DEGREE / 2; k++) below[t][k] = (uint64_t)(exp(-4 * beta[t] * (k + 1)) * 18446744073709549568.0);
	for (size_t i = 0; i < (size_t)levels * vertices; i++) replica[i] = draw();
	width = 2 + couples;
	update = tempering;
	return NULL;
}

static const char *select_operation(int argc, char **argv)
{
	filled = 0;
	if (!strcmp(argv[0], "wolff") || !strcmp(argv[0], "swendsen-wang")) return square(argc, argv);
	if (!strcmp(argv[0], "tempering")) return glass(argc, argv);
	return "unknown operation";
}
