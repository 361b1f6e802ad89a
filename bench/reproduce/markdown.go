package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
)

// Table returns an outcome's table. After the paper's columns come the sampling floor, the
// paper's error and which error is smaller; at the end the floor and error of a million
// samples of the same generators, if they were measured.
func (o *Outcome) Table() *report.Table {
	t := &report.Table{Header: []string{"metric", "ground truth", "ours", "error", "sampling floor", "paper's error", "better"}, Left: 1}
	if len(o.Seeds) > 1 {
		t.Header[3] = "error (range)"
	}
	for i := range o.Metrics {
		m := &o.Metrics[i]
		t.Rows = append(t.Rows, []string{
			report.Label(m.Name), report.Value(m.Exact, m.Interval), report.Value(m.Generated, m.Interval),
			m.ErrorText(len(o.Seeds)), report.Deviation(m.Floor, m.Relative), m.PaperText(), verdict(m),
		})
	}
	if o.Million == nil {
		return t
	}
	t.Header = append(t.Header, "floor of a million", "error of a million")
	for i := range o.Metrics {
		t.Rows[i] = append(t.Rows[i], o.millionText(o.Metrics[i].Name)...)
	}
	return t
}

// millionText returns the sampling floor and the error of a metric by a million samples.
func (o *Outcome) millionText(name string) []string {
	m := Find(o.Million, func(m Metric) bool { return m.Name == name })
	if m == nil {
		return []string{"–", "–"}
	}
	return []string{m.FloorText(), m.ErrorText(len(o.Seeds)) + marks(m)}
}

// ErrorText writes the error, and its range if there are several seeds.
func (m *Metric) ErrorText(seeds int) string {
	text := report.Deviation(m.Error, m.Relative)
	if seeds > 1 {
		text += " (" + strings.TrimSuffix(report.Deviation(m.Range[0], m.Relative), " %") + "–" + report.Deviation(m.Range[1], m.Relative) + ")"
	}
	return text
}

// PaperText writes the paper's error.
func (m *Metric) PaperText() string {
	if m.Paper == nil {
		return "–"
	}
	return report.Deviation(*m.Paper, m.Relative)
}

// verdict says whether an error is smaller than the paper's, with marks.
func verdict(m *Metric) string {
	text := "–"
	if m.Better != nil {
		text = "no"
		if *m.Better {
			text = "yes"
		}
	}
	return text + marks(m)
}

// marks returns an asterisk for an error at the sampling floor, two if the paper's error is at
// its floor, too.
func marks(m *Metric) string {
	switch {
	case m.bothAtFloor():
		return " **"
	case m.AtFloor:
		return " *"
	}
	return ""
}

// Legend explains the marks of a table.
const Legend = "An asterisk marks an error that exact samples of this size do not exceed in 95 % of cases; a median of several seeds is held against medians of as many exact samples. Two mark it where the paper's, that of one sample, is not beyond 95 % of exact ones either, so that which is smaller is chance."

// Basis says how the figures were obtained beyond the paper's method, and how settings were
// chosen.
const Basis = `What the figures rest on:

- All presets train by reversibility. The preset paper is the paper's method: any
  generator, and the maximum mean discrepancy between the laws of (s, s′) and (s′, s).
  best and quick have generators that know their density q, and the loss
  ½ E (R(s) − R(s′))², R = ln q − ln π, where s′ is another sample or some moves away.
  Their recipe is a function of the target.
- Lattices have spins drawn one group after another. The mixture and the wells have
  Gaussians that a population of the target's own Metropolis chains has placed. A
  mixture of Gaussians is one of them: its rows say that nothing was lost, and no more.
  The setting gmm-realnvp has the paper's own generator instead.
- Seeds 11 and beyond are ones on which nothing was chosen, but for the learning rate
  and the partners of lattices, for which trainings of seed 11 were compared.
- A floor belongs to its number of samples. Errors at the floor of 200 000 samples
  need not be at that of a million.
- Up to L = 8 all references are exact. Beyond, energy, specific heat and ln Z are so
  without a field; the others are those of long chains, whose own errors the
  warnings tell and the asterisks allow for.
- Times of training are on the wall, beside whatever else the machine did; those of
  processors are of training and measuring.`

// Summary says in one line how an outcome came about.
func (o *Outcome) Summary() string {
	seeds := fmt.Sprintf("seed %d", o.Seeds[0])
	time := report.Seconds(o.Seconds)
	if n := len(o.Seeds); n > 1 {
		seeds = fmt.Sprintf("medians of the seeds %d to %d", o.Seeds[0], o.Seeds[n-1])
		time += " each"
	}
	if o.Processors > 0 {
		time += fmt.Sprintf(" (%s of processors)", report.Seconds(o.Processors))
	}
	line := fmt.Sprintf("%s preset, %s, %s steps of %s samples in %s, %s samples measured",
		o.Preset, seeds, figure.Count(o.Steps), figure.Count(o.Batch), time, figure.Count(o.Samples))
	if len(o.Changed) > 0 {
		line += ", with " + strings.Join(o.Changed, " ")
	}
	return line
}

// Others returns a line for each metric that has figures of other methods than
// the paper's.
func (o *Outcome) Others() []string {
	var lines []string
	for i := range o.Metrics {
		var errs []string
		for _, p := range o.Published {
			if p.Metric == o.Metrics[i].Name {
				errs = append(errs, fmt.Sprintf("%s by %s (%s)", report.Deviation(p.Error, o.Metrics[i].Relative), p.Method, p.Target))
			}
		}
		if len(errs) > 0 {
			lines = append(lines, fmt.Sprintf("Published %s: %s.", report.Label(o.Metrics[i].Name), strings.Join(errs, ", ")))
		}
	}
	return lines
}

func (m *Machine) String() string {
	return fmt.Sprintf("%s (%s), %s, kernel path %s, revgen %s", m.CPU, m.Platform, number.Count(m.Threads, "thread"), m.Path, m.Program)
}

// Markdown returns the results as a document. A table has one line for each setting; a section
// for each setting has a table with a column for each preset, and pictures. The same results
// give the same bytes.
func (r *Results) Markdown() string {
	var b strings.Builder
	b.WriteString("# Results\n\n" + resultsIntroduction + "\n")
	computers := Machines(lists.Map(r.Outcomes, func(o Outcome) Machine { return o.Machine }))
	if len(computers) == 1 {
		fmt.Fprintf(&b, "All on %s.\n", computers[0])
	}
	settings := r.settings()
	if len(settings) > 0 {
		b.WriteString("\n")
		_ = r.overview(settings).WriteMarkdown(&b) // writing to b does not fail
	}
	b.WriteString("\n" + markdownMarks(Legend) + "\n\n" + Basis + "\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "\n## %s\n\n", s[0].Title)
		_ = s.table().WriteMarkdown(&b)
		b.WriteString("\n")
		for _, o := range s {
			fmt.Fprintf(&b, "- %s.", o.Summary())
			if len(computers) > 1 {
				fmt.Fprintf(&b, " On %s.", o.Machine.String())
			}
			for _, w := range o.warningTexts() {
				fmt.Fprintf(&b, " Warning: %s.", w)
			}
			b.WriteString("\n")
		}
		for _, line := range s[len(s)-1].Others() {
			fmt.Fprintf(&b, "- %s\n", line)
		}
		for _, o := range s {
			if presetRank(o.Preset) >= shownPresets {
				continue
			}
			for _, name := range o.Figures {
				fmt.Fprintf(&b, "\n![%s](figures/%s.svg)\n", name, name)
			}
		}
	}
	return b.String()
}

// resultsIntroduction heads the document of settings.
const resultsIntroduction = "Errors of trained generators, beside the paper's and beside the sampling floor, the expected error of as many exact samples. The first table has a row for each setting, by the metric that tells most of it; all metrics follow below. Errors are medians over the seeds. The preset best also has ESS, the effective size of the samples' weights as a fraction, the error of ln Z, and the time of training, in seconds of processors with the measuring. `make results` writes this file; ablations and other targets are in [studies.md](studies.md)."

// shownPresets is how many presets, in the order of presetRank, have their pictures shown.
const shownPresets = 2

// Machines returns machines in words, each once.
func Machines(machines []Machine) (texts []string) {
	for i := range machines {
		if text := machines[i].String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// presetOutcomes are the outcomes of one setting, one for each preset.
type presetOutcomes []*Outcome

// settings returns the outcomes grouped by setting.
func (r *Results) settings() (groups []presetOutcomes) {
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if n := len(groups); n > 0 && groups[n-1][0].Setting == o.Setting {
			groups[n-1] = append(groups[n-1], o)
		} else {
			groups = append(groups, presetOutcomes{o})
		}
	}
	return groups
}

// table has a row for each metric and a column for each preset. If the presets have different
// floors, their cell lists these.
func (s presetOutcomes) table() *report.Table {
	t := &report.Table{Header: []string{"metric", "exact", "paper's error", "sampling floor"}, Left: 1}
	var names []string
	var measuredByMillion *Outcome
	for _, o := range s {
		t.Header = append(t.Header, o.Preset)
		for i := range o.Metrics {
			if !slices.Contains(names, o.Metrics[i].Name) {
				names = append(names, o.Metrics[i].Name)
			}
		}
		if o.Million != nil {
			measuredByMillion = o
		}
	}
	if measuredByMillion != nil {
		t.Header = append(t.Header, "floor of a million", measuredByMillion.Preset+", a million")
	}
	for _, name := range names {
		row := []string{report.Label(name), "", "", ""}
		var floors []string
		for _, o := range s {
			m := o.Metric(name)
			if m == nil {
				row = append(row, "–")
				continue
			}
			if row[1] == "" {
				row[1], row[2] = report.Value(m.Exact, m.Interval), m.PaperText()
			}
			if floor := m.FloorText(); !slices.Contains(floors, floor) {
				floors = append(floors, floor)
			}
			row = append(row, markdownMarks(m.ErrorText(len(o.Seeds))+marks(m)))
		}
		row[3] = strings.Join(floors, ", ")
		if measuredByMillion != nil {
			row = append(row, lists.Map(measuredByMillion.millionText(name), markdownMarks)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// FloorText writes the sampling floor.
func (m *Metric) FloorText() string {
	if m.Floor == 0 {
		return "–"
	}
	return report.Deviation(m.Floor, m.Relative)
}

// warningTexts returns the warnings of an outcome, each once. Those that not all seeds have
// begin with the seeds that have them.
func (o *Outcome) warningTexts() (texts []string) {
	seeds := map[string][]uint64{}
	for _, w := range o.Warnings {
		text, seed := w, o.Seeds[0]
		for _, s := range o.Seeds {
			if t, ok := strings.CutPrefix(w, fmt.Sprintf("seed %d: ", s)); ok {
				text, seed = t, s
			}
		}
		if seeds[text] == nil {
			texts = append(texts, text)
		}
		seeds[text] = append(seeds[text], seed)
	}
	for i, text := range texts {
		if warned := seeds[text]; len(warned) < len(o.Seeds) {
			texts[i] = fmt.Sprintf("seed %s: %s", report.Seeds(warned), text)
		}
	}
	return texts
}

// Metric returns the metric of a name, nil if there is none.
func (o *Outcome) Metric(name string) *Metric {
	return Find(o.Metrics, func(m Metric) bool { return m.Name == name })
}

// markdownMarks escapes asterisks.
func markdownMarks(s string) string { return strings.ReplaceAll(s, "*", `\*`) }

// overview has a line for each setting, with its headline metric, and a column for each preset.
func (r *Results) overview(settings []presetOutcomes) *report.Table {
	var columns []string
	for i := range r.Outcomes {
		if p := r.Outcomes[i].Preset; !slices.Contains(columns, p) {
			columns = append(columns, p)
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return presetRank(a) - presetRank(b) })
	t := &report.Table{Header: slices.Concat([]string{"setting", "metric", "paper's error"}, columns,
		[]string{"sampling floor", "ESS", "ln Z off", "trained in"}), Left: 2}
	for _, s := range settings {
		name := s.headline()
		row := []string{s[0].Title, report.Label(name), "–"}
		for range columns {
			row = append(row, "–")
		}
		floor, effectiveSize, logZError, trained := "–", "–", "–", "–"
		for _, o := range s {
			if o.Preset == "best" {
				if m := o.Metric("effective_sample_size"); m != nil {
					effectiveSize = report.Value(m.Generated, m.Interval)
				}
				if m := o.Metric("log_z"); m != nil {
					logZError = report.Deviation(m.Error, m.Relative)
				}
				if o.Processors > 0 {
					trained = report.Seconds(o.Processors)
				}
			}
			if m := o.Metric(name); m != nil {
				row[2], floor = m.PaperText(), m.FloorText()
				row[3+slices.Index(columns, o.Preset)] = report.Deviation(m.Error, m.Relative) + markdownMarks(marks(m))
			}
		}
		t.Rows = append(t.Rows, append(row, floor, effectiveSize, logZError, trained))
	}
	return t
}

// headline names the metric that stands for a setting; the first metric if Settings does not
// have the setting any longer.
func (s presetOutcomes) headline() string {
	if i := settingRank(s[0].Setting); i >= 0 && s[0].Metric(Settings[i].Headline) != nil {
		return Settings[i].Headline
	}
	if len(s[0].Metrics) == 0 {
		return ""
	}
	return s[0].Metrics[0].Name
}
