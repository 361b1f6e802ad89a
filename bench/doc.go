// Package bench measures RevGen's throughput beside the machine's limits and other programs.
//
// A suite is a list of rows, each one operation at one size, on one kernel
// path, with one number of threads. A row holds the time of every repetition;
// the floor, which is the time that the operation's counted instructions and
// bytes would take at the machine's measured peak rates; and the times of
// peers, programs written with other tools that compute the same from the same
// input. Peers are checked to compute the same before they are timed, and are
// timed in turn with our own code, so that both sides see the same machine.
package bench
