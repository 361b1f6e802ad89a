//go:build !linux

package bench

import "time"

func processorUsage([]int) usage { return usage{at: time.Now()} }
