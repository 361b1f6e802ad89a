/* Dense products by OpenBLAS's sgemm: plain, without bias or activation.
 *
 *   select forward ROWS IN OUT   y = x w       x[ROWS][IN]  w[IN][OUT]     */
#include "peer.h"
#include <cblas.h>

extern char *openblas_get_corename(void);

static int rows, in, out;
static float *x, *w, *y;

static const char *about(void)
{
	static char text[256];
	/* The configuration starts with the name and the version. */
	snprintf(text, sizeof text, "%.15s, %s kernels, %d threads", openblas_get_config(), openblas_get_corename(), openblas_get_num_threads());
	return text;
}

static const char *select_operation(int argc, char **argv)
{
	if (argc != 4 || strcmp(argv[0], "forward")) return "usage: select forward ROWS IN OUT";
	rows = atoi(argv[1]), in = atoi(argv[2]), out = atoi(argv[3]);
	x = (float *)array("x", sizeof(float) * rows * in);
	w = (float *)array("w", sizeof(float) * in * out);
	y = (float *)array("y", sizeof(float) * rows * out);
	return NULL;
}

static void call(void)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, out, in, 1, x, in, w, out, 0, y, out);
}

static void publish(void) {}
