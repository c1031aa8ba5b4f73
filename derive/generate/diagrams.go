// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/kube-go/sdk/derive/internal/docs"
	"github.com/kube-go/sdk/derive/internal/kind"
)

// maxDiagram is the maximum size of a diagram, in bytes. Mermaid draws no larger ones by default, see maxTextSize in
// https://mermaid.js.org/config/schema-docs/config.html.
const maxDiagram = 50_000

// diagrams reads the diagrams of a kind.
func (r *run) diagrams(k *kind.Kind) (all []docs.Diagram) {
	for _, d := range k.Diagrams {
		text, err := readDiagram(filepath.Join(filepath.Dir(d.Pos.Filename), filepath.FromSlash(d.File)))
		if err != nil {
			r.problems.add(d.Pos, fmt.Sprintf("//kube:diagram: the diagram %s of %s: %v", d.File, k.Name, err))
			continue
		}
		all = append(all, docs.Diagram{Title: d.Title, Text: text})
	}
	return all
}

// writeIt is the remedy for an invalid diagram.
const writeIt = "write the result of Machine.Graph().Mermaid() to it, in a test that compares both"

// readDiagram reads a state diagram in the Mermaid language. Its text ends with a newline.
func readDiagram(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("the file does not exist: " + writeIt)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDiagram+1))
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	switch {
	case len(data) > maxDiagram:
		return "", fmt.Errorf("the file has more than %d bytes, which Mermaid does not draw: %s", maxDiagram, writeIt)
	case !utf8.ValidString(text):
		return "", errors.New("the file is not UTF-8: " + writeIt)
	case !isStateDiagram(text):
		return "", errors.New("the file is not a Mermaid state diagram, which begins with stateDiagram-v2: " + writeIt)
	case strings.Contains(text, "```"), strings.Contains(text, "~~~"):
		return "", errors.New("the file has a Markdown fence: remove it, or " + writeIt)
	}
	return strings.TrimRight(text, "\n") + "\n", nil
}

// isStateDiagram reports whether the first line that is neither empty nor a comment begins a state diagram.
func isStateDiagram(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "%%") {
			return line == "stateDiagram-v2" || line == "stateDiagram"
		}
	}
	return false
}
