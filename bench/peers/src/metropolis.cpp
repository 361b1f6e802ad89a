/* Metropolis sweeps of the Ising model (J = 1, no field) on periodic L x L
 * lattices, multi-spin coded: bit r of a word is the spin of replica r at one
 * site, and one random number per site decides for all 64 replicas, so that
 * replicas are correlated. The two colours of the checkerboard are stored
 * apart, so that the compiler vectorises the update along a row, and the random
 * numbers come from 16 interleaved xoshiro128+ generators per thread.
 *
 *   select metropolis L BETA SEED    spins[L][L] from random starts; a call is one sweep */
#include "peer.h"
#include <cmath>
#include <omp.h>
#include <vector>

namespace {

constexpr int lanes = 16;

struct Generator {
	alignas(64) uint32_t a[lanes], b[lanes], c[lanes], d[lanes];

	explicit Generator(uint64_t seed)
	{
		for (int i = 0; i < lanes; i++) {
			uint32_t *state[] = {&a[i], &b[i], &c[i], &d[i]};
			for (uint32_t *word : state) { /* splitmix64 */
				seed += 0x9E3779B97F4A7C15u;
				uint64_t z = seed;
				z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
				z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
				*word = (uint32_t)((z ^ (z >> 31)) >> 16);
			}
		}
	}

	void fill(uint32_t *out, int n)
	{
		for (int k = 0; k < n; k += lanes) {
			for (int i = 0; i < lanes; i++) {
				out[k + i] = a[i] + d[i];
				uint32_t t = b[i] << 9;
				c[i] ^= a[i];
				d[i] ^= b[i];
				b[i] ^= c[i];
				a[i] ^= d[i];
				c[i] ^= t;
				d[i] = (d[i] << 11) | (d[i] >> 21);
			}
		}
	}
};

/* Colour[p] holds the sites with (x + y) % 2 == p, site (2k + (y + p) % 2, y) at
 * index k of row y. Rows have a word of halo on either side. */
struct Lattice {
	int side = 0, half = 0, stride = 0;
	uint32_t threshold4 = 0, threshold8 = 0;
	std::vector<uint64_t> colour[2];
	std::vector<Generator> generators;

	uint64_t *row(int p, int y) { return colour[p].data() + (size_t)y * stride + 1; }

	void halo(int p, int y)
	{
		uint64_t *r = row(p, y);
		r[-1] = r[half - 1];
		r[half] = r[0];
	}

	void update(int p, int y, const uint32_t *draws)
	{
		uint64_t *__restrict s = row(p, y);
		const uint64_t *__restrict up = row(1 - p, y == 0 ? side - 1 : y - 1);
		const uint64_t *__restrict down = row(1 - p, y == side - 1 ? 0 : y + 1);
		const uint64_t *__restrict here = row(1 - p, y);
		const uint64_t *__restrict there = here + ((y + p) % 2 ? 1 : -1);
		const uint32_t t4 = threshold4, t8 = threshold8;
		for (int k = 0; k < half; k++) {
			uint64_t a = s[k] ^ up[k], b = s[k] ^ down[k], c = s[k] ^ here[k], d = s[k] ^ there[k];
			uint64_t one4 = draws[k] < t4 ? ~0ull : 0, one8 = draws[k] < t8 ? ~0ull : 0;
			uint64_t ab = a | b, cd = c | d;
			uint64_t two = (a & b) | (c & d) | (ab & cd);
			s[k] ^= two | ((ab | cd) & one4) | one8;
		}
		halo(p, y);
	}
};

Lattice lattice;

} // namespace

static const char *about(void)
{
	static char text[128];
	snprintf(text, sizeof text, "g++ %s -O3 -march=native -mprefer-vector-width=512, %d threads", __VERSION__, omp_get_max_threads());
	return text;
}

static const char *select_operation(int argc, char **argv)
{
	if (argc != 4 || strcmp(argv[0], "metropolis")) return "usage: select metropolis L BETA SEED";
	Lattice &l = lattice;
	l.side = atoi(argv[1]);
	if (l.side < 2 || l.side % 2) return "L must be even";
	l.half = l.side / 2;
	l.stride = l.half + 2;
	double beta = atof(argv[2]);
	l.threshold4 = (uint32_t)std::lround(std::exp(-4 * beta) * 4294967295.0);
	l.threshold8 = (uint32_t)std::lround(std::exp(-8 * beta) * 4294967295.0);
	l.generators.clear();
	for (int i = 0; i < omp_get_max_threads(); i++)
		l.generators.emplace_back(strtoull(argv[3], nullptr, 10) + 1000003ull * i);
	for (int p = 0; p < 2; p++) {
		l.colour[p].assign((size_t)l.stride * l.side, 0);
		std::vector<uint32_t> draws((l.stride + lanes) * 2);
		for (int y = 0; y < l.side; y++) {
			l.generators[0].fill(draws.data(), 2 * l.half);
			for (int k = 0; k < l.half; k++)
				l.row(p, y)[k] = (uint64_t)draws[2 * k] << 32 | draws[2 * k + 1];
			l.halo(p, y);
		}
	}
	array("spins", sizeof(uint64_t) * l.side * l.side);
	return NULL;
}

static void call(void)
{
#pragma omp parallel
	{
		Generator generator = lattice.generators[omp_get_thread_num()];
		std::vector<uint32_t> draws(lattice.half + lanes);
		for (int p = 0; p < 2; p++) {
#pragma omp for schedule(static)
			for (int y = 0; y < lattice.side; y++) {
				generator.fill(draws.data(), lattice.half);
				lattice.update(p, y, draws.data());
			}
		}
		lattice.generators[omp_get_thread_num()] = generator;
	}
}

/* store hands out the lattice in its natural order. */
static void publish(void)
{
	uint64_t *spins = (uint64_t *)array("spins", sizeof(uint64_t) * lattice.side * lattice.side);
	for (int y = 0; y < lattice.side; y++)
		for (int x = 0; x < lattice.side; x++) {
			int p = (x + y) % 2;
			spins[y * lattice.side + x] = lattice.row(p, y)[(x - (y + p) % 2) / 2];
		}
}
