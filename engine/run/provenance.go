package run

import (
	"os"
	"runtime"
	"time"

	"github.com/revgen/revgen/asm"
)

// A Provenance says what made a file, where and when. No bit of a model or of a
// configuration depends on it.
type Provenance struct {
	Program  string `json:"program,omitempty"` // name and version
	Machine  string `json:"machine"`           // host and processor
	Platform string `json:"platform"`          // operating system, architecture, version of Go
	Date     string `json:"date"`              // RFC 3339, UTC
}

// Here returns the provenance of a file that the named program makes here and now.
func Here(program string) Provenance {
	host, _ := os.Hostname()
	return Provenance{
		Program: program, Machine: host + ", " + asm.CPUName(), Platform: runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(),
		Date: time.Now().UTC().Format(time.RFC3339),
	}
}
