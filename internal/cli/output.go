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

// errReaderGone ends a command whose stdout nobody reads any more, such as the left side of
// "| head -1". It is not reported; the exit code is that of a program that SIGPIPE ends.
var errReaderGone = errors.New("stdout is closed")

const exitPipe = 128 + int(syscall.SIGPIPE)

// A stdoutWriter returns errReaderGone when the reader of stdout has gone.
type stdoutWriter struct{ io.Writer }

func (d stdoutWriter) Write(b []byte) (int, error) {
	n, err := d.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = errReaderGone
	}
	return n, err
}

// A stderrWriter hides the errors of stderr, so that work goes on when nobody reads it.
type stderrWriter struct{ io.Writer }

func (t stderrWriter) Write(b []byte) (int, error) {
	_, _ = t.Writer.Write(b)
	return len(b), nil
}

// terminal returns the terminal that w writes to, nil if it is none.
func terminal(w io.Writer) *os.File {
	switch o := w.(type) {
	case stdoutWriter:
		w = o.Writer
	case stderrWriter:
		w = o.Writer
	}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func outputName(path string) string {
	if path == "-" {
		return "stdout"
	}
	return path
}

// writeError puts path into an error, in place of the temporary file's name. It keeps nil and the
// end of a context.
func writeError(path string, err error) error {
	if err == nil || engine.Cancelled(err) {
		return err
	}
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("writing %s: %w", outputName(path), err)
}

// refuseTerminal is the error of a flag with - if stdout is a terminal, which takes no array.
func (p *program) refuseTerminal(flag string) error {
	if terminal(p.stdout) != nil {
		return usagef("%s -: stdout is a terminal; redirect it or name a file", flag)
	}
	return nil
}

// A directOutput is read as it is written, so that it cannot be discarded.
type directOutput struct{ io.Writer }

func (directOutput) Commit() error  { return nil }
func (directOutput) Cleanup() error { return nil }

// create opens the output that -o names, of size bytes, 0 if that is not known.
func (p *program) create(ctx context.Context, path string, size int64) (disk.Output, error) {
	if path == "-" {
		return directOutput{p.stdout}, nil
	}
	out, err := disk.CreateOutput(ctx, path, size)
	return out, writeError(path, err)
}

// writeOutput calls write, and commits the output if it succeeds, or else discards it. describeRest
// says what is left of an output that readers have seen already.
func (p *program) writeOutput(path string, out disk.Output, write func() error, describeRest func() string) error {
	p.output.begin(func() (string, bool) {
		_ = out.Cleanup()
		if _, isPending := out.(*disk.Pending); isPending {
			return "nothing was written to " + path, false
		}
		return describeRest(), true
	})
	err := write()
	if err == nil {
		err = writeError(path, p.output.finish(out.Commit))
	}
	if !engine.Cancelled(err) { // else commandError discards it, and says so
		p.output.discard()
	}
	return err
}

// writeArray writes an array, whose data write writes.
func (p *program) writeArray(ctx context.Context, path string, h npy.Header, write func(w io.Writer) error) error {
	size, err := h.Size()
	if err != nil {
		return writeError(path, err)
	}
	if path == "-" {
		if err := p.refuseTerminal("-o"); err != nil {
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
			err = writeError(path, err)
		}
		return err
	}
	return p.writeOutput(path, out, func() error {
		err := write(w)
		if err == nil {
			err = w.Close()
		}
		return writeError(path, err)
	}, func() string {
		n, size := w.Written()
		return fmt.Sprintf("the array on %s is not complete: it has some %d of %d bytes", outputName(path), n, size)
	})
}

// runFiles are the files of a run directory by which a run is continued, measured or reported.
var runFiles = []string{"model.rvg", "checkpoint.rvg", "checkpoint.prev.rvg", "config.json", "metrics.jsonl", "status.json", "summary.json", "diagnosis.json"}

// joinAll returns the paths of names in a directory.
func joinAll(dir string, names []string) []string {
	return lists.Map(names, func(name string) string { return filepath.Join(dir, name) })
}

// checkApart refuses to write a file that is read, also under another name. A directory that is
// read stands for the files of a run and of a batch in it; - is stdin or stdout.
func (p *program) checkApart(reads []string, writes ...string) error {
	var in, out []string
	for _, path := range reads {
		switch {
		case path == "-" && !p.inBatch:
			in = append(in, "/dev/stdin")
		case isDir(path):
			in = append(in, joinAll(path, slices.Concat(runFiles, batchFiles))...)
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
	if err := disk.CheckDistinct(in, out); err != nil {
		return usagef("-o: %w", err)
	}
	return nil
}

// checkRunDir refuses a run directory in which the run would write over what it reads, or through
// links. A run that continues may read the config.json that it has left there.
func (p *program) checkRunDir(t *trainOptions) error {
	names := append(runFiles[:len(runFiles):len(runFiles)], "samples.npy", "samples.npy.json", "report.html")
	if err := disk.CheckLinks(t.dir, names...); err != nil {
		return usagef("-o: %w", err)
	}
	writes := joinAll(t.dir, names)
	if s, _ := readStatus(t.dir); s != nil {
		writes = slices.DeleteFunc(writes, func(path string) bool { return filepath.Base(path) == "config.json" })
	}
	// A run that was killed between two checkpoints has the last one under both names.
	last, previous := filepath.Join(t.dir, "checkpoint.rvg"), filepath.Join(t.dir, "checkpoint.prev.rvg")
	if disk.Same(last, previous) {
		writes = slices.DeleteFunc(writes, func(path string) bool { return path == previous })
	}
	return p.checkApart([]string{p.targetFile(t.name), t.init}, writes...)
}

// targetFile returns name if it names a file, "" if it names a system.
func (p *program) targetFile(name string) string {
	if _, err := p.systems.Find(name); err == nil {
		return ""
	}
	return name
}
