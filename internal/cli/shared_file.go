package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/npy"
)

// writeSharedSamples is writeSamples on several ranks, each of which writes its part of the file.
func (p *program) writeSharedSamples(ctx context.Context, stream *engine.Stream, r sampleFile) error {
	start := time.Now()
	rank := shard{index: uint64(p.world.Rank()), count: uint64(p.world.Size())}
	part := r
	part.first, part.n = rank.slice(r.n)
	err := p.writeShared(r.path, r.header(), func(file *npy.Shared) error {
		file.Part(int64(part.first)*int64(r.format.RowBytes), int64(part.n)*int64(r.format.RowBytes))
		part.first += r.first
		return p.drawSamples(ctx, stream, file, part)
	})
	if err == nil {
		p.sayRate(r, start)
	}
	return err
}

// writeShared calls write on every rank for its parts of one array. The file gets its name after
// all ranks have written; if one of them fails, nothing is left.
func (p *program) writeShared(path string, h npy.Header, write func(file *npy.Shared) error) error {
	file, err := p.openShared(path, h)
	if err != nil {
		return err
	}
	p.output.begin(func() (string, bool) {
		_ = file.Abort()
		return "nothing was written to " + path, false
	})
	err = write(file)
	if err == nil {
		err = file.Done()
	}
	if err != nil {
		p.output.discard() // which ends the writing of the other ranks
	}
	if errors.Is(err, npy.ErrDiscarded) {
		err = engine.ErrElsewhere
	} else {
		err = writeError(path, err)
	}
	if err := p.agreeOnError(err); err != nil {
		p.output.discard()
		return err
	}
	publish := file.Publish
	if p.isOtherRank() {
		publish = func() error { return nil }
	}
	return p.agreeOnError(writeError(path, p.output.finish(publish)))
}

// openShared creates the temporary file on rank 0, and opens it on the others.
func (p *program) openShared(path string, h npy.Header) (file *npy.Shared, err error) {
	name, err := fromRankZero(p, func() (string, error) {
		if file, err = npy.CreateShared(path, h); err != nil {
			return "", writeError(path, err)
		}
		return file.Name(), nil
	})
	if err != nil {
		return nil, err
	}
	if p.isOtherRank() {
		if file, err = npy.OpenShared(name, h); errors.Is(err, os.ErrNotExist) {
			host, _ := os.Hostname()
			err = fmt.Errorf("on %s there is no %s, which rank 0 has made: -o must be on a file system that all ranks share", host, name)
		}
	}
	if err != nil {
		_ = os.Remove(name)
	}
	if err := p.agreeOnError(err); err != nil {
		return nil, err
	}
	return file, nil
}
