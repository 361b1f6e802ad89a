package cli

import (
	"context"
	"path/filepath"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/figure/draw"
)

// figuresValues are what --figures can be. PNG files take the most of the time, and pages need
// none.
var figuresValues = []string{"svg", "all", "none"}

// leaveFigures draws the pictures of a trained generator into its run
// directory.
func (p *program) leaveFigures(ctx context.Context, trained engine.System, cfg engine.Config, result *run.Result, t *training) error {
	figures, err := run.IllustrateSystem(ctx, trained, cfg, result.Params, t.dir)
	if err != nil {
		return err
	}
	if r, ok := result.Diagnosis.(*diagnose.Report); ok {
		figures = append(figures, r.Figure())
	}
	formats := []draw.Format{draw.Wide, draw.Phone}
	if t.figures == "all" {
		formats = append(formats, draw.Print)
	}
	_, err = draw.Write(filepath.Join(t.dir, "figures"), figures, formats...)
	return err
}
