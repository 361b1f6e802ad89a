package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/score"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/table"
)

var scoreSuite = Suite{
	Name:    "score",
	Summary: "energies of states from each kind of input, beside the rate of reading memory",
	Size:    "SYSTEM/N, or SYSTEM/N/L with a side of its lattice",
	rows:    scoreRows,
	each: func(system string) string {
		return map[string]string{"ising": "ising/262144/16", "gmm": "gmm/1048576"}[system]
	},
}

func scoreRows(e *environment, size string) ([]*operation, error) {
	cfg, n, err := e.parseScore(size)
	if err != nil {
		return nil, err
	}
	system, err := cfg.New(e.workers)
	if err != nil {
		return nil, optionf("size %q: %v", size, err)
	}
	sampler, ok := system.(engine.Sampler)
	if _, energetic := system.(engine.Scorer); !ok || !energetic {
		return nil, optionf("size %q: the system scores no states", size)
	}
	params := make([]float32, system.NumParams())
	system.Initialize(params)
	judge, err := score.NewJudge(system, nil, nil)
	if err != nil {
		return nil, err
	}
	if err := judge.Keep([]string{score.Energy}); err != nil {
		return nil, err
	}
	var operations []*operation
	for _, f := range sampler.Formats() {
		if f.Name != "spins" && f.Name != "bits" && f.Name != "states" {
			continue // not all of a state
		}
		states := make([]byte, n*f.RowBytes)
		if err := sampler.Sample(states, f.Name, params, 0, n, 0); err != nil {
			return nil, err
		}
		more, err := e.scoreFormat(judge, sampler, f, states, n, size)
		if err != nil {
			return nil, err
		}
		operations = append(operations, more...)
	}
	return operations, nil
}

// parseScore finds the configuration that a size names, and the number of states.
func (e *environment) parseScore(size string) (cfg engine.Config, n int, err error) {
	parts := strings.Split(size, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, 0, optionf("size %q is not of the form SYSTEM/N or SYSTEM/N/L", size)
	}
	if n, err = strconv.Atoi(parts[1]); err != nil || n < 1 || n > 1<<24 {
		return nil, 0, optionf("size %q: %q is not a number of states", size, parts[1])
	}
	system, err := e.systems.Find(parts[0])
	if err != nil {
		return nil, 0, optionf("size %q: there is no system %q", size, parts[0])
	}
	if cfg, err = system.Preset(system.Presets[0]); err != nil {
		return nil, 0, err
	}
	if len(parts) == 3 {
		err = conf.Set(cfg, "target.l="+parts[2])
	}
	if a, ok := cfg.(engine.Adapter); ok && err == nil {
		_, err = a.Adapt(context.Background())
	}
	if err == nil {
		err = cfg.Validate()
	}
	if err != nil {
		return nil, 0, optionf("size %q: %v", size, err)
	}
	return cfg, n, nil
}

// scoreFormat returns a row for each kind of input of states in a format.
func (e *environment) scoreFormat(judge *score.Judge, sampler engine.Sampler, f engine.Format, states []byte, n int, size string) ([]*operation, error) {
	file, err := heldFile(npy.Header{Descr: f.Descr, Shape: append([]int{n}, f.Shape...)}, states)
	if err != nil {
		return nil, err
	}
	type input struct {
		kind  string
		bytes int
		open  func() (string, io.Reader)
	}
	inputs := []input{
		{"npy", len(states), func() (string, io.Reader) { return file.path, nil }},
		{"raw", len(states), func() (string, io.Reader) { return "-", bytes.NewReader(states) }},
	}
	text, scalars := linesOf(f, states)
	if text != nil {
		inputs = append(inputs, input{"ndjson", len(text), func() (string, io.Reader) { return "-", bytes.NewReader(text) }})
	}
	var operations []*operation
	for _, input := range inputs {
		result := &digest{}
		op := &operation{
			name: fmt.Sprintf("%s-%s/%s", input.kind, f.Name, size), amount: float64(input.bytes), unit: "B",
			need: need{{counts: map[Resource]float64{Read: float64(input.bytes)}, bytes: input.bytes}},
			note: fmt.Sprintf("%d states; energies, as an array", n),
		}
		op.call = func() {
			path, stdin := input.open()
			in, err := score.Open(path, stdin, input.kind, f.Name, sampler.Formats(), e.threads())
			must(err)
			*result = digest{}
			out, err := table.NewOutput(result, "npy", judge.Columns, int64(n), e.workers)
			must(err)
			_, err = score.Run(context.Background(), judge, in, out.Rows)
			must(errors.Join(err, in.Close()))
			runtime.KeepAlive(file)
		}
		if input.kind == "ndjson" {
			theirs := &digest{}
			call := func() {
				*theirs = digest{}
				must(e.scoreByStandard(theirs, judge, f, scalars, text, n))
			}
			op.rivals = []rival{{
				name: "encoding/json", call: call,
				prepare: func(*peers.Process) (agreement, error) {
					call()
					return agreement{map[bool]float64{false: 1}[*theirs == *result], 0, "whether the energies are the same"}, nil
				},
			}}
		}
		operations = append(operations, op)
	}
	return operations, nil
}

func must(err error) {
	if err != nil {
		panic(err) // of inputs that were made here
	}
}

// A digest remembers what was written by its sum.
type digest struct{ bytes, sum uint64 }

func (d *digest) Write(b []byte) (int, error) {
	d.bytes += uint64(len(b))
	for i := 0; i+8 <= len(b); i += 8 {
		d.sum = d.sum*31 + binary.LittleEndian.Uint64(b[i:])
	}
	return len(b), nil
}

// scoreByStandard does with encoding/json and the same energies what score does.
func (e *environment) scoreByStandard(w io.Writer, judge *score.Judge, f engine.Format, scalars int, text []byte, n int) error {
	out, err := table.NewOutput(w, "npy", judge.Columns, int64(n), e.workers)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<26)
	var scores []float64
	part := make([]byte, 0, 1<<20)
	flush := func() error {
		if scores, err = judge.Score(scores, f.Name, part, len(part)/f.RowBytes); err != nil {
			return err
		}
		part = part[:0]
		return out.Rows(scores)
	}
	signs, floats := make([]int8, scalars), make([]float32, scalars)
	for lines.Scan() {
		if f.Descr == "'|i1'" {
			if err := json.Unmarshal(lines.Bytes(), &signs); err != nil {
				return err
			}
			for _, v := range signs {
				part = append(part, byte(v))
			}
		} else {
			if err := json.Unmarshal(lines.Bytes(), &floats); err != nil {
				return err
			}
			for _, v := range floats {
				part = binary.LittleEndian.AppendUint32(part, math.Float32bits(v))
			}
		}
		if len(part)+f.RowBytes > cap(part) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return lines.Err()
}

// linesOf writes states as lines of JSON, nil if they are neither signs nor vectors.
func linesOf(f engine.Format, states []byte) (text []byte, scalars int) {
	for ; len(states) > 0; states = states[f.RowBytes:] {
		row := states[:f.RowBytes]
		next := byte('[')
		switch f.Descr {
		case "'|i1'":
			scalars = len(row)
			for _, v := range row {
				text = strconv.AppendInt(append(text, next), int64(int8(v)), 10)
				next = ','
			}
		case "'<f4'":
			scalars = len(row) / 4
			for i := range scalars {
				x := math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
				text = strconv.AppendFloat(append(text, next), float64(x), 'g', -1, 32)
				next = ','
			}
		default:
			return nil, 0
		}
		text = append(text, ']', '\n')
	}
	return text, scalars
}

// A held file has no name that would be left behind.
type held struct {
	file *os.File
	path string
}

func heldFile(h npy.Header, states []byte) (*held, error) {
	file, err := os.CreateTemp("", "revgen-bench-*.npy")
	if err != nil {
		return nil, err
	}
	k := &held{file, file.Name()}
	if runtime.GOOS == "linux" {
		k.path = fmt.Sprintf("/proc/self/fd/%d", file.Fd())
		err = os.Remove(file.Name())
	} else {
		runtime.AddCleanup(k, func(name string) { _ = os.Remove(name) }, file.Name())
	}
	head, failed := h.Append(nil)
	_, wrote := file.Write(append(head, states...))
	return k, errors.Join(err, failed, wrote)
}
