// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"regexp"
	"strings"
)

// reserved reports whether a name is a reserved symbol of CEL. API servers escape these symbols, see
// https://kubernetes.io/docs/reference/using-api/cel/#escaping.
func reserved(name string) bool {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
		"let", "loop", "package", "namespace", "return", "var", "void", "while":
		return true
	}
	return false
}

// Escape returns the name of a property in rules, or false if rules can't refer to the property.
func Escape(name string) (string, bool) {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", false
	}
	if reserved(name) {
		return "__" + name + "__", true
	}
	for _, r := range name {
		if !strings.ContainsRune("_-./", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "", false
		}
	}
	return strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name), true
}

// escaped matches the escape sequences of Escape.
var escaped = regexp.MustCompile(`__[^_]+__`)

// unescape is the inverse of Escape. It returns false if name is not a valid escaped name.
func unescape(name string) (string, bool) {
	ok := true
	plain := escaped.ReplaceAllStringFunc(name, func(s string) string {
		switch word := s[2 : len(s)-2]; {
		case word == "underscores":
			return "__"
		case word == "dot":
			return "."
		case word == "dash":
			return "-"
		case word == "slash":
			return "/"
		case reserved(word) && s == name:
			return word
		}
		ok = false
		return ""
	})
	return plain, ok
}
