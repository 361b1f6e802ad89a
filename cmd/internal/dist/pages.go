package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/internal/cli"
)

// pages returns the manual pages and the completions of all commands.
func pages(version string, date time.Time) (files []file, err error) {
	for _, shell := range []struct {
		path     string
		generate func(root *cobra.Command, w io.Writer) error
	}{
		{"completions/revgen.bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"completions/_revgen", (*cobra.Command).GenZshCompletion},
		{"completions/revgen.fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	} {
		var text bytes.Buffer
		if err := shell.generate(cli.Command(revgen.Systems()...), &text); err != nil {
			return nil, err
		}
		files = append(files, file{shell.path, 0o644, text.Bytes()})
	}
	var manual func(cmd *cobra.Command) error
	manual = func(cmd *cobra.Command) error {
		header := &doc.GenManHeader{Section: "1", Date: &date, Source: "revgen " + version, Manual: "RevGen"}
		var text bytes.Buffer
		if err := doc.GenMan(cmd, header, &text); err != nil {
			return err
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		files = append(files, file{fmt.Sprintf("man/man1/%s.1", name), 0o644, text.Bytes()})
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
				continue
			}
			if err := manual(c); err != nil {
				return err
			}
		}
		return nil
	}
	root := cli.Command(revgen.Systems()...)
	root.DisableAutoGenTag = true
	markUp(root)
	return files, manual(root)
}

// markUp makes Markdown, which package doc expects, of the texts of a command and its
// subcommands.
func markUp(cmd *cobra.Command) {
	if !strings.HasPrefix(cmd.CommandPath(), "revgen completion") { // cobra's own, with Markdown's indentation
		cmd.Long = markdown(cmd.Long)
	}
	usage := func(f *pflag.Flag) { f.Usage = escape(f.Usage) }
	cmd.LocalFlags().VisitAll(usage)
	for _, c := range cmd.Commands() {
		markUp(c)
	}
}

// markdown returns plain text as Markdown. Lines that begin with spaces become blocks of code.
func markdown(text string) string {
	var out strings.Builder
	inCode := false
	for line := range strings.SplitSeq(text+"\n", "\n") {
		indented := strings.HasPrefix(line, " ")
		if indented != inCode {
			out.WriteString("\n```\n")
			inCode = indented
		}
		if !inCode {
			line = escape(line)
		}
		out.WriteString(line + "\n")
	}
	return strings.TrimSpace(out.String())
}

// escape returns a line of plain text as Markdown.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "|", `\|`).Replace(text)
}
