package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
)

// container is a file with a header of one's own and a checksum that matches.
func container(head string, content []byte) []byte {
	data := binary.LittleEndian.AppendUint64([]byte(magic), uint64(len(head)))
	data = append(append(data, head...), content...)
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

// TestFilesRefused: each thing that is wrong with a container, and what is said of it.
func TestFilesRefused(t *testing.T) {
	const head = `{"schema": 2, "kind": "model", "sections": [{"name": "params", "type": "float32", "len": 2}]}`
	good := container(head, make([]byte, 8))
	changed := func(at int, x byte) []byte {
		data := bytes.Clone(good)
		data[at] = x
		return data
	}
	path := filepath.Join(t.TempDir(), "model.rvg")
	for _, c := range []struct {
		data []byte
		want string // of the error behind the path, "" for none
	}{
		{good, ""},
		{nil, "not a RevGen model file"},
		{good[:7], "not a RevGen model file"},
		{changed(6, 'x'), "not a RevGen model file"},
		{changed(7, 9), "container version 9; this program reads version 1"},
		{good[:8], "truncated: 8 bytes are too few for a model"},
		{good[:47], "truncated: 47 bytes are too few for a model"},
		{good[:48], fmt.Sprintf("damaged: a header of %d bytes does not fit", len(head))},
		{container("", nil), "damaged header: unexpected end of JSON input"},
		{container(`{"schema": 2, "kind": "model"}`, nil), "a model has one section, not 0"},
		{container(`{"schema": 2, "kind": "model"}`, nil)[:60], "damaged: a header of 30 bytes does not fit"},
		{container(head, make([]byte, 9)), fmt.Sprintf("damaged: it has %d bytes where its header says %d (truncated, or changed on disk)", len(good)+1, len(good))},
		{container(strings.Replace(head, "float32", "int", 1), make([]byte, 8)), `damaged: section "params" has 2 elements of type "int"`},
		{container(strings.Replace(head, `"len": 2`, `"len": -1`, 1), make([]byte, 8)), `damaged: section "params" has -1 elements of type "float32"`},
		{container(strings.Replace(head, `"len": 2`, `"len": 2147483648`, 1), make([]byte, 8)), `damaged: section "params" has 2147483648 elements of type "float32"`},
		{changed(len(good)-33, 1), "damaged: its checksum does not match its content (truncated, or changed on disk)"},
		{container(strings.Replace(head, `"schema": 2`, `"schema": 3`, 1), make([]byte, 8)), "schema version 3; this program reads version 2"},
		{container(strings.Replace(head, `"model"`, `"keyframe"`, 1), make([]byte, 8)), "holds a keyframe, not a model"},
		{container(strings.Replace(head, "params", "weights", 1), make([]byte, 8)), "section 0 is weights (2 × float32) where the configuration needs params (2 × float32)"},
		{container(strings.Replace(head, "float32", "float64", 1), make([]byte, 16)), "section 0 is params (2 × float64) where the configuration needs params (2 × float32)"},
	} {
		require.NoError(t, os.WriteFile(path, c.data, 0o600))
		m, err := ReadModel(path)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, make([]float32, 2), m.Params)
			again, err := ReadModel(filepath.Dir(path))
			require.NoError(t, err)
			require.Equal(t, m, again)
			continue
		}
		require.Equal(t, &FileError{path, c.want}, err)
		require.EqualError(t, err, path+": "+c.want)
	}
	// What no file has room for is refused before it is read.
	start := binary.LittleEndian.AppendUint64([]byte(magic), maxHeader+1)
	for size, want := range map[int64]string{
		maxFile + 1: "68719476737 bytes are too many for a model",
		maxFile:     "damaged: a header of 67108865 bytes does not fit",
	} {
		_, _, err := readHeader("f", bytes.NewReader(start), size, "model")
		require.EqualError(t, err, "f: "+want)
	}
	_, _, err := readHeader("f", bytes.NewReader(start[:9]), 100, "model")
	require.EqualError(t, err, "f: unexpected EOF")
	_, _, err = readHeader("f", bytes.NewReader(good[:30]), int64(len(good)), "model")
	require.EqualError(t, err, "f: unexpected EOF")

	h := &header{Sections: []sectionHeader{{"a", "float32", 1}, {"b", "float64", 1}}}
	require.EqualError(t, fill("f", h, nil, make([]engine.Section, 1)), "f: holds 2 sections where the configuration needs 1")
}

// TestFormerTrails: a checkpoint that holds the steps of many particles in their place is refused.
func TestFormerTrails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.rvg")
	require.NoError(t, writeFile(path, header{Kind: "checkpoint", Config: []byte("{}")}, []engine.Section{{Name: "params", Float32: []float32{1}}, {Name: "journal.points", Float32: []float32{1, 2}}}))
	c := new(flat)
	r := &run{config: []byte("{}"), cfg: c, common: &c.Common}
	_, err := r.load(path)
	require.EqualError(t, err, path+": holds the steps of many particles since a keyframe, as former versions wrote them; finish the run with one of these, or begin anew in another directory")
}

// TestLineEnds compares the end of the last whole line with that found byte by byte.
func TestLineEnds(t *testing.T) {
	for _, lines := range [][]int{{}, {0}, {5}, {4095}, {4096}, {3, 4095}, {3, 4096}, {3, 9000}, {1, 2, 8192}, {4000, 90, 10}} {
		var text []byte
		ends := []int64{0}
		for _, at := range lines {
			text = append(text, strings.Repeat("x", at)+"\n"...)
			ends = append(ends, int64(len(text)))
		}
		text = append(text, strings.Repeat("y", 5000)...)
		for n := int64(0); n <= int64(len(text)); n += 1 + n/700 {
			var want int64
			for _, end := range ends {
				if end <= n {
					want = end
				}
			}
			got, err := lineEnd(bytes.NewReader(text), n)
			require.NoError(t, err)
			require.Equal(t, want, got, "%v at %d", lines, n)
		}
	}
	_, err := lineEnd(bytes.NewReader(nil), 5)
	require.Error(t, err)
}

// TestSameRun: which keys of two configurations may differ, and what is said of others: a choice
// before the keys that come with it.
func TestSameRun(t *testing.T) {
	const have = `{"preset": "a", "target": {"file": "f", "kind": "x", "beta": 1}, "training": {"steps": 5, "seed": 18014398509481985}}`
	long := strings.Repeat("é", 80)
	for _, c := range []struct {
		written, have string
		extend        bool
		want          string
	}{
		{have, have, false, ""},
		{`{"preset": "b", "target": {"file": "g", "kind": "x", "beta": 1}, "training": {"steps": 5, "seed": 18014398509481985}}`, have, false, ""},
		{`{"training": {"steps": 4}}`, `{"training": {"steps": 5}}`, true, ""},
		{`{"training": {"steps": 4}}`, `{"training": {"steps": 5}}`, false, "training.steps is 4 there and 5 here"},
		{`{"training": {"log_every": 1, "checkpoint_every": 1}, "evaluation": {"every": 1, "samples": 2}}`, `{"training": {"log_every": 2, "checkpoint_every": 3}, "evaluation": {"every": 4, "samples": 5}}`, false, ""},
		{`{"seed": 18014398509481984}`, `{"seed": 18014398509481985}`, false, "seed is 18014398509481984 there and 18014398509481985 here"},
		{`{"a": {"alpha": 1, "kind": "x"}}`, `{"a": {"beta": 1, "kind": "y"}}`, false, `a.kind is "x" there and "y" here`},
		{`{"a": {"alpha": 1}}`, `{"a": {}}`, false, "a.alpha is 1 there and null here"},
		{`{"a": {}}`, `{"a": {"beta": 2}}`, false, "a.beta is null there and 2 here"},
		{`{"a": [1, 2]}`, `{"a": {"b": 1}}`, false, `a is [1,2] there and null here`},
		{`{"a": "` + long[:156] + `"}`, `{"a": "` + long + `"}`, false, `a is "` + long[:156] + `" there and "` + long[:158] + "… here"},
		{`{`, have, false, "damaged configuration: unexpected EOF"},
	} {
		err := sameRun("f", []byte(c.written), []byte(c.have), c.extend)
		switch {
		case c.want == "":
			require.NoError(t, err, "%v", c)
		case strings.HasPrefix(c.want, "damaged"):
			require.EqualError(t, err, "f: "+c.want)
		default:
			require.EqualError(t, err, "f: written by another configuration: "+c.want+"; resume with the same configuration or choose another directory")
		}
	}
	require.Error(t, sameRun("f", []byte(have), []byte("{"), false))
	require.False(t, mayDiffer["training.steps"])
}

// TestMigrate: words of former versions become today's, and others stay.
func TestMigrate(t *testing.T) {
	for text, want := range map[string]string{
		`{"preset": "moves", "loss": {"kind": "divergence", "forward": 1}}`:          `{"preset": "best", "loss": {"kind": "balance", "partners": 1}}`,
		`{"preset": "quick", "loss": {"kind": "balance"}}`:                           `{"preset": "quick", "loss": {"kind": "balance", "partners": 0}}`,
		`{"preset": "quick", "loss": {"kind": "balance", "partners": 0.5}}`:          `{"preset": "quick", "loss": {"kind": "balance", "partners": 0.5}}`,
		`{"loss": {"kind": "stationarity", "density_weight": 1, "kernel": 2}}`:       `{"loss": {"kind": "mmd", "kernel": 2}}`,
		`{"loss": {"kind": "kfd", "witness": {}}}`:                                   `{"loss": {"kind": "mmd"}}`,
		`{"loss": {"kind": "mmd", "forward": 1, "witness": 2, "density_weight": 3}}`: `{"loss": {"kind": "mmd"}}`,
		`{"loss": {}, "target": {"support": [[0, 1]]}}`:                              `{"loss": {}, "target": {"support": [[0, 1]], "link": "logit"}}`,
		`{"loss": {}, "target": {"support": [], "link": "probit"}}`:                  `{"loss": {}, "target": {"support": [], "link": "probit"}}`,
		`{"loss": {}, "target": {"l": 3}}`:                                           `{"loss": {}, "target": {"l": 3}}`,
		`{"loss": 3}`:                                                                `{"loss": 3}`,
		`{"preset": 1}`:                                                              `{"preset": 1}`,
	} {
		require.JSONEq(t, want, string(migrate([]byte(text))))
	}
	require.Equal(t, "{", string(migrate([]byte("{"))))
}

// TestRunsInDirectories: what a directory holds, and what may be asked of it.
func TestRunsInDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		file              string
		checkpoint, begun bool
	}{{"", false, false}, {"config.json", false, true}, {"checkpoint.rvg", true, true}} {
		if c.file != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), nil, 0o600))
		}
		checkpoint, begun, err := runIn(dir)
		require.NoError(t, err)
		require.Equal(t, []bool{c.checkpoint, c.begun}, []bool{checkpoint, begun})
	}
	_, _, err := runIn(filepath.Join(dir, "config.json"))
	require.Error(t, err)
	for _, c := range []struct {
		resume string
		begun  bool
		want   string
	}{
		{"", false, ""}, {"", true, ""}, {"auto", false, ""}, {"auto", true, ""}, {"never", false, ""}, {"must", true, ""},
		{"never", true, "d: holds a run already; choose another directory, or resume it"},
		{"must", false, "d: holds no run to resume"},
		{"maybe", false, `resume: "maybe" is not auto, never or must`},
	} {
		if err := mayResume("d", c.resume, c.begun); c.want != "" {
			require.EqualError(t, err, c.want)
		} else {
			require.NoError(t, err)
		}
	}
	require.Zero(t, spentIn(dir))
	spent := engine.Evaluations{Look: 3, Table: 2}
	for text, want := range map[string]engine.Evaluations{`{"evaluations": {"look": 3, "table": 2}}`: spent, `{"evaluations": {"look": 3`: {}, `{}`: {}} {
		require.NoError(t, os.WriteFile(statusFile(dir), []byte(text), 0o600))
		require.Equal(t, want, spentIn(dir))
	}
	for e, want := range map[StopError]string{
		{"", 3, 9}:   "stopped at step 3 of 9",
		{"d", 0, 9}:  "stopped at step 0 of 9; the same command continues from d",
		{"d", -1, 9}: "stopped before the first step; the same command continues from d",
	} {
		require.EqualError(t, &e, want)
	}
	var status Status
	require.NoError(t, json.Unmarshal([]byte(`{"state": "done", "step": 4}`), &status))
	require.Equal(t, Status{State: "done", Step: 4}, status)
}
