package reproduce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// SchemaVersion is the version of results.json.
const SchemaVersion = 1

// maxResults bounds a file of results that is read: far beyond every setting and preset.
const maxResults = 1 << 28

// Results are the outcomes of settings with presets, in the order of Settings and, within one
// setting, of presetRank.
type Results struct {
	Schema   int       `json:"schema"`
	Outcomes []Outcome `json:"outcomes"`
}

// An Outcome is the result of one setting with one preset.
type Outcome struct {
	Setting string   `json:"setting"`
	Title   string   `json:"title"`
	System  string   `json:"system"`
	Preset  string   `json:"preset"`
	Seeds   []uint64 `json:"seeds"`
	Steps   int      `json:"steps"`
	Batch   int      `json:"batch"`
	Samples int      `json:"samples"`
	Seconds float64  `json:"seconds"` // of training, the median over seeds
	// Processors is the processors' time for training and measuring, the median over
	// the seeds that were trained in one piece; 0 where none was.
	Processors float64  `json:"processor_seconds,omitempty"`
	Machine    Machine  `json:"machine"`
	Changed    []string `json:"changed,omitempty"` // assignments that the user added
	Metrics    []Metric `json:"metrics"`
	Million    []Metric `json:"million,omitempty"` // of a million samples of the same generators
	Warnings   []string `json:"warnings,omitempty"`
	Warned     int      `json:"warned,omitempty"`  // number of seeds with a warning
	Figures    []string `json:"figures,omitempty"` // of the first seed: names without extension
	// Published are the literature's errors, for the setting's target or for one that differs
	// as their Target says.
	Published []Published `json:"published,omitempty"`
}

// A Machine is where an outcome was computed.
type Machine struct {
	CPU      string `json:"cpu"`
	Platform string `json:"platform"`
	Threads  int    `json:"threads"`
	Path     string `json:"path"` // of the kernels
	Program  string `json:"program"`
}

// A Metric is a figure of the table: medians over the seeds.
type Metric struct {
	Name      string     `json:"name"`
	Exact     float64    `json:"exact"`
	Generated float64    `json:"generated"`
	Error     float64    `json:"error"`
	Range     [2]float64 `json:"range"` // least and largest error over the seeds
	Relative  bool       `json:"relative"`
	Interval  [2]float64 `json:"interval"` // 95 % confidence interval of Generated
	Floor     float64    `json:"floor"`    // expected error of as many exact samples
	Paper     *float64   `json:"paper"`    // the paper's error, null where it gives none
	// Uncertainty is the standard error of Error due to Exact's own, the same for all seeds; 0
	// where Exact is exact.
	Uncertainty float64 `json:"uncertainty,omitempty"`
	// Better says whether Error is less than the paper's; null where one of them is unknown.
	Better *bool `json:"better"`
	// Quantile is the error that 95 % of exact samples of this size do not exceed. Bound is the
	// same for the median of as many samples as there are seeds, if Exact is off by its own
	// standard error.
	Quantile float64 `json:"floor_quantile"`
	Bound    float64 `json:"bound"`
	AtFloor  bool    `json:"at_floor"` // Error is at most Bound
}

// MarshalJSON implements json.Marshaler.
func (m Metric) MarshalJSON() ([]byte, error) { return number.Marshal(m) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metric) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, m) }

// combine returns the medians of the metrics of several seeds.
func combine(seeds []*measure.Evaluation) ([]Metric, error) {
	var combined []Metric
	for i, first := range seeds[0].Metrics {
		var generated, errs, low, high []float64
		for _, e := range seeds {
			if len(e.Metrics) != len(seeds[0].Metrics) || e.Metrics[i].Name != first.Name {
				return nil, fmt.Errorf("the tables of two seeds differ in their metrics")
			}
			m := &e.Metrics[i]
			generated, errs = append(generated, m.Generated), append(errs, m.Error)
			low, high = append(low, m.Interval[0]), append(high, m.Interval[1])
		}
		m := Metric{
			Name: first.Name, Exact: first.Exact, Relative: first.Relative, Floor: first.Floor, Paper: first.Paper, Uncertainty: first.Uncertainty,
			Generated: stat.Median(generated), Error: stat.Median(errs), Range: [2]float64{slices.Min(errs), slices.Max(errs)},
			Interval: [2]float64{stat.Median(low), stat.Median(high)},
		}
		m.judge(first.Law, len(seeds))
		combined = append(combined, m)
	}
	return combined, nil
}

// judge compares the error, a median over samples, with the paper's and with the errors of
// exact samples, whose law is given.
func (m *Metric) judge(law stat.Null, samples int) {
	const level = 0.95
	m.Quantile = law.Quantile(level, m.Floor)
	m.Bound = law.MedianQuantile(level, m.Floor, m.Uncertainty, samples)
	m.AtFloor = m.Floor > 0 && m.Error <= m.Bound
	if m.Paper != nil && !math.IsNaN(m.Error) {
		better := m.Error < *m.Paper
		m.Better = &better
	}
}

// bothAtFloor reports whether the paper's error, that of one sample, is at the floor as well,
// so that it is chance which error is smaller.
func (m *Metric) bothAtFloor() bool {
	return m.AtFloor && m.Paper != nil && *m.Paper <= m.Quantile
}

// Document returns the path of results.md.
func Document(dir string) string { return filepath.Join(dir, "results.md") }

func resultsFile(dir string) string { return filepath.Join(dir, "results.json") }

// Read returns the results in dir, empty ones if there is no file.
func Read(dir string) (*Results, error) {
	r := &Results{Schema: SchemaVersion}
	return Load(resultsFile(dir), r, r.check)
}

// Load reads a file into results, if there is one, and checks them. A key that is not known
// is an error, as it would be lost when the file is written again.
func Load[R any](path string, results *R, check func() error) (*R, error) {
	data, err := disk.Read(path, maxResults)
	if errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err = decoder.Decode(results); err == nil {
			err = check()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return results, nil
}

// Store writes results as JSON to path, and their document.
func Store(path string, results any, document, text string) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{path: append(data, '\n'), document: []byte(text)} {
		disk.RemoveTemporary(filepath.Dir(path), filepath.Base(path))
		if err := disk.Write(path, content); err != nil {
			return err
		}
	}
	return nil
}

// CheckSchema returns an error if a file's version is not the supported one.
func CheckSchema(version, supported int) error {
	if version != supported {
		return fmt.Errorf("schema version %d; this program reads version %d", version, supported)
	}
	return nil
}

// check returns an error if results lack what tables rely on.
func (r *Results) check() error {
	if err := CheckSchema(r.Schema, SchemaVersion); err != nil {
		return err
	}
	for i := range r.Outcomes {
		if err := r.Outcomes[i].Check(); err != nil {
			return fmt.Errorf("outcomes[%d].%w", i, err)
		}
	}
	return nil
}

// Check returns an error if an outcome lacks what tables rely on.
func (o *Outcome) Check() error {
	switch {
	case o.Preset == "":
		return fmt.Errorf("preset: it has none")
	case len(o.Seeds) == 0:
		return fmt.Errorf("seeds: the list is empty")
	}
	for i := range o.Metrics {
		if o.Metrics[i].Name == "" {
			return fmt.Errorf("metrics[%d].name: it has none", i)
		}
	}
	for i := range o.Million {
		if o.Million[i].Name == "" {
			return fmt.Errorf("million[%d].name: it has none", i)
		}
	}
	return nil
}

// AtFloor reports whether one of the errors is at its floor.
func (o *Outcome) AtFloor() bool {
	return slices.ContainsFunc(o.Metrics, func(m Metric) bool { return m.AtFloor })
}

// find returns the outcome of a setting with a preset, nil if there is none.
func (r *Results) find(setting, preset string) *Outcome {
	return Find(r.Outcomes, func(o Outcome) bool { return o.Setting == setting && o.Preset == preset })
}

// Find returns the first row that matches, nil if none does.
func Find[T any](rows []T, match func(T) bool) *T {
	if i := slices.IndexFunc(rows, match); i >= 0 {
		return &rows[i]
	}
	return nil
}

// insert adds an outcome in its place, or replaces that of the same setting and preset.
func (r *Results) insert(o Outcome) {
	if old := r.find(o.Setting, o.Preset); old != nil {
		*old = o
		return
	}
	r.Outcomes = append(r.Outcomes, o)
	slices.SortStableFunc(r.Outcomes, func(a, b Outcome) int {
		return cmp.Or(settingRank(a.Setting)-settingRank(b.Setting), presetRank(a.Preset)-presetRank(b.Preset))
	})
}

func settingRank(name string) int { return slices.Index(Names(), name) }

// presetRank puts the paper's own settings first.
func presetRank(name string) int {
	order := []string{"paper", "best", "quick"}
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// Write writes results.json and results.md.
func (r *Results) Write(dir string) error {
	return Store(resultsFile(dir), r, Document(dir), r.Markdown())
}
