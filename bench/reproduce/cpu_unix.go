//go:build unix

package reproduce

import "syscall"

// cpuSeconds returns the time that processors have spent on the process.
func cpuSeconds() (seconds float64, known bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9, true
}
