//go:build !unix

package reproduce

// cpuSeconds is not known here.
func cpuSeconds() (seconds float64, known bool) { return 0, false }
