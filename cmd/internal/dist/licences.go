package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/revgen/revgen/internal/lists"
)

// licenceNames matches the names of files that have to be passed on with a program.
var licenceNames = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licences returns the licences of Go and of the modules that a program is made of, in a folder
// for each.
func licences(info *debug.BuildInfo) ([]file, error) {
	args := []string{"list", "-mod=readonly", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	args = append(args, lists.Map(info.Deps, func(m *debug.Module) string { return m.Path })...)
	listed, err := goOutput(args...)
	if err != nil {
		return nil, err
	}
	root, err := goOutput("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var all []file
	for line := range strings.SplitSeq(listed+"\ngo\t"+root, "\n") {
		module, dir, ok := strings.Cut(line, "\t")
		if !ok || dir == "" {
			return nil, fmt.Errorf("the sources of %s are not on this machine: go mod download", module)
		}
		files, err := licencesIn(dir, "licences/"+module+"/")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", module, err)
		}
		all = append(all, files...)
	}
	return all, nil
}

func licencesIn(dir, prefix string) (files []file, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceNames.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{prefix + e.Name(), 0o644, data})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no licence", dir)
	}
	return files, nil
}

// goOutput returns what a go command prints.
func goOutput(args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(text)), nil
}
