package cli

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

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
