package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/version"
)

// machine is what info prints about the program and the machine.
type machine struct {
	Version  version.Version `json:"version"`
	Go       string          `json:"go"`
	Platform string          `json:"platform"`
	CPU      string          `json:"cpu"`
	Affinity int             `json:"affinity"` // processors of the affinity mask
	Limit    int             `json:"limit"`    // GOMAXPROCS, which heeds a container's CPU limit
	Threads  int             `json:"threads"`  // default of --threads
	Path     string          `json:"path"`
	Reason   string          `json:"reason"`
	Paths    []string        `json:"paths"` // kernel paths that this machine and build can run
	Features []string        `json:"features"`
	Missing  []string        `json:"missing"` // features without which better paths cannot run
	Problem  string          `json:"problem,omitempty"`
	Systems  []string        `json:"systems"`
}

func (p *program) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info [DIR|MODEL]",
		Short: "Show version, machine and kernel path, or describe a run or model",
		Args:  usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return p.printInfo(args[0])
			}
			return p.printMachine()
		},
	}
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := version.Read()
			if p.json {
				return json.NewEncoder(p.stdout).Encode(v)
			}
			_, err := fmt.Fprintln(p.stdout, "revgen", v)
			return err
		},
	}
}

func (p *program) printMachine() error {
	m := machine{
		Version: version.Read(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPU: asm.CPUName(),
		Affinity: runtime.NumCPU(), Limit: runtime.GOMAXPROCS(0), Threads: defaultThreads(), Systems: p.systems.Names(),
		Features: []string{}, Missing: []string{},
	}
	path, why, problem := asm.Active()
	m.Path, m.Reason = path.String(), why
	switch {
	case p.isa != "":
		m.Reason = "--isa " + p.isa
	case problem != nil:
		m.Problem = problem.Error()
	}
	m.Paths = lists.Map(asm.Supported(), asm.Path.String)
	for _, f := range asm.Features() {
		if f.Present {
			m.Features = append(m.Features, f.Name)
		} else {
			m.Missing = append(m.Missing, f.Name+" ("+f.Path.String()+")")
		}
	}
	if p.json {
		return json.NewEncoder(p.stdout).Encode(m)
	}
	lines := [][2]string{
		{"version", m.Version.String()},
		{"go", m.Go + " " + m.Platform},
		{"cpu", m.CPU},
		{"processors", fmt.Sprintf("%d in the affinity mask, GOMAXPROCS %d: %d threads by default", m.Affinity, m.Limit, m.Threads)},
		{"kernel path", m.Path + ": " + m.Reason},
		{"available", strings.Join(m.Paths, " ")},
		{"features", cmp.Or(strings.Join(m.Features, " "), "none")},
		{"missing", cmp.Or(strings.Join(m.Missing, " "), "none")},
		{"systems", strings.Join(m.Systems, " ")},
	}
	if m.Problem != "" {
		lines = append(lines, [2]string{"problem", m.Problem})
	}
	return p.writeLines(lines)
}

func (p *program) writeLines(lines [][2]string) error {
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%-13s %s\n", l[0], l[1])
	}
	_, err := b.WriteTo(p.stdout)
	return err
}

// readStatus reads status.json, nil if dir is no run directory.
func readStatus(dir string) (*run.Status, error) {
	return readJSON[run.Status](dir, "status.json", maxConfig)
}

// runInfo is what info prints about a run or a model.
type runInfo struct {
	Status     *run.Status         `json:"status,omitempty"`
	System     string              `json:"system"`
	Step       int                 `json:"step"`
	Parameters int                 `json:"parameters,omitempty"`
	Path       string              `json:"path,omitempty"` // kernel path that computed the model
	Hash       string              `json:"hash,omitempty"` // of the model, the same as in records of samples
	Config     json.RawMessage     `json:"config"`
	Evaluation *measure.Evaluation `json:"evaluation,omitempty"`
}

func (p *program) printInfo(path string) error {
	var d runInfo
	info, err := os.Stat(path)
	if err != nil {
		return usageError{err}
	}
	if info.IsDir() {
		if d.Status, err = readStatus(path); err != nil {
			return err
		}
		if d.Status == nil {
			return fmt.Errorf("%s: not a run directory: it has no status.json", path)
		}
	}
	model, err := run.ReadModel(path)
	switch {
	case err == nil:
		d.System, d.Step, d.Parameters, d.Path, d.Config, d.Hash = model.System, model.Step, len(model.Params), model.Path, model.Config, model.Hash()
		if d.Evaluation, err = readSummary(path); err != nil {
			return err
		}
	case d.Status != nil && errors.Is(err, fs.ErrNotExist):
		file := filepath.Join(path, "config.json")
		if d.Config, err = disk.Read(file, maxConfig); err != nil {
			return err
		}
		if d.System, _, err = conf.Text(d.Config, file, "system"); err != nil {
			return err
		}
		d.Step = max(0, d.Status.Checkpoint)
	default:
		return err
	}
	if p.json {
		return json.NewEncoder(p.stdout).Encode(d)
	}
	return p.writeInfo(path, &d)
}

func (p *program) writeInfo(path string, d *runInfo) error {
	var lines [][2]string
	if s := d.Status; s != nil {
		checkpoint := "no checkpoint yet"
		if s.Checkpoint >= 0 {
			checkpoint = fmt.Sprintf("checkpoint of step %d", s.Checkpoint)
		}
		lines = append(lines, [2]string{"state", fmt.Sprintf("%s, step %d of %d, %s", s.State, s.Step, s.Steps, checkpoint)})
		if !s.Updated.IsZero() { // versions before 0.1 did not write it
			progress := fmt.Sprintf("%s steps/s", quantity(s.StepsPerSecond))
			if s.Loss != nil && s.Acceptance != nil {
				progress += fmt.Sprintf(", loss %.4g, acceptance %.3f", *s.Loss, *s.Acceptance)
			}
			lines = append(lines, [2]string{"progress", progress},
				[2]string{"updated", fmt.Sprintf("%s, process %d on %s", s.Updated.Local().Format(time.DateTime), s.Process, s.Host)})
		}
		if s.Error != "" {
			lines = append(lines, [2]string{"error", s.Error})
		}
	}
	lines = append(lines, [2]string{"system", d.System})
	if d.Hash != "" {
		lines = append(lines, [2]string{"model", fmt.Sprintf("%d parameters after %d steps on kernel path %s", d.Parameters, d.Step, d.Path)},
			[2]string{"hash", d.Hash})
	} else {
		lines = append(lines, [2]string{"model", "none yet"})
	}
	if err := p.writeLines(lines); err != nil {
		return err
	}
	cfg, err := run.DecodeConfig(p.systems, d.Config, path)
	if err != nil {
		return err
	}
	values, err := conf.Assignments(cfg)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, v := range values {
		fmt.Fprintln(&b, "  "+v)
	}
	measured := d.Evaluation != nil && len(d.Evaluation.Metrics) > 0
	if measured {
		fmt.Fprintln(&b)
	}
	if _, err := b.WriteTo(p.stdout); err != nil || !measured {
		return err
	}
	return evaluationTable(cfg.Shared().Preset, d.Evaluation).WriteText(p.stdout)
}
