package htmlpage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

const evil = `<script>document.title="run"</script>`

func sample() *Page {
	wide := make([]string, 12)
	for i := range wide {
		wide[i] = fmt.Sprintf("column %d", i)
	}
	return &Page{
		Title: "ising, quick preset, seed 1", Version: "revgen v1",
		Table: &Table{Caption: strings.Repeat("a long caption ", 20), Header: wide, Rows: [][]Cell{Cells(wide...)}, Left: 1},
		Runs: []Run{
			{Name: "a", Target: evil, Verdict: "wrong", Sentence: "do not use " + evil, Warnings: []string{evil}, Config: `{"a": "` + evil + `"}`,
				Metrics:  &Table{Header: []string{"metric", "error"}, Rows: [][]Cell{{{Text: evil}, {Text: "0.1", Mark: "good"}}}, Left: 1},
				Pictures: []Picture{{Name: evil, Description: evil, SVG: []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><script>alert(1)</script></svg>`)}},
				Recipe:   "as it stands", Facts: [][2]string{{"steps", strings.Repeat("1", 200)}}, Command: "revgen train " + strings.Repeat("x", 200)},
			{Name: strings.Repeat("long", 50)},
		},
	}
}

func TestPageHoldsAllAndRunsNothing(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().Write(&b))
	text := b.String()
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "ZgotmplZ", "the template took a value for unsafe")
	for _, outside := range []string{"http:", "https:", "@import", "<link rel=\"stylesheet"} {
		require.NotContains(t, text, outside, "the page needs nothing else")
	}
	for _, want := range []string{"prefers-color-scheme: dark", `class="verdict wrong"`, "do not use &lt;script", "data:image/svg&#43;xml;base64,", `class="number good"`, "revgen v1"} {
		require.True(t, strings.Contains(text, want), want)
	}
}

// TestPageOfHostileNames reads the page by the rules of HTML 5, as browsers do: whatever texts it is given, its
// elements and attributes are its own.
func TestPageOfHostileNames(t *testing.T) {
	shape := func(name string) (all []string) {
		word := func(hint string) string { return hint + name }
		table := &Table{Title: word("t"), Caption: word("c"), Header: []string{word("h"), word("i")}, Rows: [][]Cell{{{Text: word("t"), Mark: word("m")}, {Text: word("u"), Mark: word("n")}}}, Left: 1}
		run := Run{Name: word("r"), Target: word("t"), Verdict: word("v"), Sentence: word("s"), Warnings: []string{word("w")}, Metrics: table, Diagnosis: table,
			Pictures: []Picture{{word("p"), word("q"), []byte(word("<svg>"))}}, Recipe: word("r"), Facts: [][2]string{{word("f"), word("g")}}, Config: word("c"), Command: word("d")}
		p := Page{Title: word("t"), Lead: word("l"), Facts: run.Facts, FailedJobs: table, WarnedJobs: table, Pictures: run.Pictures, Runs: []Run{run, run}, Table: table, Version: word("v")}
		var b bytes.Buffer
		require.NoError(t, p.Write(&b))
		root, err := html.Parse(&b)
		require.NoError(t, err)
		for n := range root.Descendants() {
			if n.Type == html.CommentNode {
				all = append(all, "a comment")
			}
			if n.Type != html.ElementNode {
				continue
			}
			text := n.Data
			for _, a := range n.Attr {
				text += " " + a.Key
				if a.Key == "src" {
					require.True(t, strings.HasPrefix(a.Val, "data:image/svg+xml;base64,"), a.Val)
				}
			}
			all = append(all, text)
		}
		return all
	}
	want := shape("")
	require.Greater(t, len(want), 40)
	for _, name := range []string{`" onmouseover="alert(1)`, `' onmouseover='alert(1)`, ` onmouseover=alert(1) `, `"><img src=x onerror=alert(1)>`, `</style><script>alert(1)</script>`,
		`</title><script>`, `</pre></dd></td><a href="javascript:alert(1)">`, "`<!--", `--><svg onload=alert(1)>`, `]]><script>`, "\x00<b>", `&quot; onfocus=alert(1) autofocus`, `{{.}}`, `<%=1%>`} {
		require.Equal(t, want, shape(name), name)
	}
}

// A browser shows the page without complaint, and on a phone nothing but tables
// and listings is wider than the screen.
func TestPageInABrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" || testing.Short() {
		t.Skip("needs Chromium, which is not here, or time")
	}
	var b bytes.Buffer
	require.NoError(t, sample().Write(&b))
	path := filepath.Join(t.TempDir(), "frame.html")
	frame := `<!DOCTYPE html><title>waiting</title><iframe id="f" width="390" height="800" style="border:0" srcdoc="` + html.EscapeString(b.String()) + `"></iframe>
<script>f.onload = () => { const d = f.contentDocument; const i = d.querySelector("img");
document.title = [d.documentElement.scrollWidth <= d.documentElement.clientWidth, d.title, d.querySelectorAll("tbody td, tbody th[scope=row]").length, i.complete, i.naturalWidth].join("|"); console.log("looked") }</script>`
	require.NoError(t, os.WriteFile(path, []byte(frame), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr",
		"--virtual-time-budget=5000", "--dump-dom", "file://"+path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	dom, err := cmd.Output()
	if err != nil {
		t.Skipf("%s does not run here: %v", browser, err)
	}
	_, title, _ := strings.Cut(string(dom), "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	require.Equal(t, "true|ising, quick preset, seed 1|14|true|10", title)
	var console []string
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "CONSOLE") {
			console = append(console, line)
		}
	}
	require.Len(t, console, 1, "%v", console)
	require.Contains(t, console[0], "looked")
}

func TestTextOfPictures(t *testing.T) {
	require.Equal(t, "a", Picture{Name: "a"}.Text())
	require.Equal(t, "a. b", Picture{Name: "a", Description: "b"}.Text())
}
