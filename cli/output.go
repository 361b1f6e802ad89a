package cli

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"
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
