package peers

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tools makes a search path of scripts, beside the shell's own.
func tools(t *testing.T, scripts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755)) //nolint:gosec // it is run
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return dir
}

// A talker answers as a peer, but for what ANSWER says.
const talker = `[ "$1" = -c ] && exit 0
while read -r command name file rest; do
	case $command in
	about) echo "ok   $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $PWD $*  " ;;
	run) echo "ok $ANSWER" ;;
	load) cp "$file" kept-"$name"; echo ok ;;
	store) cp kept-"$name" "$file" && echo ok || echo error none ;;
	forget) rm kept-*; echo ok ;;
	select) if [ "$name" = die ]; then echo first >&2; echo last words >&2; exit 3; fi; echo "error bad $name" ;;
	esac
done
`

func talking(t *testing.T, p *Peer, s Setting) (*Process, *Workshop) {
	t.Helper()
	w := workshop(t, t.Context())
	r, err := w.Start(p, s)
	require.NoError(t, err)
	return r, w
}

// TestProtocol holds what is asked and understood to the protocol of peer.h.
func TestProtocol(t *testing.T) {
	dir := tools(t, map[string]string{"python3": talker})
	p, err := Find("pytorch")
	require.NoError(t, err)
	for answer, want := range map[string]string{"17": "", "0": "", "-1": `pytorch: "-1" is not a time in nanoseconds`, "x": `pytorch: "x" is not a time`, "": "is not a time"} {
		t.Setenv("ANSWER", answer)
		r, w := talking(t, p, Setting{Threads: 3, BLAS: 2})
		require.Equal(t, []int{r.command.Process.Pid}, w.Running())
		elapsed, err := r.Run(4)
		if want != "" {
			require.ErrorContains(t, err, want)
			require.Zero(t, elapsed)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, map[string]time.Duration{"17": 17, "0": 0}[answer], elapsed)
		about, err := r.About()
		require.NoError(t, err)
		words := strings.Fields(about)
		require.Equal(t, []string{"3", "2", r.dir}, words[:3])
		require.Equal(t, about, strings.TrimSpace(about))
		require.Len(t, words, 4)
		require.Equal(t, "pytorch.py", filepath.Base(words[3]))
		require.FileExists(t, filepath.Join(filepath.Dir(words[3]), "pytorch_systems.py"))
		require.EqualError(t, r.Select("this", 4), "pytorch: select this 4: bad this")

		require.NoError(t, r.Load("a", []float32{1, -2}))
		back := make([]float32, 2)
		require.NoError(t, r.Store("a", back))
		require.Equal(t, []float32{1, -2}, back)
		require.EqualError(t, r.Store("a", make([]float32, 3)), "pytorch: array a has 8 bytes, not 12")
		require.ErrorContains(t, r.Load("b", "text"), "binary")
		require.NoError(t, r.Forget())
		require.EqualError(t, r.Store("a", back), "pytorch: store a "+filepath.Join(r.dir, "a")+": none")
		path, err := r.File("c.json", []byte("{}"))
		require.NoError(t, err)
		require.Equal(t, filepath.Join(r.dir, "c.json"), path)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "{}", string(data))

		require.NoError(t, r.Close())
		require.NoDirExists(t, r.dir)
		require.Empty(t, w.Running())
		_, err = r.About()
		require.ErrorContains(t, err, "pytorch ended unexpectedly: ")
	}
	r, w := talking(t, p, Setting{Threads: 1})
	require.ErrorContains(t, r.Select("die"), "pytorch ended unexpectedly: ")
	require.EqualError(t, r.Close(), "exit status 3")
	q, err := w.Start(p, Setting{Threads: 1})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoDirExists(t, w.dir)
	require.Error(t, func() error { _, err := q.About(); return err }(), "it ends with its workshop")

	w = workshop(t, t.Context())
	words, err := w.command(p)
	require.NoError(t, err)
	words[0] = filepath.Join(dir, "gone")
	_, err = w.Start(p, Setting{Threads: 1})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Empty(t, w.Running())
	left, err := filepath.Glob(filepath.Join(w.dir, "process-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestWhatIsMissing: why a peer cannot run, and that nothing is left of it.
func TestWhatIsMissing(t *testing.T) {
	c := Peer{Name: "of-c", Install: "get it", compiler: []string{"gcc", "-flag"}, source: "gram.c", libs: []string{"-lone", "-ltwo"}}
	r := Peer{Name: "of-r", Install: "get it", source: "stan.R", otherSources: []string{"targets.stan"}, imports: "rstan"}
	for _, run := range []struct {
		peer   *Peer
		script string // of a tool
		want   string
	}{
		{&c, "echo note; echo gram.c:1: error: bad; echo more; exit 1", "of-c is missing: gcc failed: gram.c:1: error: bad; install it with: get it"},
		{&c, "echo note; echo ' cannot find -lone '; echo more; exit 1", "of-c is missing: gcc failed: cannot find -lone; install it with: get it"},
		{&c, "echo note; echo more; exit 1", "of-c is missing: gcc failed: more; install it with: get it"},
		{&c, "exit 2", "of-c is missing: gcc failed: exit status 2; install it with: get it"},
		{&r, "echo note; echo there is no rstan; exit 1", "/Rscript: there is no rstan; install it with: get it"},
		{&r, "exit 1", "/Rscript: exit status 1; install it with: get it"},
	} {
		tools(t, map[string]string{"gcc": run.script, "Rscript": run.script})
		w := workshop(t, t.Context())
		_, err := w.Start(run.peer, Setting{Threads: 1})
		var missing *MissingError
		require.ErrorAs(t, err, &missing)
		require.ErrorContains(t, err, run.want)
		left, err := os.ReadDir(w.dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	tools(t, map[string]string{"gcc": `echo "$@" >said; pwd >>said; echo $TMPDIR $LC_ALL >>said; printf '#!/bin/sh\nread a; echo ok it is\nread b\n' >"$3"; chmod +x "$3"`, "Rscript": "[ $2 = -e ] && [ \"$3\" = 'library(rstan)' ]"})
	w := workshop(t, t.Context())
	words, err := w.command(&c)
	require.NoError(t, err)
	dir := filepath.Dir(words[0])
	require.Equal(t, []string{filepath.Join(w.dir, "program-0", "gram")}, words)
	require.FileExists(t, filepath.Join(dir, "peer.h"))
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	require.NoError(t, err)
	require.Equal(t, "-flag -o "+dir+"/gram "+dir+"/gram.c -lone -ltwo\n"+dir+"\n"+dir+" C\n", string(said))
	again, err := w.command(&c)
	require.NoError(t, err)
	require.Equal(t, words, again)
	other := c
	other.libs = nil
	words, err = w.command(&other)
	require.NoError(t, err)
	require.Equal(t, "program-1", filepath.Base(filepath.Dir(words[0])), "made of something else")
	process, err := w.Start(&c, Setting{Threads: 1})
	require.NoError(t, err)
	about, err := process.About()
	require.NoError(t, err)
	require.Equal(t, "it is", about)
	words, err = w.command(&r)
	require.NoError(t, err)
	require.Equal(t, []string{"--vanilla", filepath.Join(w.dir, "program-2", "stan.R")}, words[1:])
	require.FileExists(t, filepath.Join(w.dir, "program-2", "targets.stan"))
	require.Equal(t, "Rscript", filepath.Base(words[0]))

	t.Setenv("PATH", t.TempDir())
	for p, want := range map[*Peer]string{&c: "there is no gcc", &r: "there is no Rscript"} {
		_, err = workshop(t, t.Context()).command(p)
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, "last", lastLine([]byte("first\nlast\n"), nil))
	require.Equal(t, "only", lastLine([]byte("only"), nil))
	require.Equal(t, "EOF", lastLine([]byte(" \n"), io.EOF))
	dead := Process{Peer: &c, dir: t.TempDir()}
	require.NoError(t, os.WriteFile(dead.stderrPath(), []byte("first\nlast words\n"), 0o600))
	require.EqualError(t, dead.failure(io.EOF), "of-c ended unexpectedly: last words")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, checkPrivate(file), file+" is not a directory, who could replace")
	require.ErrorIs(t, checkPrivate(file+"s"), os.ErrNotExist)
	t.Setenv("TMPDIR", file)
	_, err = NewWorkshop(t.Context())
	require.Error(t, err)
	_, err = Find("nobody")
	require.EqualError(t, err, `unknown peer "nobody"; the peers are openblas, openblas-haswell, c-gram, c++-metropolis, c-metropolis-avx512, pytorch, pytorch-avx512, c-chains, emcee, stan`)
}
