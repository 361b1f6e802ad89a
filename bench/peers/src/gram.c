/* The reversibility loss and its surrogate gradient (V-statistic) as a plain
 * loop over all ordered pairs, for two-dimensional states and a sum of five
 * Gaussians and one inverse multiquadric with exponent 1/2. Of the symmetries
 * of the double sums only K_xx = K_yy is used. The compiler vectorises the
 * inner loop, the exponential of a few lines included, which is faster there
 * than the C library's expf.
 *
 *   select gram N S1 S2 S3 S4 S5 C    s[N][2], t[N][2] -> loss[1], grad[N][2] */
#include "peer.h"
#include <math.h>
#include <omp.h>

#define GAUSSIANS 5

static int n;
static float factor[GAUSSIANS], c2;
static float *s, *t, *grad, *a0, *a1, *b0, *b1;
static double *loss;

static const char *about(void)
{
	static char text[128];
	snprintf(text, sizeof text, "gcc %s -O3 -march=native -mprefer-vector-width=512 -ffast-math, %d threads", __VERSION__, omp_get_max_threads());
	return text;
}

static const char *select_operation(int argc, char **argv)
{
	if (argc != 3 + GAUSSIANS || strcmp(argv[0], "gram")) return "usage: select gram N S1 S2 S3 S4 S5 C";
	n = atoi(argv[1]);
	for (int k = 0; k < GAUSSIANS; k++) {
		double sigma = atof(argv[2 + k]);
		factor[k] = (float)(-1 / (2 * sigma * sigma));
	}
	c2 = (float)(atof(argv[2 + GAUSSIANS]) * atof(argv[2 + GAUSSIANS]));
	s = (float *)array("s", sizeof(float) * 2 * n);
	t = (float *)array("t", sizeof(float) * 2 * n);
	grad = (float *)array("grad", sizeof(float) * 2 * n);
	loss = (double *)array("loss", sizeof(double));
	a0 = (float *)array("a0", sizeof(float) * n);
	a1 = (float *)array("a1", sizeof(float) * n);
	b0 = (float *)array("b0", sizeof(float) * n);
	b1 = (float *)array("b1", sizeof(float) * n);
	return NULL;
}

/* exponential is e^x for x <= 0, but e^-87 below -87, where results would leave
 * the range of normal numbers. */
static inline float exponential(float x)
{
	x = fmaxf(x, -87);
	float n = rintf(x * 1.44269504f);
	float r = x - n * 0.693145752f - n * 1.42860677e-6f;
	float p = 0.0013882521f;
	p = p * r + 0.0083665205f;
	p = p * r + 0.0416672f;
	p = p * r + 0.16666543f;
	p = p * r + 0.49999997f;
	p = p * r + 1;
	p = p * r + 1;
	union { int32_t i; float f; } scale = { ((int32_t)n + 127) << 23 };
	return p * scale.f;
}

/* kernel adds the Gaussians and the multiquadric at squared distance d2. */
static inline float kernel(float d2, float *derivative)
{
	float value = 0, slope = 0;
	for (int k = 0; k < GAUSSIANS; k++) {
		float e = exponential(factor[k] * d2);
		value += e;
		slope += factor[k] * e;
	}
	float r = 1 / sqrtf(c2 + d2);
	*derivative = slope - 0.5f * r * r * r;
	return value + r;
}

static void call(void)
{
	for (int i = 0; i < n; i++) {
		a0[i] = s[2 * i], a1[i] = s[2 * i + 1];
		b0[i] = t[2 * i], b1[i] = t[2 * i + 1];
	}
	double total = 0;
	const float scale = (float)(8.0 / ((double)n * n));
#pragma omp parallel for schedule(static) reduction(+ : total)
	for (int i = 0; i < n; i++) {
		const float p0 = a0[i], p1 = a1[i], q0 = b0[i], q1 = b1[i];
		float sum = 0, g0 = 0, g1 = 0;
#pragma omp simd reduction(+ : sum, g0, g1)
		for (int j = 0; j < n; j++) {
			float aa0 = p0 - a0[j], aa1 = p1 - a1[j], bb0 = q0 - b0[j], bb1 = q1 - b1[j];
			float ab0 = p0 - b0[j], ab1 = p1 - b1[j], ba0 = q0 - a0[j], ba1 = q1 - a1[j];
			float kxx, kxy;
			sum += kernel(aa0 * aa0 + aa1 * aa1 + bb0 * bb0 + bb1 * bb1, &kxx);
			sum -= kernel(ab0 * ab0 + ab1 * ab1 + ba0 * ba0 + ba1 * ba1, &kxy);
			g0 += kxx * aa0 - kxy * ab0;
			g1 += kxx * aa1 - kxy * ab1;
		}
		total += sum;
		grad[2 * i] = scale * g0;
		grad[2 * i + 1] = scale * g1;
	}
	*loss = 2 * total / ((double)n * n);
}

static void publish(void) {}
