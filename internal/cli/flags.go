package cli

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/internal/cluster"
)

// count is a flag for a whole number, such as 200000, 200_000 or 2e5.
type count uint64

func (c *count) String() string { return strconv.FormatUint(uint64(*c), 10) }
func (c *count) Type() string   { return "N" }

func (c *count) Set(s string) error {
	plain := strings.ReplaceAll(s, "_", "")
	if n, err := strconv.ParseUint(plain, 10, 64); err == nil {
		*c = count(n)
		return nil
	}
	x, err := strconv.ParseFloat(plain, 64)
	if err != nil || x < 0 || x != math.Trunc(x) || x > 1<<53 {
		return fmt.Errorf("%q is not a whole number such as 200000 or 2e5", s)
	}
	*c = count(x)
	return nil
}

// stepCount is a flag for a number of steps, or auto.
type stepCount struct {
	n    int
	auto bool
}

func (s *stepCount) String() string {
	if s.auto {
		return "auto"
	}
	return strconv.Itoa(s.n)
}
func (s *stepCount) Type() string { return "N|auto" }

func (s *stepCount) Set(text string) error {
	if text == "auto" {
		*s = stepCount{auto: true}
		return nil
	}
	var n count
	if n.Set(text) != nil {
		return fmt.Errorf("%q is neither a number of steps such as 10 nor auto", text)
	}
	*s = stepCount{n: clampInt(n)}
	return nil
}

// clampInt makes an int of a count. A count beyond an int of 32 bits becomes MaxInt32+1, which no
// option allows.
func clampInt(n count) int { return int(min(n, math.MaxInt32+1)) }

// duration is a flag for times as Go or Slurm write them: 90m, 1h30m,
// 01:30:00, 1-12:00:00.
type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}
func (d *duration) Type() string { return "D" }

func (d *duration) Set(s string) error {
	invalid := fmt.Errorf("%q is not a positive time such as 90m, 1h30m, 01:30:00 or 1-12:00:00", s)
	if t, err := time.ParseDuration(s); err == nil {
		if t <= 0 {
			return invalid
		}
		*d = duration(t)
		return nil
	}
	rest, days := s, uint64(0)
	if before, after, ok := strings.Cut(s, "-"); ok {
		n, err := strconv.ParseUint(before, 10, 16)
		if err != nil {
			return invalid
		}
		rest, days = after, n
	}
	parts := strings.Split(rest, ":")
	if len(parts) != 3 {
		return invalid
	}
	seconds := days * 86400
	for i, unit := range []uint64{3600, 60, 1} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil || i > 0 && n > 59 {
			return invalid
		}
		seconds += n * unit
	}
	if seconds == 0 {
		return invalid
	}
	*d = duration(time.Duration(seconds) * time.Second)
	return nil
}

// shard is a flag for one of several nearly equal parts: i/n with 0 ≤ i < n, or auto for the
// rank and the number of tasks of a cluster's job.
type shard struct {
	index, count uint64
	auto         bool
}

func (s *shard) String() string { return fmt.Sprintf("%d/%d", s.index, s.count) }
func (s *shard) Type() string   { return "i/n" }

func (s *shard) Set(text string) error {
	if text == "auto" {
		p, err := cluster.Shard(os.Getenv)
		*s = shard{index: uint64(p.Index), count: uint64(p.Count), auto: true}
		return err
	}
	index, total, ok := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 32)
	n, err2 := strconv.ParseUint(total, 10, 32)
	if !ok || err != nil || err2 != nil || i >= n {
		return fmt.Errorf("%q is not i/n with 0 ≤ i < n, such as 0/4, nor auto", text)
	}
	*s = shard{index: i, count: n}
	return nil
}

// slice returns the first sample of the part and the number of its samples, of total samples.
func (s *shard) slice(total uint64) (first, n uint64) {
	base, extra := total/s.count, total%s.count
	first = s.index*base + min(s.index, extra)
	if n = base; s.index < extra {
		n++
	}
	return first, n
}

// choice is a flag for one of the allowed words, or for its default.
type choice struct {
	value    *string
	fallback string
	allowed  []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "string" }

func (c *choice) Set(text string) error {
	if text != c.fallback && !slices.Contains(c.allowed, text) {
		return fmt.Errorf("not one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = text
	return nil
}

// addChoice adds a flag for one of the allowed words. Its default is the present value.
func (p *program) addChoice(cmd *cobra.Command, value *string, name, shorthand, usage string, allowed ...string) {
	cmd.Flags().VarP(&choice{value, *value, allowed}, name, shorthand, usage)
	p.complete(cmd, name, func([]string) []string { return allowed })
}

// taskMark stands for the number of the task, or of the shard, in the name of a file.
const taskMark = "%t"

// path returns the path of the shard's file. With auto, shards that would all write the same file
// are refused.
func (s *shard) path(path string) (string, error) {
	if s.auto && s.count > 1 && path != "-" && !strings.Contains(path, taskMark) {
		return "", usagef("-o: all %d tasks would write %s; put %s, the number of the task, into the name", s.count, path, taskMark)
	}
	return strings.ReplaceAll(path, taskMark, strconv.FormatUint(s.index, 10)), nil
}
