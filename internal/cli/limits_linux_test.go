package cli

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process without files or memory says so, in a sentence, and not in Go's dump, which would
// end with the code of wrong usage.
func TestTooLittle(t *testing.T) {
	dir := t.TempDir()
	self := command(t, dir, tiny("run", "-q")...)
	limited := func(limit string) outcome {
		cmd := exec.Command("sh", append([]string{"-c", limit + `; exec "$0" "$@"`}, self.Args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), envProgram+"=1")
		return finish(t, cmd)
	}
	for limit, want := range map[string]string{
		"ulimit -n 6": `^revgen: too many open files: the limit \(ulimit -n\) leaves fewer than 4\n$`,
		"ulimit -n 9": `^revgen: .*too many open files.*\n$`,
	} {
		o := limited(limit)
		require.Equal(t, exitError, o.code, "%s: %s", limit, o.stderr)
		require.Regexp(t, want, o.stderr)
	}
	// How much address space Go takes before main, without which nothing can be said, is its own.
	said := false
	for mib := 1000; mib < 4000 && !said; mib += 100 {
		o := limited(fmt.Sprintf("ulimit -v %d", mib<<10))
		if said = o.code == exitError; said {
			require.Regexp(t, `^revgen: the limit of the address space \(ulimit -v\) leaves \d+ MiB, and 256 are needed\n$`, o.stderr)
		}
	}
	require.True(t, said)
}
