// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"html"
	"regexp"
	"strings"
)

// block is a paragraph, a list or code.
type block struct {
	kind  blockKind
	lines []string // items, of a list
}

type blockKind uint8

const (
	paragraph blockKind = iota
	list
	codeBlock
)

var item = regexp.MustCompile(`^ {0,3}([-*+]|[0-9]+[.)]) +`)

// blocks parses the text of a comment: paragraphs between empty lines, lists, and code that is indented or fenced.
func blocks(text string) []block {
	var out []block
	add := func(kind blockKind, line string, begin bool) {
		if begin || len(out) == 0 || out[len(out)-1].kind != kind {
			out = append(out, block{kind: kind})
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, line)
	}
	fenced, begin := false, true
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fenced, begin = !fenced, true
			continue
		case fenced:
			add(codeBlock, line, begin)
		case trimmed == "":
			if n := len(out); n > 0 && out[n-1].kind == codeBlock && !begin {
				add(codeBlock, "", false)
				continue
			}
			begin = true
			continue
		case item.MatchString(line):
			add(list, item.ReplaceAllString(line, ""), false)
		case len(out) > 0 && out[len(out)-1].kind == list && !begin:
			lines := out[len(out)-1].lines
			lines[len(lines)-1] += " " + trimmed
		case strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    "):
			add(codeBlock, line, begin)
		default:
			add(paragraph, trimmed, begin)
		}
		begin = false
	}
	return out
}

// code returns the text of code, without the common indent of its lines.
func (b block) code() string {
	lines := strings.Split(strings.ReplaceAll(strings.Join(b.lines, "\n"), "\t", "    "), "\n")
	indent := -1
	for _, line := range lines {
		if text := strings.TrimLeft(line, " "); text != "" && (indent < 0 || len(line)-len(text) < indent) {
			indent = len(line) - len(text)
		}
	}
	for i, line := range lines {
		lines[i] = line[min(len(line), max(indent, 0)):]
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// markdownText returns a text as Markdown that looks like the source. It escapes the characters that would begin a tag
// or an expression, which would not be visible.
func markdownText(text string) string {
	var out []string
	for _, b := range blocks(text) {
		switch b.kind {
		case codeBlock:
			out = append(out, "```\n"+b.code()+"\n```")
		case list:
			lines := make([]string, len(b.lines))
			for i, line := range b.lines {
				lines[i] = "- " + markdownLine(line)
			}
			out = append(out, strings.Join(lines, "\n"))
		case paragraph:
			out = append(out, markdownLine(strings.Join(b.lines, "\n")))
		}
	}
	return strings.Join(out, "\n\n")
}

// markdownLine is markdownText for a paragraph.
func markdownLine(text string) string { return inline(text, escapeTags, verbatim, verbatim) }

func verbatim(s string) string { return s }

func escapeTags(s string) string { return strings.NewReplacer("<", `\<`, "{", `\{`).Replace(s) }

// htmlText returns a text as HTML.
func htmlText(text string) string {
	mark := func(s string) string {
		return "<code>" + html.EscapeString(strings.TrimSpace(strings.Trim(s, "`"))) + "</code>"
	}
	link := func(s string) string {
		return `<a href="` + html.EscapeString(s) + `">` + html.EscapeString(s) + "</a>"
	}
	var out strings.Builder
	for _, b := range blocks(text) {
		switch b.kind {
		case codeBlock:
			out.WriteString("<pre><code>" + html.EscapeString(b.code()) + "</code></pre>\n")
		case list:
			out.WriteString("<ul>\n")
			for _, line := range b.lines {
				out.WriteString("<li>" + inline(line, html.EscapeString, mark, link) + "</li>\n")
			}
			out.WriteString("</ul>\n")
		case paragraph:
			out.WriteString("<p>" + inline(strings.Join(b.lines, "\n"), html.EscapeString, mark, link) + "</p>\n")
		}
	}
	return out.String()
}

// special matches code between backquotes and addresses.
var special = regexp.MustCompile("``[^\n]+?``|`[^`\n]+`|https?://[^\\s<>\"'`)]*[^\\s<>\"'`).,;:]")

// inline formats the text, the code and the addresses of a line.
func inline(text string, plain, code, link func(string) string) string {
	var out strings.Builder
	at := 0
	for _, m := range special.FindAllStringIndex(text, -1) {
		out.WriteString(plain(text[at:m[0]]))
		if found := text[m[0]:m[1]]; found[0] == '`' {
			out.WriteString(code(found))
		} else {
			out.WriteString(link(found))
		}
		at = m[1]
	}
	out.WriteString(plain(text[at:]))
	return out.String()
}
