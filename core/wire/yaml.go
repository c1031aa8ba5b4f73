// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

const (
	// maxYAMLDepth bounds the nesting of YAML, with aliases followed.
	maxYAMLDepth = 1000
	// maxAliased bounds the values that a document has through aliases, so that a small document can't expand to a huge
	// one.
	maxAliased = 1 << 20
)

// yamlError returns the error of the YAML decoder and its line, 0 if the line is unknown. The decoder quotes names of
// anchors, which may be secret: an unquoted value that begins with * looks like one.
func yamlError(err error) (int, error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1 // which the decoder does not print
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, message = n, what
			}
		}
	}
	switch {
	case strings.HasPrefix(message, "unknown anchor "):
		line, message = 0, "a value that begins with * is not the name of an anchor: put it in quotes"
	case strings.HasPrefix(message, "control characters "),
		strings.Contains(message, "UTF-"),
		strings.HasPrefix(message, "exceeded "):
		line = 0
	case line > 1 && isAboutBlock(message):
		line++ // these errors count lines from 0
	case strings.HasPrefix(message, "found character that cannot start any token"):
		message += ", such as a tab, @ or `: indent with spaces, and put text in quotes"
	}
	return line, errors.New("yaml: " + message)
}

// isAboutBlock recognizes an error about a whole mapping or sequence, which has the line of its start.
func isAboutBlock(message string) bool {
	return slices.ContainsFunc([]string{"key", "node", "'-'", "','"}, func(wanted string) bool {
		return strings.HasPrefix(message, "did not find expected "+wanted)
	})
}

// content returns the value of a document, nil if the document is empty.
func content(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Style == 0 && root.ShortTag() == "!!null" {
		return nil
	}
	return root
}

// yamlToJSON returns a value as JSON, with line breaks such that values keep their lines where possible. If it returns
// an error, it also returns the line of the error.
func yamlToJSON(root *yaml.Node, limit int64) (text []byte, line int, err error) {
	w := yamlWriter{limit: limit, line: root.Line}
	err = w.value(root, maxYAMLDepth)
	if err == nil && int64(len(w.out)) > limit {
		err = w.tooLarge()
	}
	return w.out, w.at, err
}

type yamlWriter struct {
	out     []byte
	limit   int64
	line    int // of the document, at the end of out
	at      int // the line of the last node
	aliases int // that enclose the node
	aliased int // how many nodes were read through aliases
}

func (w *yamlWriter) tooLarge() error {
	return &TooLargeError{What: "document", LimitBytes: w.limit}
}

// enter starts a node.
func (w *yamlWriter) enter(n *yaml.Node, depth int) error {
	w.at = n.Line
	for ; w.line < n.Line; w.line++ {
		w.out = append(w.out, '\n')
	}
	if w.aliases > 0 {
		w.aliased++
	}
	switch {
	case depth == 0:
		return fmt.Errorf("yaml: values nest deeper than %d, or an alias is within its own anchor", maxYAMLDepth)
	case w.aliased > maxAliased:
		return fmt.Errorf("yaml: aliases stand for more than %d values", maxAliased)
	case int64(len(w.out)) > w.limit:
		return w.tooLarge()
	}
	return nil
}

func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	if err := w.enter(n, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n, depth-1)
	case yaml.SequenceNode:
		return w.sequence(n, depth-1)
	case yaml.AliasNode:
		w.aliases++
		err := w.value(n.Alias, depth-1)
		w.aliases--
		if err != nil {
			w.at = n.Line
		}
		return err
	case yaml.ScalarNode:
		return w.scalar(n)
	default:
		return errors.New("yaml: a document within a document is not supported")
	}
}

func (w *yamlWriter) sequence(n *yaml.Node, depth int) error {
	w.out = append(w.out, '[')
	for i, element := range n.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(element, depth); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

// yamlMember is a member of a mapping.
type yamlMember struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) error {
	members, err := w.members(n, depth)
	if err != nil {
		return err
	}
	w.out = append(w.out, '{')
	for i, m := range members {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.enter(m.key, depth); err != nil {
			return err
		}
		if err := w.quote(m.name); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.value(m.value, depth); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// members returns the members of a mapping, followed by those that it merges by "<<" and does not have itself:
// https://yaml.org/type/merge.html.
func (w *yamlWriter) members(n *yaml.Node, depth int) (members []yamlMember, err error) {
	lines := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merges = append(merges, value)
			continue
		}
		w.at = key.Line
		name, err := yamlName(key)
		if err != nil {
			return nil, err
		}
		if line, ok := lines[name]; ok {
			return nil, fmt.Errorf("yaml: %s is in line %d already: remove one", nameElement(name), line)
		}
		lines[name] = key.Line
		members = append(members, yamlMember{name, key, value})
	}
	for _, merge := range merges {
		if members, err = w.merge(members, lines, merge, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// merge adds the missing members from a mapping, or from a sequence of mappings.
func (w *yamlWriter) merge(members []yamlMember, have map[string]int, n *yaml.Node, depth int) ([]yamlMember, error) {
	w.at = n.Line
	if depth <= 0 {
		return nil, fmt.Errorf("yaml: values nest deeper than %d, or an alias is within its own anchor", maxYAMLDepth)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	sources := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		sources = n.Content
	}
	for _, source := range sources {
		if source.Kind == yaml.AliasNode {
			source = source.Alias
		}
		if source.Kind != yaml.MappingNode {
			return nil, errors.New("yaml: << takes a mapping, or a sequence of mappings")
		}
		if w.aliased += 1 + len(source.Content)/2; w.aliased > maxAliased {
			return nil, fmt.Errorf("yaml: aliases stand for more than %d values", maxAliased)
		}
		more, err := w.members(source, depth-1)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if _, ok := have[m.name]; !ok {
				have[m.name] = m.key.Line
				members = append(members, m)
			}
		}
	}
	return members, nil
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Style == 0 && key.Value == "<<"
}

// yamlName returns the JSON name of a key. It converts numbers and booleans to strings as Kubernetes does.
func yamlName(key *yaml.Node) (string, error) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode {
		return "", errors.New("yaml: a name must be a string")
	}
	v, err := scalarOf(key)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case nil:
		return "", errors.New("yaml: a name must be a string, not null")
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 32), nil
	default:
		return fmt.Sprint(v), nil
	}
}

func (w *yamlWriter) scalar(n *yaml.Node) error {
	v, err := scalarOf(n)
	if err != nil {
		return err
	}
	if s, ok := v.(string); ok {
		return w.quote(s)
	}
	text, err := MarshalJSON(v)
	w.out = append(w.out, text...)
	return err
}

func (w *yamlWriter) quote(s string) error {
	if int64(len(s)) > w.limit-int64(len(w.out)) {
		return w.tooLarge()
	}
	out, err := jsontext.AppendQuote(w.out, s)
	if err != nil {
		return errors.New("yaml: a string is not valid UTF-8")
	}
	w.out = out
	return nil
}

// scalarOf returns the value of a scalar: nil, a bool, an integer, a float64 or a string.
func scalarOf(n *yaml.Node) (any, error) {
	tagged := n.Style&yaml.TaggedStyle != 0
	if !tagged && n.Style != 0 { // quoted, or a block
		return n.Value, nil
	}
	if !tagged && !mayBeNumber(n.Value) || tagged && n.ShortTag() == "!!bool" {
		if v, ok := resolveWord(n.Value); ok {
			return v, nil
		}
	}
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		if !tagged && overflows(n.Value) {
			return nil, errTooBig
		}
		return n.Value, nil
	case "!!null", "!!bool", "!!int", "!!float", "!!binary":
		return resolve(n)
	default:
		return nil, fmt.Errorf("yaml: the tag %.40s is unknown: remove it", tag)
	}
}

// resolve returns the value of a scalar by its tag.
func resolve(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("yaml: the value is not a valid %s", n.ShortTag())
	}
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.New("yaml: !!binary takes text in base64")
		}
	case float64:
		switch {
		case math.IsInf(v, 0), math.IsNaN(v):
			return nil, errors.New("yaml: the number is not finite; put it in quotes if it is text")
		case math.Abs(v) > 1<<53 && strings.Trim(n.Value, "+-_0123456789") == "": // an integer
			return nil, errTooBig
		}
	}
	return v, nil
}

var errTooBig = errors.New("yaml: the number does not fit 64 bits; put it in quotes if it is text")

// overflows reports whether a string would be a number if it were smaller.
func overflows(s string) bool {
	if !mayBeNumber(s) {
		return false
	}
	plain := strings.ReplaceAll(s, "_", "")
	_, intErr := strconv.ParseUint(strings.TrimLeft(plain, "+-"), 0, 64)
	_, floatErr := strconv.ParseFloat(plain, 64)
	return errors.Is(intErr, strconv.ErrRange) || errors.Is(floatErr, strconv.ErrRange)
}

func mayBeNumber(s string) bool {
	return s != "" && (isDigit(s[0]) || strings.IndexByte("+-.", s[0]) >= 0)
}

// resolveWord returns the value of the words that are not strings in YAML 1.1, by which Kubernetes reads YAML.
func resolveWord(s string) (v any, ok bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	}
	return nil, false
}
