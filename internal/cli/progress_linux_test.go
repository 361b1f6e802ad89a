package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
)

// terminalOf returns both ends of a terminal of 80 columns.
func terminalOf(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return screen, terminal
}

// A terminal of 80 columns has room for a bar beside the figures of its step; a dumb one
// gets lines.
func TestBar(t *testing.T) {
	show := func() string {
		screen, terminal := terminalOf(t)
		m := (&program{stderr: terminal}).newMeter(1200, "steps")
		m.updateTraining(run.Progress{Steps: 1200, Record: engine.Record{Step: 300, Loss: 0.5, Acceptance: 0.25}, StepsPerSecond: 1})
		m.lastShown = m.lastShown.Add(-time.Hour)
		m.updateTraining(run.Progress{Steps: 1200, Record: engine.Record{Step: 600, Loss: 1.234e-5, Acceptance: 0.123}, StepsPerSecond: 999})
		m.lastShown = m.lastShown.Add(time.Hour)
		m.updateTraining(run.Progress{Steps: 1200, Record: engine.Record{Step: 900}, StepsPerSecond: 999}) // too soon
		m.end()
		require.NoError(t, terminal.Close())
		text, err := io.ReadAll(screen)
		require.ErrorIs(t, err, unix.EIO, "the other end is closed")
		return string(text)
	}
	t.Setenv("TERM", "xterm")
	text := show()
	line := strings.TrimRight(text[strings.LastIndex(strings.TrimRight(text, "\r\n"), "\r")+1:], "\r\n ")
	require.LessOrEqual(t, len(line), 80, line)
	require.Regexp(t, `^ *50% \[={6,}>\.{6,}\] \(600/1200\) +loss 1\.23e-05  acc\. 0\.12  999/s  0:01 left$`, line)
	t.Setenv("TERM", "dumb")
	require.Equal(t, "steps 600/1200  loss 1.234e-05  acceptance 0.123  999 steps/s  0:01 left", strings.TrimSpace(show()))
}

// A long run is foretold once, by its first second; a short one, and one that makes the start
// of others, is not.
func TestForecast(t *testing.T) {
	var said strings.Builder
	m := (&program{stderr: &said}).newMeter(1000, "steps")
	now := run.Progress{Steps: 1000, Record: engine.Record{Step: 10}, StepsPerSecond: 11, Elapsed: 900 * time.Millisecond}
	m.updateTraining(now)
	require.Empty(t, said.String())
	for range 2 {
		now.Step, now.Elapsed = 12, 1100*time.Millisecond
		m.updateTraining(now)
	}
	require.Equal(t, "the training takes about 1:30 more: 988 steps at 11.0 steps/s, as measured in its first 1 s\n", said.String())
	for _, short := range []run.Progress{
		{Steps: 1000, Record: engine.Record{Step: 900}, StepsPerSecond: 11, Elapsed: 2 * time.Second},
		{Steps: 1000, Record: engine.Record{Step: 10}, StepsPerSecond: 11, Elapsed: 2 * time.Second, Predecessors: 1},
	} {
		said.Reset()
		(&program{stderr: &said}).newMeter(1000, "steps").updateTraining(short)
		require.Empty(t, said.String())
	}
}
