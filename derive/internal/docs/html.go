// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var pageTemplate string

// HTML returns a page as a self-contained HTML file.
func (p *Page) HTML() ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{ // htmlText escapes
		"prose":     func(text string) template.HTML { return template.HTML(htmlText(text)) },
		"line":      func(text string) template.HTML { return template.HTML(unwrapped(htmlText(text))) },
		"generated": func() template.HTML { return template.HTML(generatedBy) },
		"rule":      func(r Rule) string { return ruleText(r, verbatim) },
		"kindFacts": kindFactPairs,
	}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("write the page of %s/%s: %w", p.Group, p.Version, err)
	}
	return b.Bytes(), nil
}

// unwrapped removes the paragraph around a text.
func unwrapped(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, "<p>"), "</p>\n")
}

// kindFactPairs returns the facts of a kind for a template.
func kindFactPairs(t *Type) [][2]string {
	var pairs [][2]string
	for _, f := range kindFacts(t.Kind, verbatim) {
		pairs = append(pairs, [2]string{f.name, f.text})
	}
	return pairs
}
