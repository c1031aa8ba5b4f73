// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"fmt"
	"html"
	"strings"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
)

// rendered is what becomes of a document: the name of a file and what is in it.
type rendered struct {
	file  string
	text  string
	words int
}

// render makes a page of a document. It only knows as much of Markdown as an example needs.
func render(spec v1.DocumentSpec) (rendered, error) {
	r := rendered{words: len(strings.Fields(spec.Body))}
	switch spec.Format {
	case v1.FormatText:
		r.file, r.text = "document.txt", spec.Title+"\n\n"+spec.Body+"\n"
	case v1.FormatMarkdown, "":
		r.file, r.text = "index.html", page(spec.Title, markdown(spec.Body))
	case v1.FormatHTML:
		r.file, r.text = "index.html", page(spec.Title, spec.Body)
	default:
		return rendered{}, fmt.Errorf("spec.format: %q is none of text, markdown, html", spec.Format)
	}
	return r, nil
}

func page(title, body string) string {
	t := html.EscapeString(title)
	return "<!doctype html>\n<title>" + t + "</title>\n<h1>" + t + "</h1>\n" + body + "\n"
}

// markdown turns headings, list items and paragraphs into HTML.
func markdown(body string) string {
	var b strings.Builder
	for block := range strings.SplitSeq(body, "\n") {
		text := html.EscapeString(strings.TrimSpace(block))
		switch {
		case text == "":
		case strings.HasPrefix(text, "# "):
			fmt.Fprintf(&b, "<h2>%s</h2>\n", text[2:])
		case strings.HasPrefix(text, "- "):
			fmt.Fprintf(&b, "<li>%s</li>\n", text[2:])
		default:
			fmt.Fprintf(&b, "<p>%s</p>\n", text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
