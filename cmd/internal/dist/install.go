package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// install writes manual pages, completions and licences below a prefix. If python is a folder, it
// writes the package for Python there, with a link to the library of the prefix. root
// stands for / (DESTDIR).
func install(b *built, root, prefix, python string) error {
	texts, err := pages(b.version, b.date)
	if err != nil {
		return err
	}
	var files []file
	share := path.Join(prefix, "share")
	for _, f := range texts {
		if name, ok := map[string]string{
			"completions/revgen.bash": "bash-completion/completions/revgen",
			"completions/_revgen":     "zsh/site-functions/_revgen",
			"completions/revgen.fish": "fish/vendor_completions.d/revgen.fish",
		}[f.name]; ok {
			f.name = name
		}
		f.name = path.Join(share, f.name)
		files = append(files, f)
	}
	modules, err := licences(b.info)
	if err != nil {
		return err
	}
	own, err := sources("LICENSE")
	if err != nil {
		return err
	}
	for _, f := range append(modules, own...) {
		f.name = path.Join(share, "doc/revgen", f.name)
		files = append(files, f)
	}
	if python != "" {
		contents, info, _, err := b.pythonPackage("py3-none-any")
		if err != nil {
			return err
		}
		for _, f := range append(contents, record(contents, info)) {
			f.name = path.Join(python, f.name)
			files = append(files, f)
		}
	}
	for _, f := range files {
		dst := filepath.Join(root, f.name)
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(dst, f.data, os.FileMode(f.mode)); err != nil {
			return err
		}
	}
	if python == "" {
		return nil
	}
	target, err := filepath.Rel(path.Join(python, "revgen"), path.Join(prefix, "lib", libraryName))
	if err != nil {
		return fmt.Errorf("-python: %w", err)
	}
	link := filepath.Join(root, python, "revgen", libraryName)
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(target, link)
}

// readLocal returns a program or library built on this machine, which need not be a release.
func readLocal(path, version string) (*built, error) {
	b, err := readBuilt(path, version, time.Now())
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(b.version, "v") {
		b.version = "v0.0.0" // (devel)
	}
	return b, nil
}
