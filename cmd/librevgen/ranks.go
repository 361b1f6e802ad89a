package main

/*
#include "revgen.h"
*/
import "C"

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/pool"
)

//export revgenSetCommunicator
func revgenSetCommunicator(id C.revgen, communicator C.int) C.int {
	return call(id, func(_ context.Context, h *handle) error {
		if err := h.leave(); err != nil {
			return err
		}
		ranks, err := mpi.Host(int32(communicator))
		if err == nil {
			h.ranks = ranks
		}
		return err
	})
}

// leave gives the host's communicator back. Where MPI has ended there is none.
func (h *handle) leave() error {
	if h.ranks == nil {
		return nil
	}
	ranks := h.ranks
	h.ranks = nil
	if ranks.Ready() != nil {
		return nil
	}
	return ranks.Free()
}

// agree returns err, and an error on all ranks if one has one or is to train something
// else: those that began alone would wait for it.
func (h *handle) agree(cfg engine.Config, err error) error {
	if waits := h.ranks.Ready(); waits != nil {
		return waits
	}
	mine := make([]byte, 2+sha256.Size) // whether there is an error, kernel path, configuration
	path, _, _ := asm.Active()
	mine[1] = byte(path)
	if err == nil {
		var text []byte
		if text, err = conf.Encode(cfg); err == nil {
			sum := sha256.Sum256(text)
			copy(mine[2:], sum[:])
		}
	}
	if err != nil {
		mine[0] = 1
	}
	all := pool.Exchange(h.ranks, mine)
	if err != nil {
		return err
	}
	for r, its := range all {
		switch {
		case its[0] != 0:
			return fmt.Errorf("rank %d: %w", r, engine.ErrElsewhere)
		case its[1] != mine[1]:
			return fmt.Errorf("rank %d is on the kernel path %s and this one on %s, whose last bits differ; set REVGEN_ISA=%s for all",
				r, asm.Path(its[1]), asm.Path(mine[1]), asm.Path(min(its[1], mine[1])))
		case !bytes.Equal(its[2:], mine[2:]):
			return errors.New("the configuration is another than that of rank " + fmt.Sprint(r))
		}
	}
	return nil
}
