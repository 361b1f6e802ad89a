package cli

import (
	"context"
	"path/filepath"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure/draw"
	"github.com/revgen/revgen/internal/pool"
)

// leaveFigures draws the pictures of a trained generator into its run
// directory.
func (p *program) leaveFigures(ctx context.Context, cfg engine.Config, params []float32, workers *pool.Pool, dir string) error {
	figures, err := engine.Illustrate(ctx, cfg, params, workers, dir)
	if err != nil {
		return err
	}
	_, err = draw.Write(filepath.Join(dir, "figures"), figures)
	return err
}
