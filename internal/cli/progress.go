package cli

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
)

// A meter shows the progress of work: a bar on a terminal; elsewhere, in a log, one line every ten
// seconds and one at the end.
type meter struct {
	p            *program
	total        int64
	noun         string
	bar          *progressbar.ProgressBar // nil where stderr is no terminal, or a dumb one
	lastShown    time.Time
	shownCount   int64 // count at lastShown, −1 if nothing was shown
	forecastDone bool
}

const (
	lineEvery = 10 * time.Second
	barEvery  = 100 * time.Millisecond
)

// newMeter returns a meter for total items; noun is their plural.
func (p *program) newMeter(total int64, noun string) *meter {
	m := &meter{p: p, total: total, noun: noun, lastShown: time.Now(), shownCount: -1}
	if file := terminal(p.stderr); file != nil && !p.quiet && os.Getenv("TERM") != "dumb" {
		m.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(file),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionShowCount(),
			progressbar.OptionSetTheme(progressbar.ThemeASCII),
		)
	}
	return m
}

func (m *meter) updateTraining(now run.Progress) {
	text, spent := fmt.Sprintf("loss %.3e  acceptance %.3f", now.Loss, now.Acceptance), quantity(float64(now.Evaluations))
	switch counted := now.Evaluations > 0; { // beside a bar, 80 columns have less room
	case m.bar != nil && counted:
		text = fmt.Sprintf("loss %.2e  %s evals", now.Loss, spent)
	case m.bar != nil:
		text = fmt.Sprintf("loss %.2e  acc. %.2f", now.Loss, now.Acceptance)
	case counted:
		text += "  " + spent + " evaluations"
	}
	if now.Predecessors > 0 {
		text += fmt.Sprintf("  (then %d more runs)", now.Predecessors)
	}
	if total := int64(now.Steps); total != m.total { // the run may first train others that it starts from
		if m.total = total; m.bar != nil {
			m.bar.ChangeMax64(total)
		}
	}
	m.forecast(now)
	m.update(int64(now.Step), now.StepsPerSecond, text)
}

// After forecastAfter seconds of a run, its time is forecast if at least minForecast seconds are left.
const (
	forecastAfter = 1
	minForecast   = 10
)

// forecast says once how long a long run takes.
func (m *meter) forecast(now run.Progress) {
	seconds := float64(now.Steps-now.Step) / now.StepsPerSecond
	if m.forecastDone || now.Elapsed.Seconds() < forecastAfter {
		return
	}
	if m.forecastDone = true; seconds < minForecast || now.Predecessors > 0 {
		return
	}
	if m.bar != nil && !m.p.quiet {
		_ = m.bar.Clear() // a terminal returns no error
	}
	m.p.say("the training takes about %s more: %d steps at %s steps/s, as measured in its first %.0f s", timeLeft(seconds), now.Steps-now.Step, quantity(now.StepsPerSecond), now.Elapsed.Seconds())
}

// update shows that done of the total is done, at rate per second.
func (m *meter) update(done int64, rate float64, detail string) {
	if m.p.quiet {
		return
	}
	if detail != "" {
		detail += "  "
	}
	left := timeLeft(float64(m.total-done) / rate)
	if m.bar != nil {
		if done < m.total && m.shownCount >= 0 && time.Since(m.lastShown) < barEvery {
			return
		}
		// Describe comes before Set64, so that the line that stays on the screen describes its own step.
		m.bar.Describe(fmt.Sprintf("%s%s/s  %s left", detail, quantity(rate), left))
		_ = m.bar.Set64(done) // fails only beyond the total
		m.lastShown, m.shownCount = time.Now(), done
		return
	}
	if done == m.total || time.Since(m.lastShown) >= lineEvery {
		m.lastShown, m.shownCount = time.Now(), done
		m.p.say("%s %d/%d  %s%s %s/s  %s left", m.noun, done, m.total, detail, quantity(rate), m.noun, left)
	}
}

func (m *meter) end() {
	if m.bar != nil && m.shownCount >= 0 {
		fmt.Fprintln(m.p.stderr)
	}
}

// evaluationsText writes the number of evaluations, in all and by stage.
func evaluationsText(e *engine.Evaluations) string {
	format := func(n int64) string {
		if n < 1e4 {
			return strconv.FormatInt(n, 10)
		}
		return quantity(float64(n))
	}
	return fmt.Sprintf("%s (first look %s, training %s, table %s, diagnosis %s)", format(e.Total()), format(e.Look), format(e.Training), format(e.Table), format(e.Diagnosis))
}

// quantity writes a number of any size with three digits.
func quantity(x float64) string {
	for _, unit := range []struct {
		from, size float64
		symbol     string
	}{{999.5e6, 1e9, "G"}, {999.5e3, 1e6, "M"}, {1e4, 1e3, "k"}} { // a number that rounds to 1000 has the next unit
		if math.Abs(x) >= unit.from {
			return fmt.Sprintf("%.3g%s", x/unit.size, unit.symbol)
		}
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(max(1, math.Abs(x))))), x)
}

// timeLeft writes seconds as h:mm:ss or m:ss.
func timeLeft(seconds float64) string {
	if math.IsNaN(seconds) || seconds > 1e7 {
		return "?"
	}
	s := int(math.Ceil(seconds))
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
