/* Dense products by OpenBLAS's sgemm: plain, without bias or activation.
 *
 *   select forward ROWS IN OUT   y  = x w       x[ROWS][IN]  w[IN][OUT]
 *   select input   ROWS IN OUT   dx = dy w^T    dy[ROWS][OUT]
 *   select weights ROWS IN OUT   dw += x^T dy                              */
#include "peer.h"
#include <cblas.h>

extern char *openblas_get_corename(void);

static enum { FORWARD, INPUT, WEIGHTS } operation;
static int rows, in, out;
static float *x, *w, *y, *dx, *dw;

static const char *about(void)
{
	static char text[256];
	/* The configuration starts with the name and the version. */
	snprintf(text, sizeof text, "%.15s, %s kernels, %d threads", openblas_get_config(), openblas_get_corename(), openblas_get_num_threads());
	return text;
}

static const char *select_operation(int argc, char **argv)
{
	if (argc != 4) return "usage: select forward|input|weights ROWS IN OUT";
	rows = atoi(argv[1]), in = atoi(argv[2]), out = atoi(argv[3]);
	x = (float *)array("x", sizeof(float) * rows * in);
	w = (float *)array("w", sizeof(float) * in * out);
	y = (float *)array("y", sizeof(float) * rows * out);
	if (!strcmp(argv[0], "forward")) {
		operation = FORWARD;
	} else if (!strcmp(argv[0], "input")) {
		operation = INPUT;
		dx = (float *)array("dx", sizeof(float) * rows * in);
	} else if (!strcmp(argv[0], "weights")) {
		operation = WEIGHTS;
		dw = (float *)array("dw", sizeof(float) * in * out);
		memset(dw, 0, sizeof(float) * in * out);
	} else {
		return "unknown operation";
	}
	return NULL;
}

static void call(void)
{
	switch (operation) {
	case FORWARD:
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, out, in, 1, x, in, w, out, 0, y, out);
		break;
	case INPUT:
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, in, out, 1, y, out, w, out, 0, dx, in);
		break;
	case WEIGHTS:
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, in, out, rows, 1, x, in, y, out, 1, dw, out);
		break;
	}
}

static void publish(void) {}
