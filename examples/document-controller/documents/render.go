// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"html"
	"strings"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
)

// rendered is a rendered document.
type rendered struct {
	file  string // name of the file
	text  string // content of the file
	words int
}

// render renders a document. It supports only the part of Markdown that an example needs.
func render(spec v1.DocumentSpec) (rendered, error) {
	r := rendered{file: "index.html", words: len(strings.Fields(spec.Body))}
	switch spec.Format {
	case v1.FormatText:
		r.file, r.text = "document.txt", spec.Title+"\n\n"+spec.Body+"\n"
	case v1.FormatHTML:
		r.text = page(spec.Title, spec.Body)
	default: // Markdown: the server sets this default and rejects other formats
		body, err := markdown(spec.Body)
		if err != nil {
			return rendered{}, fmt.Errorf("spec.body: %w", err)
		}
		r.text = page(spec.Title, body)
	}
	return r, nil
}

func page(title, body string) string {
	t := html.EscapeString(title)
	return "<!doctype html>\n<title>" + t + "</title>\n<h1>" + t + "</h1>\n" + body + "\n"
}

// fence begins and ends a code block.
const fence = "```"

// markdown renders headings, list items, code blocks and paragraphs as HTML.
func markdown(body string) (string, error) {
	var b strings.Builder
	opened := 0 // the line on which the current code block began
	n := 0
	for line := range strings.SplitSeq(body, "\n") {
		n++
		text := html.EscapeString(strings.TrimSpace(line))
		switch {
		case text == fence && opened == 0:
			opened = n
			b.WriteString("<pre>")
		case text == fence:
			opened = 0
			b.WriteString("</pre>\n")
		case opened > 0:
			b.WriteString(html.EscapeString(line) + "\n")
		case text == "":
		case strings.HasPrefix(text, "# "):
			b.WriteString("<h2>" + text[2:] + "</h2>\n")
		case strings.HasPrefix(text, "- "):
			b.WriteString("<li>" + text[2:] + "</li>\n")
		default:
			b.WriteString("<p>" + text + "</p>\n")
		}
	}
	if opened > 0 {
		return "", fmt.Errorf("the code block that begins on line %d is not closed: close it with %s", opened, fence)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
