// Package htmlpage writes reports of runs as HTML pages that need no other file, no network and no
// scripts. They follow the colour scheme of the reader and the width of the screen.
package htmlpage

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"

	"github.com/revgen/revgen/internal/lists"
)

// A Page is a report of one run, of several beside each other, or of a batch.
type Page struct {
	Title      string
	Lead       string // one sentence below the title
	Facts      [][2]string
	FailedJobs *Table // of a batch; nil for none
	WarnedJobs *Table // of a batch, those that succeeded with warnings; nil for none
	Pictures   []Picture
	Table      *Table // compares runs, or lists the jobs of a batch that succeeded; nil for none
	Runs       []Run
	Version    string // of the program, and when and where it ran
}

// A Run is one run directory.
type Run struct {
	Name      string
	Target    string // in words
	Verdict   string // trustworthy, refine, wrong, unknown, or empty
	Sentence  string // that explains the verdict
	Warnings  []string
	Metrics   *Table
	Diagnosis *Table
	Pictures  []Picture
	Recipe    string      // what the preset chose and why
	Facts     [][2]string // name and value
	Config    string      // as JSON
	Command   string      // that repeats the run
}

// A Table is text in rows. The first Left columns are words, the others numbers.
type Table struct {
	Title   string
	Caption string
	Header  []string
	Rows    [][]Cell
	Left    int
}

// A Cell may be marked: good, amber or bad; or words, a text that may be long.
type Cell struct{ Text, Mark string }

// Cells makes a row of texts.
func Cells(texts ...string) []Cell {
	return lists.Map(texts, func(t string) Cell { return Cell{Text: t} })
}

// A Picture is an SVG document.
type Picture struct {
	Name        string // what it shows
	Description string // of what is seen, for readers who cannot see it
	SVG         []byte
}

// Text returns the picture's alternative text.
func (p Picture) Text() string {
	if p.Description == "" {
		return p.Name
	}
	return p.Name + ". " + p.Description
}

// URI returns the picture as a data URI. In an image, an SVG document can neither run scripts nor
// load anything, whoever wrote it.
func (p Picture) URI() template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(p.SVG))
}

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": func(t *Table, column int) bool { return column >= t.Left },
	"head":   func(t *Table, column int) bool { return column == 0 && t.Left > 0 },
}).Parse(pageHTML))

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }
