/* ln π of a φ⁴ field on 8 × 8 sites for revgen: change log_density and DIM.
   cc -O2 -ffp-contract=off -o target target.c -lm
   The protocol is that of docs/targets.md, "Programs in any language". */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { L = 8, DIM = L * L, MODES = 0 }; /* MODES: values of a mode k, 0 if there is none */
static const double kappa = 0.2, lambda = 0.02;

static double log_density(const double *x, int32_t k) {
	double hop = 0, site = 0;
	(void)k;
	for (int i = 0; i < L; i++)
		for (int j = 0; j < L; j++) {
			double v = x[i * L + j], square = v * v, well = (square - 1) * (square - 1);
			hop += v * (x[(i + 1) % L * L + j] + x[i * L + (j + 1) % L]);
			site += square + lambda * well;
		}
	return 2 * kappa * hop - site;
}

int main(void) {
	int32_t hello[5], n = 0;
	if (fread(hello, 4, 5, stdin) != 5) return 1; /* "RVGD", version, coordinates, modes, bits */
	hello[2] = DIM, hello[3] = MODES;
	fwrite(hello, 4, 5, stdout), fflush(stdout);
	while (fread(&n, 4, 1, stdin) == 1) {
		double *x = malloc(sizeof(double) * n * DIM), *y = malloc(sizeof(double) * n);
		int32_t *k = calloc(n, sizeof *k);
		if (!x || !y || !k || fread(x, 8 * DIM, n, stdin) != (size_t)n) return 1;
		if (MODES && fread(k, 4, n, stdin) != (size_t)n) return 1;
		for (int32_t r = 0; r < n; r++) y[r] = log_density(x + (size_t)r * DIM, k[r]);
		fwrite(&n, 4, 1, stdout), fwrite(y, 8, n, stdout), fflush(stdout);
		free(x), free(y), free(k);
	}
	return 0; /* revgen has ended */
}
