package cli

import (
	"context"
	"path/filepath"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/figure/draw"
)

// leaveFigures draws the pictures of a trained generator into its run
// directory.
func (p *program) leaveFigures(ctx context.Context, trained engine.System, cfg engine.Config, result *run.Result, dir string) error {
	figures, err := run.IllustrateSystem(ctx, trained, cfg, result.Params, dir)
	if err != nil {
		return err
	}
	if r, ok := result.Diagnosis.(*diagnose.Report); ok {
		figures = append(figures, r.Figure())
	}
	_, err = draw.Write(filepath.Join(dir, "figures"), figures)
	return err
}
