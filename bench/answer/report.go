package answer

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/number"
)

// Formats lists what Write takes.
var Formats = []string{"md", "csv", "json"}

// A Report is one run.
type Report struct {
	Schema  int      `json:"schema"`
	CPU     string   `json:"cpu"`
	Version string   `json:"version"`
	Seed    uint64   `json:"seed"`
	Answers []Answer `json:"answers"`
}

// Read reads what Write writes as json.
func (r *Report) Read(data []byte) error {
	err := json.Unmarshal(data, r)
	for _, a := range r.Answers {
		if err == nil && len(a.Outcomes) == 0 {
			err = fmt.Errorf("%s: no outcomes", a.Problem)
		}
		for _, o := range a.Outcomes {
			if err == nil && o.Missing == "" && (o.Slowest < 0 || o.Slowest >= len(o.Averages)) {
				err = fmt.Errorf("%s, %s: no average %d", a.Problem, o.Contender, o.Slowest)
			}
		}
	}
	return err
}

// Write writes the report. md has a summary, a table, a sentence for each target where RevGen
// is not first, and the bars; csv has the curves; json has everything.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "md":
		_, err := io.WriteString(w, r.markdown())
		return err
	case "csv":
		return r.csv(w)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(r)
	}
	return fmt.Errorf("unknown format %q; the formats are %s", format, strings.Join(Formats, ", "))
}

func (r *Report) markdown() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s, one thread, %s, seed %d. Times are those of the processor.\n", r.CPU, r.Version, r.Seed)
	b.WriteString("\n| target | 1 % after, RevGen | | then samples/s | first of the others | | then samples/s | paid after samples |\n|---|--:|---|--:|--:|---|--:|--:|\n")
	for _, a := range r.Answers {
		if ours, other := a.fastest(true), a.fastest(false); ours != nil && other != nil {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", a.Problem, ours.timeText(), ours.Preset, quantity(ours.slowest().Independent),
				other.timeText(), other.Contender, quantity(other.slowest().Independent), quantity(ours.Paid(other)))
		}
	}
	b.WriteString("\n| target | by | before the first sample | evaluations | 1 % of the slowest average after | which | independent samples/s after that | training has paid after | |\n|---|---|--:|--:|--:|---|--:|--:|---|\n")
	for _, a := range r.Answers {
		for i := range a.Outcomes {
			o := &a.Outcomes[i]
			if o.Missing != "" {
				fmt.Fprintf(b, "| %s | %s | missing: %s | | | | | | |\n", a.Problem, o.Contender, o.Missing)
				continue
			}
			s := o.slowest()
			paid := ""
			if ours := a.fastest(true); o.Preset == "" && ours != nil {
				paid = "never"
				if n := ours.Paid(o); !math.IsInf(n, 1) {
					paid = quantity(n) + " samples"
				}
			}
			evaluations := "–"
			if o.SetupEvaluations+o.Evaluations > 0 {
				evaluations = fmt.Sprintf("%s + %s a sample", quantity(o.SetupEvaluations), quantity(o.Evaluations/o.Sampling/s.Independent))
			}
			fmt.Fprintf(b, "| %s | %s | %s s | %s | %s s | %s | %s | %s | %s |\n", a.Problem, o.Contender, quantity(o.Setup), evaluations,
				quantity(s.Seconds), s.Observable, quantity(s.Independent), paid, o.remark())
		}
	}
	for _, a := range r.Answers {
		if text := a.slowerText(); text != "" {
			fmt.Fprintf(b, "\n%s: %s", a.Problem, text)
		}
	}
	r.writeBars(b)
	return b.String()
}

// remark names the average that contradicts its reference most, "" if none does.
func (o *Outcome) remark() string {
	if o.Consistent() {
		return ""
	}
	worst := slices.MaxFunc(o.Averages, func(a, b Average) int { return int(math.Copysign(1, a.Off-b.Off)) })
	return fmt.Sprintf("wrong: %s is %s, not %s, %.0f standard errors off", worst.Observable, quantity(worst.Value), quantity(worst.Reference), worst.Off)
}

// fastest returns the outcome whose slowest average takes the least time, among RevGen's if ours
// is set and among the peers' otherwise. Consistent outcomes come before others. It is nil if
// there is none.
func (a *Answer) fastest(ours bool) (first *Outcome) {
	for i := range a.Outcomes {
		o := &a.Outcomes[i]
		if o.Missing != "" || ours != (o.Preset != "") {
			continue
		}
		if first == nil || o.Consistent() && !first.Consistent() || o.Consistent() == first.Consistent() && o.slowest().Seconds < first.slowest().Seconds {
			first = o
		}
	}
	return first
}

// timeText writes the time of an outcome's slowest average, and whether the outcome is wrong.
func (o *Outcome) timeText() string {
	return quantity(o.slowest().Seconds) + " s" + map[bool]string{false: " (wrong)"}[o.Consistent()]
}

// slowerText says why a peer has its answer before RevGen, "" if none has.
func (a *Answer) slowerText() string {
	ours, peer := a.fastest(true), a.fastest(false)
	switch {
	case ours == nil || peer == nil || !peer.Consistent() || ours.slowest().Seconds <= peer.slowest().Seconds:
		return ""
	case ours.slowest().Independent > peer.slowest().Independent:
		return fmt.Sprintf("%s answers first, since training takes %s of our %s s; from then on a sample of ours costs %s times less.\n",
			peer.Contender, quantity(ours.Setup), quantity(ours.slowest().Seconds), quantity(ours.slowest().Independent/peer.slowest().Independent))
	}
	return fmt.Sprintf("%s answers first, and its samples cost %s times less than ours.\n", peer.Contender, quantity(peer.slowest().Independent/ours.slowest().Independent))
}

// quantity writes a number with three digits, thousands with a comma, and millions in words.
func quantity(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return "–"
	}
	switch x = number.Rounded(x, 3); {
	case math.Abs(x) >= 1e6:
		return strconv.FormatFloat(x/1e6, 'f', -1, 64) + " million"
	case math.Abs(x) >= 1000:
		text := strconv.FormatFloat(x, 'f', 0, 64)
		return text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

func (r *Report) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"problem", "contender", "seconds", "error", "standard_error"}}
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for _, a := range r.Answers {
		for _, o := range a.Outcomes {
			for _, p := range o.Curve {
				rows = append(rows, []string{a.Problem, o.Contender, text(p.Seconds), text(p.Error), text(p.Standard)})
			}
		}
	}
	return c.WriteAll(rows)
}

// Figure shows the curves, three problems a row. Points are measured errors; lines are the
// errors expected from autocorrelation times.
func (r *Report) Figure() figure.Figure {
	f := figure.Figure{Name: "answer", Title: "largest error of an average after so much time of a processor, training included"}
	const panelsPerRow = 3
	roles := map[string]figure.Role{} // one for each contender
	for i, a := range r.Answers {
		if i%panelsPerRow == 0 {
			f.Rows = append(f.Rows, figure.Row{})
		}
		row := &f.Rows[len(f.Rows)-1]
		panel := figure.Panel{
			Title: a.Problem, X: figure.Axis{Label: "seconds", Scale: figure.Log}, Y: figure.Axis{Label: "error", Scale: figure.Log},
		}
		for _, o := range a.Outcomes {
			role, ok := roles[o.Contender]
			if !ok {
				role = figure.Series(len(roles))
				roles[o.Contender] = role
			}
			line, points := figure.Layer{Mark: figure.Line, Role: role, Label: o.Contender}, figure.Layer{Mark: figure.Points, Role: role}
			for _, p := range o.Curve {
				line.X, line.Y = append(line.X, p.Seconds), append(line.Y, p.Standard)
				points.X, points.Y = append(points.X, p.Seconds), append(points.Y, max(p.Error, 1e-9))
			}
			if len(o.Curve) > 0 {
				panel.Layers = append(panel.Layers, line, points)
			}
		}
		row.Panels = append(row.Panels, panel)
	}
	return f
}
