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
		if err := h.freeRanks(); err != nil {
			return err
		}
		ranks, err := mpi.Host(int32(communicator))
		if err == nil {
			h.ranks = ranks
		}
		return err
	})
}

// freeRanks frees the communicator, unless MPI has ended.
func (h *handle) freeRanks() error {
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

// agree returns err. It returns an error on all ranks if one rank has one, or has another
// configuration or kernel path: ranks that began to train without it would wait forever.
func (h *handle) agree(cfg engine.Config, err error) error {
	if notReady := h.ranks.Ready(); notReady != nil {
		return notReady
	}
	own := make([]byte, 2+sha256.Size) // whether there is an error, kernel path, hash of the configuration
	path, _, _ := asm.Active()
	own[1] = byte(path)
	if err == nil {
		var text []byte
		if text, err = conf.Encode(cfg); err == nil {
			sum := sha256.Sum256(text)
			copy(own[2:], sum[:])
		}
	}
	if err != nil {
		own[0] = 1
	}
	byRank := pool.Exchange(h.ranks, own)
	if err != nil {
		return err
	}
	for rank, theirs := range byRank {
		switch {
		case theirs[0] != 0:
			return fmt.Errorf("rank %d: %w", rank, engine.ErrElsewhere)
		case theirs[1] != own[1]:
			return fmt.Errorf("rank %d is on the kernel path %s and this one on %s, whose last bits differ; set REVGEN_ISA=%s for all",
				rank, asm.Path(theirs[1]), asm.Path(own[1]), asm.Path(min(theirs[1], own[1])))
		case !bytes.Equal(theirs[2:], own[2:]):
			return errors.New("the configuration is another than that of rank " + fmt.Sprint(rank))
		}
	}
	return nil
}
