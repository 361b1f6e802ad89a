package program

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

// The tests' programs are this one, which behaves as its first argument says.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "-serve" {
		serve(os.Args[2], os.Args[3])
		return
	}
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait, for the most part
		panic(err)
	}
	os.Exit(m.Run())
}

// serve answers −|x|²/2 + k, but for what it is to do wrong. Among several processes
// the file marks what one has done.
func serve(behaviour, file string) {
	head := make([]byte, helloLen)
	if behaviour == "silent" {
		if f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, "begun", os.Getpid())
			f.Close()
		}
		time.Sleep(time.Hour)
	}
	if behaviour == "host" { // asks programs itself
		w := New(Config{Command: []string{os.Args[0], "-serve", "away", file}, Dim: 3, Timeout: time.Hour, Processes: 1})
		if w.Evaluate(make([]float64, 1), x[:3], nil) == nil {
			os.Stdout.WriteString("asked\n")
		}
		time.Sleep(time.Hour)
	}
	if strings.HasPrefix(behaviour, "away") { // with another that holds its pipes, in a session of its own
		other := exec.Command(os.Args[0], "-serve", "silent", file)
		other.Stdin, other.Stdout, other.Stderr = os.Stdin, os.Stdout, os.Stderr
		other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := other.Start(); err != nil {
			panic(err)
		}
		for began := false; !began; time.Sleep(time.Millisecond) {
			_, err := os.Stat(file)
			began = err == nil
		}
	}
	if behaviour == "chatty" {
		os.Stdout.WriteString("loading weights …")
	}
	if _, err := io.ReadFull(os.Stdin, head); err != nil {
		return
	}
	dim, modes := int(binary.LittleEndian.Uint32(head[8:])), int(binary.LittleEndian.Uint32(head[12:]))
	if behaviour == "dimension" {
		binary.LittleEndian.PutUint32(head[8:], 7)
	}
	os.Stdout.Write(head)
	for {
		count := make([]byte, 4)
		if _, err := io.ReadFull(os.Stdin, count); err != nil {
			return
		}
		n := int(binary.LittleEndian.Uint32(count))
		row := 8 * dim
		if modes > 0 {
			row += 4
		}
		body := make([]byte, n*row)
		if _, err := io.ReadFull(os.Stdin, body); err != nil {
			return
		}
		reply := append([]byte(nil), count...)
		for r := range n {
			var v float64
			for i := range dim {
				x := math.Float64frombits(binary.LittleEndian.Uint64(body[8*(r*dim+i):]))
				v -= x * x / 2
			}
			if modes > 0 {
				v += float64(binary.LittleEndian.Uint32(body[8*n*dim+4*r:]))
			}
			if behaviour == "random" {
				v += float64(time.Now().UnixNano() % 1e6)
			}
			if behaviour == "personal" {
				v += float64(os.Getpid())
			}
			reply = binary.LittleEndian.AppendUint64(reply, math.Float64bits(v))
		}
		switch behaviour {
		case "hang", "away and hang":
			time.Sleep(time.Hour)
		case "away and fall":
			os.Exit(3)
		case "fall":
			os.Stderr.WriteString("Traceback: division by zero\n")
			os.Exit(3)
		case "stumble": // once
			if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				os.Exit(3)
			}
		case "short":
			os.Stdout.Write(reply[:len(reply)-3])
			return
		case "shortest":
			os.Stdout.Write(reply[:1])
			return
		case "few":
			binary.LittleEndian.PutUint32(reply, uint32(n-1))
			reply = reply[:len(reply)-8]
		case "deaf":
			os.Stdin.Close()
			time.Sleep(time.Hour)
		case "prints":
			os.Stdout.WriteString("first of 3 states: [1 2 3]\n")
		}
		os.Stdout.Write(reply)
	}
}

func workers(t *testing.T, behaviour string, processes int) *Workers {
	t.Helper()
	timeout := time.Hour
	if behaviour == "hang" || behaviour == "deaf" || behaviour == "away and hang" {
		timeout = 3 * time.Second // also for its first word
	}
	w := New(Config{
		Command: []string{os.Args[0], "-serve", behaviour, t.TempDir() + "/mark"},
		Dim:     3, Modes: 2, Timeout: timeout, Processes: processes,
	})
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

var x, k = []float32{1, 2, 3, 4, 0, 0, -1, 0.5, 0}, []uint8{0, 1, 1}

func TestAnswers(t *testing.T) {
	w := workers(t, "well", 3)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2 * checkEvery {
				got := make([]float64, 3)
				if err := w.Evaluate(got, x, k); err != nil || got[0] != -7 || got[1] != -7 || got[2] != 0.375 {
					t.Errorf("%v %v", got, err)
					return
				}
			}
		})
	}
	all.Wait()
	many := make([]float64, 3*maxRows+1)
	long := make([]float32, 3*len(many))
	for i := range long {
		long[i] = float32(i)
	}
	require.NoError(t, w.Evaluate(many, long, make([]uint8, len(many))))
	for r, v := range many {
		a, b, c := float64(3*r), float64(3*r+1), float64(3*r+2)
		require.InDelta(t, -(a*a+b*b+c*c)/2, v, 1e-6)
	}
	dst := make([]float64, 3)
	require.Zero(t, alloctest.PerRun(2*checkEvery, func() {
		if err := w.Evaluate(dst, x, k); err != nil {
			panic(err)
		}
	}))
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]string{
		"chatty":    `does not speak the protocol: it greets with "load" instead of RVGD; nothing but answers may go to its standard output, and what it prints belongs on standard error`,
		"prints":    `wrote "first of 3 states: [1 2 3]" where its answer about 3 states should begin; nothing but answers may go to its standard output, and what it prints belongs on standard error; it was asked about`,
		"dimension": "is for coordinates 7, and the configuration has 3",
		"hang":      "did not answer within 3s; it was asked about 3 states, the first of them x = [1 2 3], k = 0",
		"deaf":      "did not answer within 3s",
		"fall":      "ended (exit status 3); it was asked about 3 states, the first of them x = [1 2 3], k = 0; the end of its standard error:\n  Traceback: division by zero",
		"short":     "ended in the middle of an answer, after 25 of 28 bytes (exit status 0)",
		"shortest":  "ended in the middle of an answer, after 1 of 28 bytes (exit status 0)",
		"few":       "answered about 2 states instead of 3; nothing but answers may go to its standard output",
		"random":    "two answers to one question, ",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := workers(t, behaviour, 1)
			err := w.Evaluate(make([]float64, 3), x, k)
			require.ErrorContains(t, err, "target.command: worker 0 ("+os.Args[0])
			require.ErrorContains(t, err, want)
		})
	}
	w := New(Config{Command: []string{"no-such-program"}, Dim: 3, Timeout: time.Second, Processes: 1})
	require.ErrorContains(t, w.Evaluate(make([]float64, 3), x, nil), `cannot be started: exec: "no-such-program": executable file not found`)
}

// TestSilence: a program that does not come up is waited for once.
func TestSilence(t *testing.T) {
	long.SkipShort(t)
	t.Parallel()
	w := workers(t, "silent", 1)
	w.config.Timeout, w.startTimeout = time.Second, 3*time.Second
	for range 2 {
		require.ErrorContains(t, w.Evaluate(make([]float64, 3), x, k), "did not answer within 3s of its start to the greeting")
	}
	begun, err := os.ReadFile(w.config.Command[3])
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(begun), "begun"))
}

// TestRestart: one death is made good by another process, which gives the same
// answers; processes that answer differently are found out.
func TestRestart(t *testing.T) {
	w := workers(t, "stumble", 1)
	got := make([]float64, 3)
	require.NoError(t, w.Evaluate(got, x, k))
	require.Equal(t, []float64{-7, -7, 0.375}, got)

	w = workers(t, "personal", 1)
	require.NoError(t, w.Evaluate(got, x, k))
	w.workers[0].process.kill()
	require.ErrorContains(t, w.Evaluate(got, x, k), "two answers to one question")
}

// TestTogether: processes that are started together are compared before they are believed.
func TestTogether(t *testing.T) {
	w := workers(t, "personal", 3)
	var err error
	for i := 0; i < 3 && err == nil; i++ {
		err = w.Evaluate(make([]float64, 3), x, k)
	}
	require.ErrorContains(t, err, "target.command: worker ")
	require.Regexp(t, `two answers to one question, \d+ and \d+, at x = \[1 2 3\], k = 0; ln π must be a function`, err.Error())
}

// TestElsewhere: what a program has started, holds its pipes and has left its group and
// session neither keeps a question waiting nor outlives the process.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	gone := func(t *testing.T, file string) {
		t.Helper()
		begun, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(begun)) {
			pid, err := strconv.Atoi(strings.Fields(line)[1])
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
				return err != nil || len(text) == 0
			}, time.Minute, 5*time.Millisecond, "process %d lives on", pid)
		}
	}
	for behaviour, want := range map[string]string{"away and hang": "did not answer within 3s", "away and fall": "ended (exit status 3)"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := workers(t, behaviour, 1)
			start := time.Now()
			require.ErrorContains(t, w.Evaluate(make([]float64, 3), x, k), want)
			require.Less(t, time.Since(start), time.Minute)
			gone(t, w.config.Command[3])
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		w := workers(t, "away and hang", 1)
		w.config.Timeout = time.Hour
		cause := errors.New("enough")
		ended := make(chan error)
		go func() { ended <- w.Evaluate(make([]float64, 3), x, k) }()
		for began := false; !began; time.Sleep(time.Millisecond) {
			_, err := os.Stat(w.config.Command[3])
			began = err == nil
		}
		w.Interrupt(cause)
		require.ErrorIs(t, <-ended, cause)
		gone(t, w.config.Command[3])
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		w := workers(t, "away", 1)
		require.NoError(t, w.Evaluate(make([]float64, 3), x, k))
		require.NoError(t, w.Close())
		gone(t, w.config.Command[3])
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		file := t.TempDir() + "/mark"
		host := exec.Command(os.Args[0], "-serve", "host", file)
		out, err := host.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, host.Start())
		_, err = io.ReadFull(out, make([]byte, 6))
		require.NoError(t, err)
		require.NoError(t, host.Process.Kill())
		_ = host.Wait()
		gone(t, file)
	})
}

// TestInterrupt: whatever a process does, an interruption ends it at once, and the
// question that waits for it.
func TestInterrupt(t *testing.T) {
	cause := errors.New("enough")
	for _, behaviour := range []string{"hang", "silent", "deaf", "well"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := workers(t, behaviour, 2)
			w.config.Timeout = time.Hour
			ended := make(chan error)
			go func() {
				got := make([]float64, 3)
				for {
					if err := w.Evaluate(got, x, k); err != nil {
						ended <- err
						return
					}
				}
			}()
			time.Sleep(200 * time.Millisecond)
			start := time.Now()
			w.Interrupt(cause)
			require.ErrorIs(t, <-ended, cause)
			require.Less(t, time.Since(start), 5*time.Minute, "not after an hour")
			require.ErrorIs(t, w.Evaluate(make([]float64, 3), x, k), cause)
		})
	}
}

// TestClose: no process outlives the workers.
func TestClose(t *testing.T) {
	w := workers(t, "well", 2)
	require.NoError(t, w.Evaluate(make([]float64, 3), x, k))
	var processes []*os.Process
	for _, one := range w.workers {
		processes = append(processes, one.process.cmd.Process)
	}
	require.NoError(t, w.Close())
	for _, p := range processes {
		require.Error(t, p.Signal(os.Interrupt), "process %d", p.Pid)
	}
	require.ErrorIs(t, w.Evaluate(make([]float64, 3), x, k), context.Canceled)
}

func TestState(t *testing.T) {
	require.Equal(t, "x = [1 2.5]", State([]float32{1, 2.5}, nil))
	long := State(make([]float32, 64), []uint8{3})
	require.True(t, strings.HasSuffix(long, "… "+strconv.Itoa(64)+" coordinates], k = 3"), long)
}

func TestTail(t *testing.T) {
	var words tail
	for range 1000 {
		_, err := words.Write([]byte("some warning\n"))
		require.NoError(t, err)
	}
	_, err := words.Write([]byte("the end\n"))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(words.String(), "the end"))
	require.Less(t, len(words.String()), 2*tailLen)
}
