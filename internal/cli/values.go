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

// count is a flag for numbers of samples, and for seeds: 200000, 200_000 or 2e5.
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

// stepping is a flag for a number of steps, or auto.
type stepping struct {
	steps int
	auto  bool
}

func (s *stepping) String() string {
	if s.auto {
		return "auto"
	}
	return strconv.Itoa(s.steps)
}
func (s *stepping) Type() string { return "N|auto" }

func (s *stepping) Set(text string) error {
	if text == "auto" {
		*s = stepping{auto: true}
		return nil
	}
	var n count
	if n.Set(text) != nil {
		return fmt.Errorf("%q is neither a number of steps such as 10 nor auto", text)
	}
	*s = stepping{steps: bounded(n)}
	return nil
}

// bounded is a number that may be more than is allowed, and no more than an int holds.
func bounded(n count) int { return int(min(n, math.MaxInt32+1)) }

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
	bad := fmt.Errorf("%q is not a positive time such as 90m, 1h30m, 01:30:00 or 1-12:00:00", s)
	if t, err := time.ParseDuration(s); err == nil {
		if t <= 0 {
			return bad
		}
		*d = duration(t)
		return nil
	}
	rest, days := s, uint64(0)
	if before, after, ok := strings.Cut(s, "-"); ok {
		n, err := strconv.ParseUint(before, 10, 16)
		if err != nil {
			return bad
		}
		rest, days = after, n
	}
	parts := strings.Split(rest, ":")
	if len(parts) != 3 {
		return bad
	}
	seconds := days * 86400
	for i, unit := range []uint64{3600, 60, 1} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil || i > 0 && n > 59 {
			return bad
		}
		seconds += n * unit
	}
	if seconds == 0 {
		return bad
	}
	*d = duration(time.Duration(seconds) * time.Second)
	return nil
}

// shard is a flag for one of several equal parts: i/n with 0 ≤ i < n, or auto for
// the rank and the number of tasks of a batch job.
type shard struct {
	index, count uint64
	auto         bool
}

func (s *shard) String() string { return fmt.Sprintf("%d/%d", s.index, s.count) }
func (s *shard) Type() string   { return "i/n" }

func (s *shard) Set(text string) error {
	if text == "auto" {
		p, err := cluster.Shard(os.Getenv)
		*s = shard{uint64(p.Index), uint64(p.Count), true}
		return err
	}
	index, of, ok := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 32)
	n, err2 := strconv.ParseUint(of, 10, 32)
	if !ok || err != nil || err2 != nil || i >= n {
		return fmt.Errorf("%q is not i/n with 0 ≤ i < n, such as 0/4, nor auto", text)
	}
	*s = shard{i, n, false}
	return nil
}

// slice returns the first sample of the part and the number of samples in it,
// of total in all.
func (s *shard) slice(total uint64) (first, n uint64) {
	each, extra := total/s.count, total%s.count
	first = s.index*each + min(s.index, extra)
	if n = each; s.index < extra {
		n++
	}
	return first, n
}

// words is a flag for one of some words, or for what it is if it is not given.
type words struct {
	value *string
	usual string
	all   []string
}

func (w *words) String() string { return *w.value }
func (w *words) Type() string   { return "string" }

func (w *words) Set(text string) error {
	if text != w.usual && !slices.Contains(w.all, text) {
		return fmt.Errorf("not one of %s", strings.Join(w.all, ", "))
	}
	*w.value = text
	return nil
}

// addWords adds a flag for one of some words, by default what value is now.
func (p *program) addWords(cmd *cobra.Command, value *string, name, shorthand, usage string, all ...string) {
	cmd.Flags().VarP(&words{value, *value, all}, name, shorthand, usage)
	p.complete(cmd, name, func([]string) []string { return all })
}

// taskMark stands for the number of the task in the name of a file.
const taskMark = "%t"

// file returns the path of a part's file. Parts that would all write the same
// file are refused.
func (s *shard) file(path string) (string, error) {
	if s.auto && s.count > 1 && path != "-" && !strings.Contains(path, taskMark) {
		return "", usagef("-o: all %d tasks would write %s; put %s, the number of the task, into the name", s.count, path, taskMark)
	}
	return strings.ReplaceAll(path, taskMark, strconv.FormatUint(s.index, 10)), nil
}
