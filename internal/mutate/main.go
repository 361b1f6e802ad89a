// Mutate changes the product's code in one place at a time, and says which changes no
// test notices:
//
//	go run ./internal/mutate -diff main           of the lines changed since main
//	go run ./internal/mutate -sample 60 -seed 1   of the whole product
//	go run ./internal/mutate engine/warn.go:40    of files and lines that begin so
//
// A change swaps an operator, moves a comparison's boundary or a constant by one, drops a
// sign, a negation or a statement, negates a condition, or returns nil for an error. One
// that does not compile is not counted. The short tests of its package run first, then those of
// packages that import it, nearest first, then the long ones of its package. It is caught when
// a test fails or hangs that passes without it. The tree is not touched: go test -overlay has the changed file.
//
// A changed program may do what this user may, such as send signals, remove files or take
// all memory. Run many of them in a container, or under a limit (ulimit -v) and by
// unshare --pid --fork --mount-proc.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	s := session{out: os.Stdout}
	flag.StringVar(&s.diff, "diff", "", "only lines changed since this `revision`")
	flag.IntVar(&s.sample, "sample", 60, "how many mutants that compile, chosen at random; 0: all")
	flag.IntVar(&s.skip, "skip", 0, "leave out so many of them, which an earlier run had")
	flag.Uint64Var(&s.seed, "seed", 1, "of the choice")
	flag.IntVar(&s.importers, "importers", 3, "run the tests of at most so many importing packages")
	flag.DurationVar(&s.timeout, "timeout", 5*time.Minute, "of the tests of one package")
	flag.Parse()
	s.places = flag.Args()
	survivors, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// A session is what is asked for, and the packages of the module in the current directory.
type session struct {
	out                     io.Writer
	diff                    string
	places                  []string
	sample, skip, importers int
	seed                    uint64
	timeout                 time.Duration

	packages []listed
	passed   map[string]bool // tests that failed with a mutant and pass without
	overlay  string          // a file
}

// A listed package is what go list says of it.
type listed struct {
	ImportPath, Name, Dir                                                         string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles, Deps, TestImports, XTestImports []string
}

// run tests mutants and returns how many survive.
func (s *session) run() (survivors int, err error) {
	found, err := s.mutants()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(s.out, "of %d mutants\n", len(found))
	if s.sample > 0 {
		rand.New(rand.NewPCG(s.seed, 0)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	s.passed, s.overlay = map[string]bool{}, filepath.Join(dir, "overlay.json")
	compiled := 0
	var lived []mutant
	for _, m := range found {
		if s.sample > 0 && compiled == s.sample {
			break
		}
		p := s.packageOf(m.file)
		if err := s.lay(m); err != nil {
			return 0, err
		}
		if _, err := s.goTool(true, "build", "-o", os.DevNull, p.ImportPath); err != nil {
			continue
		}
		if compiled++; compiled <= s.skip {
			continue
		}
		by, err := s.catch(p)
		if err != nil {
			return 0, err
		}
		if by == "" {
			lived, by = append(lived, m), "SURVIVES"
		}
		fmt.Fprintf(s.out, "%d %s: %s\n", compiled, m, by)
	}
	tested := max(0, compiled-s.skip)
	fmt.Fprintf(s.out, "%d of %d caught\n", tested-len(lived), tested)
	for _, m := range lived {
		fmt.Fprintln(s.out, m)
	}
	return len(lived), nil
}

// mutants returns those of the files that the root and the programs under cmd consist of,
// at the lines and places that are asked for.
func (s *session) mutants() (found []mutant, err error) {
	out, err := s.goTool(false, "list", "-json=ImportPath,Name,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		s.packages = append(s.packages, p)
	}
	if out, err = s.goTool(false, "list", "-e", "-deps", ".", "./cmd/..."); err != nil {
		return nil, err
	}
	product := strings.Fields(string(out))
	var changed map[string]bool
	if s.diff != "" {
		out, err := exec.Command("git", "diff", "-U0", "--relative", s.diff, "--", "*.go").Output()
		if err != nil {
			return nil, fmt.Errorf("git diff %s: %w", s.diff, err)
		}
		changed = lines(string(out))
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, p := range s.packages {
		if !slices.Contains(product, p.ImportPath) || strings.Contains(p.ImportPath, "/cmd/internal/") {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			file, err := filepath.Rel(here, filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			all, err := mutants(file, source)
			if err != nil {
				return nil, err
			}
			for _, m := range all {
				at := fmt.Sprintf("%s:%d", m.file, m.line)
				if (changed == nil || changed[at]) && (len(s.places) == 0 || slices.ContainsFunc(s.places, func(place string) bool { return strings.HasPrefix(at, place) })) {
					found = append(found, m)
				}
			}
		}
	}
	return found, nil
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// lines returns the lines that a diff without context adds or changes, as file:line.
func lines(diff string) map[string]bool {
	added := map[string]bool{}
	var file string
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = strings.TrimSpace(name)
		} else if m := hunk.FindStringSubmatch(line); m != nil {
			first, _ := strconv.Atoi(m[1])
			n, _ := strconv.Atoi(cmp.Or(m[2], "1"))
			for i := range n {
				added[fmt.Sprintf("%s:%d", file, first+i)] = true
			}
		}
	}
	return added
}

func (s *session) packageOf(file string) listed {
	dir, _ := filepath.Abs(filepath.Dir(file))
	return s.packages[slices.IndexFunc(s.packages, func(p listed) bool { return p.Dir == dir })]
}

// lay writes the changed file, and the overlay that puts it into the tree.
func (s *session) lay(m mutant) error {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return err
	}
	changed := filepath.Join(filepath.Dir(s.overlay), "changed.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	return errors.Join(err, os.WriteFile(changed, m.apply(source), 0o666), os.WriteFile(s.overlay, overlay, 0o666))
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// catch runs tests until some fail, and returns what caught the mutant, "" if nothing.
func (s *session) catch(p listed) (string, error) {
	near := append([]string{p.ImportPath}, s.nearest(p)...)
	for i, tests := range append(near, p.ImportPath) {
		short := i < len(near) && p.Name != "main" // what builds a program is not short
		test := []string{"test", "-vet=off", "-failfast", "-timeout", s.timeout.String(), fmt.Sprintf("-short=%t", short), tests}
		out, err := s.goTool(true, test...)
		if err == nil {
			continue
		}
		by := tests
		if bytes.Contains(out, []byte("panic: test timed out")) {
			by = "a hang of " + tests
		} else if m := failure.FindSubmatch(out); m != nil {
			by = string(m[1]) + " of " + tests
			test = append(test, "-run", "^"+string(m[1])+"$")
		}
		if !s.passed[by] {
			if out, err := s.goTool(false, test...); err != nil {
				return "", fmt.Errorf("without a change, too, %w\n%s", err, out)
			}
			s.passed[by] = true
		}
		return by, nil
	}
	return "", nil
}

// nearest returns packages that import p, or whose tests do or build it: first those that
// name it most often, which indirect ones do not at all.
func (s *session) nearest(p listed) (paths []string) {
	names := map[string]int{}
	mark := path.Base(p.ImportPath) + "."
	if p.Name == "main" {
		mark = "cmd/" + path.Base(p.ImportPath)
	}
	for _, q := range s.packages {
		tests := slices.Concat(q.TestGoFiles, q.XTestGoFiles)
		if q.ImportPath == p.ImportPath || len(tests) == 0 {
			continue
		}
		for _, name := range slices.Concat(q.GoFiles, q.CgoFiles, tests) {
			text, _ := os.ReadFile(filepath.Join(q.Dir, name))
			names[q.ImportPath] += bytes.Count(text, []byte(mark))
		}
		if slices.Contains(slices.Concat(q.Deps, q.TestImports, q.XTestImports), p.ImportPath) || p.Name == "main" && names[q.ImportPath] > 0 {
			paths = append(paths, q.ImportPath)
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int { return names[b] - names[a] })
	return paths[:min(len(paths), s.importers)]
}

// goTool runs go, with the changed file or without.
func (s *session) goTool(changed bool, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	if changed { // in the environment it holds for what tests build, too
		c.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+s.overlay)
	}
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, err
}
