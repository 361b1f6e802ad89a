package peers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/revgen/revgen/internal/crash"
)

// A Workshop is a private directory of one run, in which peers are compiled and from which
// they run. It is new, and nobody else can write to it or replace it, so that only sources
// embedded in this program run from it. It is used from one goroutine at a time.
type Workshop struct {
	ctx      context.Context
	dir      string
	commands map[string][]string // command lines, by compiler, source, libraries and imports
	started  []*Process
}

// NewWorkshop makes a workshop in the directory of temporary files. Its
// compilers and peers are killed when ctx is done.
func NewWorkshop(ctx context.Context) (*Workshop, error) {
	dir, err := os.MkdirTemp("", "revgen-peers-*") // of mode 0700
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	} else if err := checkPrivate(real); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	} else {
		dir = real
	}
	return &Workshop{ctx: ctx, dir: dir, commands: map[string][]string{}}, nil
}

// Running returns the process IDs of the peers that run.
func (w *Workshop) Running() (pids []int) {
	for _, r := range w.started {
		if !r.closed {
			pids = append(pids, r.command.Process.Pid)
		}
	}
	return pids
}

// Close ends the peers that are still running and removes the directory.
func (w *Workshop) Close() error {
	for _, r := range w.started {
		if !r.closed {
			_ = r.Close() // how it ends does not matter
		}
	}
	return os.RemoveAll(w.dir)
}

// checkPrivate returns an error if another user could replace dir, whose path has no symbolic
// links. Each directory of the path must belong to this user or to root, and be writable by
// nobody else unless its sticky bit keeps others from moving entries.
func checkPrivate(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		const writableByOthers = 0o022
		why := ""
		switch mode := info.Mode(); {
		case !mode.IsDir():
			why = "is not a directory"
		case !trusted(info):
			why = "belongs to another user"
		case mode&writableByOthers != 0 && mode&fs.ModeSticky == 0:
			why = "can be written to by other users"
		}
		if why != "" {
			return fmt.Errorf("%s %s, who could replace the programs that are compiled under it: set TMPDIR to a directory of your own", dir, why)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// command returns the command line of a peer, after compiling it if need be.
func (w *Workshop) command(p *Peer) ([]string, error) {
	key := fmt.Sprint(p.compiler, p.source, p.libs, p.imports)
	if words, ok := w.commands[key]; ok {
		return words, nil
	}
	dir := filepath.Join(w.dir, fmt.Sprintf("program-%d", len(w.commands)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	build := w.compile
	if p.compiler == nil {
		build = w.script
	}
	words, err := build(p, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w.commands[key] = words
	return words, nil
}

func (w *Workshop) compile(p *Peer, dir string) ([]string, error) {
	compiler, err := exec.LookPath(p.compiler[0])
	if err != nil {
		return nil, p.missing("there is no %s", p.compiler[0])
	}
	if err := unpack(dir, "peer.h", p.source); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, strings.TrimSuffix(p.source, filepath.Ext(p.source)))
	args := append(append([]string{}, p.compiler[1:]...), "-o", program, filepath.Join(dir, p.source))
	output, err := w.output(dir, compiler, append(args, p.libs...)...)
	if err != nil {
		return nil, p.missing("%s failed: %s", p.compiler[0], firstError(output, err))
	}
	return []string{program}, nil
}

// script unpacks a peer in Python or R and finds an interpreter that has the module it needs.
// For Python it tries python3 on the search path first, and then the distribution's.
func (w *Workshop) script(p *Peer, dir string) ([]string, error) {
	if err := unpack(dir, append(p.otherSources, p.source)...); err != nil {
		return nil, err
	}
	words := []string{filepath.Join(dir, p.source)}
	interpreters, test := []string{"python3", "/usr/bin/python3"}, []string{"-c", "import numpy, " + p.imports}
	if filepath.Ext(p.source) == ".R" {
		interpreters, test = []string{"Rscript"}, []string{"--vanilla", "-e", "library(" + p.imports + ")"}
		words = append([]string{"--vanilla"}, words...)
	}
	reason := "there is no " + interpreters[0]
	for _, name := range interpreters {
		interpreter, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		output, err := w.output(dir, interpreter, test...)
		if err == nil {
			return append([]string{interpreter}, words...), nil
		}
		reason = fmt.Sprintf("%s: %s", interpreter, lastLine(output, err))
	}
	return nil, p.missing("%s", reason)
}

// output runs a program in a directory of the workshop, where Python first looks for modules,
// and returns its output.
func (w *Workshop) output(dir, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(w.ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	prepare(c)
	output, err := c.CombinedOutput()
	if w.ctx.Err() != nil {
		err = w.ctx.Err()
	}
	return output, err
}

// patience is how long a killed process is waited for if its children keep its output open.
const patience = 500 * time.Millisecond

func (p *Peer) missing(format string, args ...any) error {
	return &MissingError{p.Name, fmt.Sprintf(format, args...), p.Install}
}

func source(name string) []byte { return crash.Must(sources.ReadFile("src/" + name)) }

// unpack writes embedded sources to dir.
func unpack(dir string, names ...string) error {
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), source(name), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func firstError(output []byte, err error) string {
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, "error:") || strings.Contains(line, "cannot find") {
			return strings.TrimSpace(line)
		}
	}
	return lastLine(output, err)
}

func lastLine(output []byte, err error) string {
	text := strings.TrimSpace(string(output))
	if text == "" {
		return err.Error()
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
