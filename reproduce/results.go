package reproduce

import (
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

// maxResults bounds the results.json that is read: far beyond every setting,
// preset and study.
const maxResults = 1 << 28

// Results are what the settings gave, in the order of Settings, for one preset
// after another, and what the studies gave, in theirs.
type Results struct {
	Schema   int            `json:"schema"`
	Outcomes []Outcome      `json:"outcomes"`
	Studies  []StudyOutcome `json:"studies,omitempty"`
	Field    []FieldRow     `json:"field,omitempty"` // of the study of the field's targets
	// Neighbours are targets that were drawn.
	Neighbours Neighbours    `json:"neighbours,omitempty"`
	Protocol   []ProtocolRow `json:"protocol,omitempty"`
}

// Empty reports that there are none.
func (r *Results) Empty() bool {
	return len(r.Outcomes) == 0 && !r.studied()
}

// studied reports whether there are any of studies.
func (r *Results) studied() bool {
	return len(r.Studies)+len(r.Field)+len(r.Neighbours)+len(r.Protocol) > 0
}

// fieldRow returns the row of a target, nil if there is none.
func (r *Results) fieldRow(name string) *FieldRow {
	if i := slices.IndexFunc(r.Field, func(row FieldRow) bool { return row.Name == name }); i >= 0 {
		return &r.Field[i]
	}
	return nil
}

// putField adds a row of the study of the field's targets, in place of an earlier one.
func (r *Results) putField(row FieldRow) {
	r.Field = slices.DeleteFunc(r.Field, func(old FieldRow) bool { return old.Name == row.Name })
	rank := func(name string) int {
		return slices.IndexFunc(FieldTargets, func(t FieldTarget) bool { return t.Name == name })
	}
	r.Field = append(r.Field, row)
	slices.SortStableFunc(r.Field, func(a, b FieldRow) int { return cmp.Compare(rank(a.Name), rank(b.Name)) })
}

// A StudyOutcome is what the variants of a study gave.
type StudyOutcome struct {
	Name        string    `json:"study"`
	Title       string    `json:"title"`
	Preset      string    `json:"preset"`
	Assignments []string  `json:"assignments"` // of every variant
	Variants    []Outcome `json:"variants"`    // Setting and Title are the label, Changed what the variant assigns
}

// An Outcome is what one setting gave with one preset, or one variant of a
// study.
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
	Warned     int      `json:"warned,omitempty"`  // seeds with a warning
	Figures    []string `json:"figures,omitempty"` // names of the first seed's, without extension
	// Published are the literature's errors, of the setting or of one that
	// differs as they say.
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
	// Uncertainty is the standard error that Exact gives to Error, the same for all
	// seeds; 0 where it is exact.
	Uncertainty float64 `json:"uncertainty,omitempty"`
	// Better says whether Error is less than the paper's; null where one of them
	// is not known.
	Better *bool `json:"better"`
	// Quantile is the error that 95 % of single exact samples of this size do not
	// exceed, and Bound what the median of as many of them as there are seeds does
	// not exceed in 95 % of cases, where Exact is off by its own standard error.
	// AtFloor says that Error is within Bound.
	Quantile float64 `json:"floor_quantile"`
	Bound    float64 `json:"bound"`
	AtFloor  bool    `json:"at_floor"`
}

// MarshalJSON implements json.Marshaler.
func (m Metric) MarshalJSON() ([]byte, error) { return number.Marshal(m) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metric) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, m) }

// combine makes a table of medians from those of several seeds.
func combine(all []*measure.Evaluation) ([]Metric, error) {
	var combined []Metric
	for i, first := range all[0].Metrics {
		var generated, errs, low, high []float64
		for _, e := range all {
			if len(e.Metrics) != len(all[0].Metrics) || e.Metrics[i].Name != first.Name {
				return nil, fmt.Errorf("the tables of two seeds differ in their metrics")
			}
			m := &e.Metrics[i]
			generated, errs = append(generated, m.Generated), append(errs, m.Error)
			low, high = append(low, m.Interval[0]), append(high, m.Interval[1])
		}
		m := Metric{
			Name: first.Name, Exact: first.Exact, Relative: first.Relative, Floor: first.Floor, Paper: first.Paper, Uncertainty: first.Uncertainty,
			Generated: median(generated), Error: median(errs), Range: [2]float64{slices.Min(errs), slices.Max(errs)},
			Interval: [2]float64{median(low), median(high)},
		}
		m.judge(first.Law, len(all))
		combined = append(combined, m)
	}
	return combined, nil
}

// median returns that of x, which is not a number if one of x is not.
func median(x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// judge compares the error with the paper's and, a median of several samples, with
// the errors that exact samples have, whose law is given.
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

// bothAtFloor reports that the paper's error, of one sample, is what an exact one
// has, too: which is the smaller is chance.
func (m *Metric) bothAtFloor() bool {
	return m.AtFloor && m.Paper != nil && *m.Paper <= m.Quantile
}

// The documents of results.
const (
	resultsDocument = "results.md"
	studiesDocument = "studies.md"
)

// Documents returns the paths of those that Write writes.
func (r *Results) Documents(dir string) []string {
	var all []string
	if len(r.Outcomes) > 0 {
		all = append(all, filepath.Join(dir, resultsDocument))
	}
	if r.studied() {
		all = append(all, filepath.Join(dir, studiesDocument))
	}
	return all
}

func resultsFile(dir string) string { return filepath.Join(dir, "results.json") }

// Read returns the results in dir, none if it has none.
func Read(dir string) (*Results, error) {
	r := &Results{Schema: SchemaVersion}
	data, err := disk.Read(resultsFile(dir), maxResults)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err == nil && r.Schema != SchemaVersion {
		err = fmt.Errorf("schema version %d; this program reads version %d", r.Schema, SchemaVersion)
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile(dir), err)
	}
	return r, nil
}

// check reports what results lack that tables take for granted.
func (r *Results) check() error {
	for i := range r.Outcomes {
		if err := r.Outcomes[i].check(); err != nil {
			return fmt.Errorf("outcomes[%d].%w", i, err)
		}
	}
	for i := range r.Studies {
		variants := r.Studies[i].Variants
		if len(variants) == 0 {
			return fmt.Errorf("studies[%d].variants: the list is empty", i)
		}
		for j := range variants {
			if err := variants[j].check(); err != nil {
				return fmt.Errorf("studies[%d].variants[%d].%w", i, j, err)
			}
		}
	}
	for i := range r.Protocol {
		if len(r.Protocol[i].Runs) == 0 {
			return fmt.Errorf("protocol[%d].runs: the list is empty", i)
		}
	}
	return nil
}

func (o *Outcome) check() error {
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
	i := slices.IndexFunc(r.Outcomes, func(o Outcome) bool { return o.Setting == setting && o.Preset == preset })
	if i < 0 {
		return nil
	}
	return &r.Outcomes[i]
}

// put replaces an outcome or adds it in its place.
func (r *Results) put(o Outcome) {
	if old := r.find(o.Setting, o.Preset); old != nil {
		*old = o
		return
	}
	r.Outcomes = append(r.Outcomes, o)
	slices.SortStableFunc(r.Outcomes, func(a, b Outcome) int {
		return cmp.Or(settingRank(a.Setting)-settingRank(b.Setting), presetRank(a.Preset)-presetRank(b.Preset))
	})
}

// study returns what is known of a study, which is none of its variants at
// first.
func (r *Results) study(s *Study) *StudyOutcome {
	for i := range r.Studies {
		if r.Studies[i].Name == s.Name {
			return &r.Studies[i]
		}
	}
	r.Studies = append(r.Studies, StudyOutcome{Name: s.Name})
	slices.SortStableFunc(r.Studies, func(a, b StudyOutcome) int {
		return slices.Index(StudyNames(), a.Name) - slices.Index(StudyNames(), b.Name)
	})
	return r.study(s)
}

func (o *StudyOutcome) find(label string) *Outcome {
	i := slices.IndexFunc(o.Variants, func(v Outcome) bool { return v.Setting == label })
	if i < 0 {
		return nil
	}
	return &o.Variants[i]
}

// put replaces a variant or adds it in its place. Variants that the study no
// longer has go.
func (o *StudyOutcome) put(s *Study, v Outcome) {
	o.Title, o.Preset, o.Assignments = s.Title, s.Preset, s.Assignments
	if old := o.find(v.Setting); old != nil {
		*old = v
	} else {
		o.Variants = append(o.Variants, v)
	}
	rank := func(v Outcome) int {
		return slices.IndexFunc(s.Variants, func(d Variant) bool { return d.Label == v.Setting })
	}
	o.Variants = slices.DeleteFunc(o.Variants, func(v Outcome) bool { return rank(v) < 0 })
	slices.SortStableFunc(o.Variants, func(a, b Outcome) int { return rank(a) - rank(b) })
}

func settingRank(name string) int { return slices.Index(Names(), name) }

// presetRank puts the paper's own settings first.
func presetRank(name string) int {
	known := []string{"paper", "best", "quick"}
	if i := slices.Index(known, name); i >= 0 {
		return i
	}
	return len(known)
}

// Write writes results.json and, of what there is, results.md and studies.md.
func (r *Results) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	files := map[string][]byte{resultsFile(dir): append(data, '\n')}
	for _, path := range r.Documents(dir) {
		files[path] = []byte(r.Markdown())
		if filepath.Base(path) == studiesDocument {
			files[path] = []byte(r.StudiesMarkdown())
		}
	}
	for path, content := range files {
		disk.Sweep(dir, filepath.Base(path))
		if err := disk.Write(path, content); err != nil {
			return err
		}
	}
	return nil
}
