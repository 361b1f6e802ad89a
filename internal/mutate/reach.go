package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lineset has a bit for each line of a file.
type lineset []uint64

func (l lineset) has(line int) bool { return line/64 < len(l) && l[line/64]>>(line%64)&1 == 1 }

func (l *lineset) add(from, to int) {
	for line := from; line <= to; line++ {
		for len(*l) <= line/64 {
			*l = append(*l, 0)
		}
		(*l)[line/64] |= 1 << (line % 64)
	}
}

// A reach is what one test runs.
type reach struct {
	Test    string
	Seconds float64
	Passed  bool
	Lines   map[string]lineset // by file, which begins with its package's path
}

// reaches are those of a package's tests, of which nothing is known in lines that hold no
// statement, such as constants.
type reaches struct {
	Of    [32]byte // the tests, as they are compiled
	Known map[string]lineset
	Tests []reach
}

// reaching returns the tests of q that a line of a file can matter to, the quickest first,
// within the budget.
func (s *session) reaching(q listed, file string, line int) (tests []reach, err error) {
	if len(q.TestGoFiles)+len(q.XTestGoFiles) == 0 {
		return nil, nil
	}
	r := s.reaches[q.ImportPath]
	if r == nil {
		if r, err = s.find(q); err != nil {
			return nil, err
		}
		s.reaches[q.ImportPath] = r
	}
	left := s.budget.Seconds()
	for _, t := range r.Tests {
		if !s.useless[t.Test+" of "+q.ImportPath] && (!t.Passed || !r.Known[file].has(line) || t.Lines[file].has(line)) && left >= t.Seconds {
			tests, left = append(tests, t), left-t.Seconds
		}
	}
	return tests, nil
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)\S*$`)

// find returns what the tests of a package reach, from the cache or by running each.
func (s *session) find(q listed) (*reaches, error) {
	dir, err := os.MkdirTemp(s.dir, "reach")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cover := []string{"-cover", "-coverpkg=" + q.Module.Path + "/..."}
	program := filepath.Join(dir, "covered.test")
	if _, err := s.goTool(false, append(append([]string{"test", "-c", "-vet=off", "-o", program}, cover...), q.ImportPath)...); err != nil {
		return nil, err
	}
	compiled, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	r := &reaches{Of: sha256.Sum256(compiled), Known: map[string]lineset{}}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(cache, "revgen-mutate", strings.ReplaceAll(q.ImportPath, "/", "-"))
	if old := new(reaches); readGob(kept, old) == nil && old.Of == r.Of {
		return old, nil
	}
	tool, err := s.goTool(false, "tool", "-n", "covdata")
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(program, "-test.list", ".").Output()
	if err != nil {
		return nil, fmt.Errorf("tests of %s: %w", q.ImportPath, err)
	}
	for name := range strings.Lines(string(names)) {
		if name = strings.TrimSpace(name); !testName.MatchString(name) {
			continue
		}
		data := filepath.Join(dir, name)
		if err := os.Mkdir(data, 0o777); err != nil {
			return nil, err
		}
		begun := time.Now()
		c := exec.Command(program, "-test.run", "^"+name+"$", "-test.timeout", "10m", "-test.gocoverdir", data)
		c.Dir = q.Dir
		c.Env = append(os.Environ(), "GOCOVERDIR="+data, "GOFLAGS="+os.Getenv("GOFLAGS")+" "+strings.Join(cover, " "))
		failed := c.Run()
		t := reach{Test: name, Seconds: time.Since(begun).Seconds(), Passed: failed == nil, Lines: map[string]lineset{}}
		profile := filepath.Join(dir, "profile")
		if out, err := exec.Command(strings.TrimSpace(string(tool)), "textfmt", "-i", data, "-o", profile).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("what %s of %s reaches: %w\n%s", name, q.ImportPath, err, out)
		}
		text, err := os.ReadFile(profile)
		if err != nil {
			return nil, err
		}
		r.read(text, t.Lines)
		r.Tests = append(r.Tests, t)
		if err := os.RemoveAll(data); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.Tests, func(a, b reach) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return r, writeGob(kept, r)
}

var block = regexp.MustCompile(`^(.+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)

// read adds the lines of a coverage profile to what is known, and to lines those that ran.
func (r *reaches) read(profile []byte, lines map[string]lineset) {
	for text := bufio.NewScanner(bytes.NewReader(profile)); text.Scan(); {
		if m := block.FindStringSubmatch(text.Text()); m != nil {
			from, _ := strconv.Atoi(m[2])
			to, _ := strconv.Atoi(m[3])
			of := []map[string]lineset{r.Known}
			if m[4] != "0" {
				of = append(of, lines)
			}
			for _, of := range of {
				set := of[m[1]]
				set.add(from, to)
				of[m[1]] = set
			}
		}
	}
}

func readGob(path string, to *reaches) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return gob.NewDecoder(bytes.NewReader(data)).Decode(to)
}

func writeGob(path string, from *reaches) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(from); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
