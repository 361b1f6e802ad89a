/* The protocol of a peer: a process that holds named arrays of numbers, and
 * runs one selected operation as often as it is told, timing itself.
 *
 *   about              -> ok TEXT
 *   load NAME FILE     -> ok           bytes of FILE become array NAME
 *   forget             -> ok           all arrays are dropped
 *   select OP ARGS...  -> ok           the operation that run repeats
 *   run CALLS          -> ok NANOSECONDS
 *   store NAME FILE    -> ok           array NAME is written to FILE
 *
 * Anything that goes wrong is answered by "error TEXT". A peer defines about,
 * select_operation, call and publish, and includes this file first. Arrays are aligned
 * to 64 bytes. */
#ifndef PEER_H
#define PEER_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *about(void);
/* Returns NULL, or what is wrong with the arguments. */
static const char *select_operation(int argc, char **argv);
static void call(void);
/* publish brings the arrays up to date that are stored next. */
static void publish(void);

#define PEER_ARRAYS 32
static struct { char name[32]; size_t bytes; void *data; } peer_arrays[PEER_ARRAYS];
static int peer_count;

/* array returns the array of that name, allocating or resizing it. */
static void *array(const char *name, size_t bytes)
{
	int i = 0;
	while (i < peer_count && strcmp(peer_arrays[i].name, name)) i++;
	if (i == peer_count) {
		if (peer_count == PEER_ARRAYS || strlen(name) >= sizeof peer_arrays[i].name) abort();
		strcpy(peer_arrays[i].name, name);
		peer_arrays[i].bytes = 0;
		peer_arrays[i].data = NULL;
		peer_count++;
	}
	if (peer_arrays[i].bytes != bytes) {
		free(peer_arrays[i].data);
		peer_arrays[i].data = aligned_alloc(64, (bytes + 63) / 64 * 64);
		if (!peer_arrays[i].data) abort();
		memset(peer_arrays[i].data, 0, bytes);
		peer_arrays[i].bytes = bytes;
	}
	return peer_arrays[i].data;
}

static const char *peer_load(const char *name, const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) return "cannot open the file to load";
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	void *data = array(name, (size_t)size);
	size_t got = fread(data, 1, (size_t)size, f);
	fclose(f);
	return got == (size_t)size ? NULL : "short read";
}

static const char *peer_store(const char *name, const char *path)
{
	publish();
	for (int i = 0; i < peer_count; i++) {
		if (strcmp(peer_arrays[i].name, name)) continue;
		FILE *f = fopen(path, "wb");
		if (!f) return "cannot open the file to store to";
		size_t put = fwrite(peer_arrays[i].data, 1, peer_arrays[i].bytes, f);
		return fclose(f) == 0 && put == peer_arrays[i].bytes ? NULL : "short write";
	}
	return "no array of that name";
}

static void peer_forget(void)
{
	while (peer_count > 0) free(peer_arrays[--peer_count].data);
}

static double nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	static char line[1 << 16];
	while (fgets(line, sizeof line, stdin)) {
		char *argv[256];
		int argc = 0;
		for (char *word = strtok(line, " \n"); word && argc < 256; word = strtok(NULL, " \n"))
			argv[argc++] = word;
		const char *problem = NULL;
		if (argc == 1 && !strcmp(argv[0], "about")) {
			printf("ok %s\n", about());
		} else if (argc == 2 && !strcmp(argv[0], "run")) {
			double start = nanoseconds();
			for (long i = atol(argv[1]); i > 0; i--) call();
			printf("ok %.0f\n", nanoseconds() - start);
		} else {
			if (argc == 3 && !strcmp(argv[0], "load")) problem = peer_load(argv[1], argv[2]);
			else if (argc == 3 && !strcmp(argv[0], "store")) problem = peer_store(argv[1], argv[2]);
			else if (argc == 1 && !strcmp(argv[0], "forget")) peer_forget();
			else if (argc >= 2 && !strcmp(argv[0], "select")) problem = select_operation(argc - 1, argv + 1);
			else problem = "unknown command";
			if (problem) printf("error %s\n", problem);
			else puts("ok");
		}
		fflush(stdout);
	}
	return 0;
}
#endif
