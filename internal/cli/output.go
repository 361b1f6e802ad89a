package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/term"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/npy"
)

// errReaderGone ends a command whose stdout nobody reads any longer, such as
// the left side of "| head -1". There is nothing to say and nobody to say it
// to; the exit code is that of a program which SIGPIPE ends.
var errReaderGone = errors.New("stdout is closed")

const exitPipe = 128 + int(syscall.SIGPIPE)

// data is stdout.
type data struct{ io.Writer }

func (d data) Write(b []byte) (int, error) {
	n, err := d.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = errReaderGone
	}
	return n, err
}

// talk is stderr. Work does not end because nobody listens.
type talk struct{ io.Writer }

func (t talk) Write(b []byte) (int, error) {
	_, _ = t.Writer.Write(b)
	return len(b), nil
}

// terminal returns the terminal that stdout or stderr is, nil if it is none.
func terminal(w io.Writer) *os.File {
	switch o := w.(type) {
	case data:
		w = o.Writer
	case talk:
		w = o.Writer
	}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

func outputName(path string) string {
	if path == "-" {
		return "stdout"
	}
	return path
}

// sayWhere names the file of an error, in place of the temporary file's name, unless that is
// nil or the end of a context.
func sayWhere(path string, err error) error {
	if err == nil || engine.Cancelled(err) {
		return err
	}
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("writing %s: %w", outputName(path), err)
}

// noTerminal refuses to write an array to a terminal, as a flag asks for by -.
func (p *program) noTerminal(flag string) error {
	if terminal(p.stdout) != nil {
		return usagef("%s -: stdout is a terminal; redirect it or name a file", flag)
	}
	return nil
}

// A stream is an output that is seen as it is written.
type stream struct{ io.Writer }

func (stream) Commit() error  { return nil }
func (stream) Cleanup() error { return nil }

// create begins what -o names, a file of size bytes, 0 if that is not known.
func (p *program) create(ctx context.Context, path string, size int64) (disk.Output, error) {
	if path == "-" {
		return stream{p.stdout}, nil
	}
	out, err := disk.CreateOutput(ctx, path, size)
	return out, sayWhere(path, err)
}

// fill lets write write an output, which is there when that is done, and given up if it
// fails. remains says what there is of one that was seen before.
func (p *program) fill(path string, out disk.Output, write func() error, remains func() string) error {
	p.output.begin(func() (string, bool) {
		_ = out.Cleanup()
		if _, unseen := out.(*disk.Pending); unseen {
			return "nothing was written to " + path, false
		}
		return remains(), true
	})
	err := write()
	if err == nil {
		err = sayWhere(path, p.output.finish(out.Commit))
	}
	if !engine.Cancelled(err) { // or ended discards it, and says so
		p.output.discard()
	}
	return err
}

// writeArray writes an array, of which write writes the data.
func (p *program) writeArray(ctx context.Context, path string, h npy.Header, write func(w io.Writer) error) error {
	size, err := h.Size()
	if err != nil {
		return sayWhere(path, err)
	}
	if path == "-" {
		if err := p.noTerminal("-o"); err != nil {
			return err
		}
	}
	out, err := p.create(ctx, path, size)
	if err != nil {
		return err
	}
	w, err := npy.NewWriter(out, h)
	if err != nil {
		if err = errors.Join(err, out.Cleanup()); path != "-" {
			err = sayWhere(path, err)
		}
		return err
	}
	return p.fill(path, out, func() error {
		err := write(w)
		if err == nil {
			err = w.Close()
		}
		return sayWhere(path, err)
	}, func() string {
		n, size := w.Written()
		return fmt.Sprintf("the array on %s is not complete: it has some %d of %d bytes", outputName(path), n, size)
	})
}

// runFiles are those of a run's directory by which it is continued, measured or reported.
var runFiles = []string{"model.rvg", "checkpoint.rvg", "checkpoint.prev.rvg", "config.json", "metrics.jsonl", "status.json", "summary.json", "diagnosis.json"}

// inside are names in a directory.
func inside(dir string, names []string) []string {
	return lists.Map(names, func(name string) string { return filepath.Join(dir, name) })
}

// apart refuses to write what is read, by whatever name it goes. Reading a directory is
// reading what a run or a batch has there; - is stdin and stdout.
func (p *program) apart(reads []string, writes ...string) error {
	var in, out []string
	for _, path := range reads {
		switch {
		case path == "-" && !p.inBatch:
			in = append(in, "/dev/stdin")
		case isDir(path):
			in = append(in, inside(path, slices.Concat(runFiles, batchFiles))...)
		case path != "":
			in = append(in, path)
		}
	}
	for _, path := range writes {
		switch {
		case path == "-" && !p.inBatch:
			out = append(out, "/dev/stdout")
		case path != "":
			out = append(out, path)
		}
	}
	if err := disk.Apart(in, out); err != nil {
		return usagef("-o: %w", err)
	}
	return nil
}

// ownRun refuses a run's directory where the run would write over what it reads, or through
// links. A run goes on with the configuration that it has left there.
func (p *program) ownRun(t *trainOptions) error {
	names := append(runFiles[:len(runFiles):len(runFiles)], "samples.npy", "samples.npy.json", "report.html")
	if err := disk.Unlinked(t.dir, names...); err != nil {
		return usagef("-o: %w", err)
	}
	writes := inside(t.dir, names)
	if s, _ := readStatus(t.dir); s != nil {
		writes = slices.DeleteFunc(writes, func(path string) bool { return filepath.Base(path) == "config.json" })
	}
	// A run that was killed between two checkpoints has the last one under both names.
	last, before := filepath.Join(t.dir, "checkpoint.rvg"), filepath.Join(t.dir, "checkpoint.prev.rvg")
	if disk.Same(last, before) {
		writes = slices.DeleteFunc(writes, func(path string) bool { return path == before })
	}
	return p.apart([]string{p.fileOf(t.name), t.init}, writes...)
}

// fileOf is the name of a target if it is that of a file, and empty if it is a system's.
func (p *program) fileOf(name string) string {
	if _, err := p.systems.Find(name); err == nil {
		return ""
	}
	return name
}
