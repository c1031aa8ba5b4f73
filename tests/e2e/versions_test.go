// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// versionEnv names the Kubernetes version of the clusters that the tests start, such as v1.34.3. By default it is the
// newest that is supported.
const versionEnv = "E2E_KUBERNETES_VERSION"

// change is the minor version of Kubernetes from which on servers behave as the tests expect. All differences between the
// supported versions are here; a test says what an older server does instead.
type change int

const (
	// rulesShowValues: the error of a rule shows the value that breaks it. Older servers show its type.
	rulesShowValues change = 35
	// numbersHaveFormats: the formats int32, int64, float and double are enforced. Older servers ignore them.
	numbersHaveFormats change = 36
	// shardsAreServed: the feature gate ShardedListAndWatch exists. Older servers ignore that a shard is wanted.
	shardsAreServed change = 36
)

// has reports whether the server behaves as it does from a version on.
func has(t *testing.T, c *kube.Client, since change) bool {
	t.Helper()
	v, err := kube.ServerVersion(limit(t), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(v.Minor, "+"))
	if err != nil {
		t.Fatalf("the minor version of the server is %q: %v", v.Minor, err)
	}
	return minor >= int(since)
}

// shownType matches the message of a rule that shows the type of a value.
var shownType = regexp.MustCompile(`(?s)^(Invalid value|Duplicate value): "(object|array|string|integer|number|boolean)"(: .*)?$`)

// showsTypeOf reports whether a message is that of a cause but for a type, which it shows in the place of a value of this
// type. Of objects and lists, nothing is shown in that place.
func showsTypeOf(message, cause string) bool {
	parts := shownType.FindStringSubmatch(message)
	if parts == nil {
		return false
	}
	value, ok := strings.CutPrefix(cause, parts[1])
	if !ok {
		return false
	}
	if value, ok = strings.CutSuffix(value, parts[3]); !ok {
		return false
	}
	value = strings.TrimPrefix(value, ": ")
	switch parts[2] {
	case "object", "array":
		return value == ""
	case "string":
		_, err := strconv.Unquote(value)
		return err == nil
	case "boolean":
		return value == "true" || value == "false"
	}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil
}

// sameCause reports whether the server has the cause that is wanted. A server that does not show the values of rules may
// show their types.
func sameCause(server, want metav1.StatusCause, showsValues bool) bool {
	same := server.Type == want.Type && server.Field == want.Field
	return same && (server.Message == want.Message || !showsValues && showsTypeOf(server.Message, want.Message))
}

// showTypes gives the causes of an answer the messages of those of the server that are the same but for types.
func (a *answer) showTypes(server answer) {
	for i, ours := range a.Causes {
		for _, theirs := range server.Causes {
			if sameCause(theirs, ours, false) {
				a.Causes[i].Message = theirs.Message
			}
		}
	}
	a.tidy()
}

// enforced returns what a server enforces of a definition: all of it, or, on one that ignores the formats of numbers, a
// copy without these.
func enforced(crd *unstructured.Unstructured, formats bool) *unstructured.Unstructured {
	if formats {
		return crd
	}
	crd = crd.DeepCopy()
	spec, _ := crd.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok {
			dropNumberFormats(v["schema"])
		}
	}
	return crd
}

func dropNumberFormats(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if s["type"] == "integer" || s["type"] == "number" {
			delete(s, "format")
		}
		for value := range maps.Values(s) {
			dropNumberFormats(value)
		}
	case []any:
		for _, value := range s {
			dropNumberFormats(value)
		}
	}
}

// TestOlderMessagesDifferInTypesAlone promises that the message of an older server is taken for that of a newer one only if
// it has the type of the same value.
func TestOlderMessagesDifferInTypesAlone(t *testing.T) {
	for _, tt := range []struct {
		older, newer string
		want         bool
	}{
		{`Invalid value: "string": failed rule: self != 'a'`, `Invalid value: "a": failed rule: self != 'a'`, true},
		{`Invalid value: "integer": too many`, `Invalid value: 7: too many`, true},
		{`Invalid value: "boolean": no`, `Invalid value: true: no`, true},
		{`Invalid value: "object": no`, `Invalid value: no`, true},
		{`Invalid value: "array": no: never`, `Invalid value: no: never`, true},
		{`Duplicate value: "string"`, `Duplicate value: "a"`, true},
		{`Invalid value: "string": no`, `Invalid value: 7: no`, false},
		{`Invalid value: "integer": no`, `Invalid value: "7": no`, false},
		{`Invalid value: "object": no`, `Invalid value: {}: no`, false},
		{`Invalid value: "string": no`, `Invalid value: "a": yes`, false},
		{`Invalid value: "string": no`, `Duplicate value: "a": no`, false},
		{`Invalid value: "b": no`, `Invalid value: "a": no`, false},
		{`Required value: no`, `Required value: yes`, false},
	} {
		if got := showsTypeOf(tt.older, tt.newer); got != tt.want {
			t.Errorf("%s and %s: %t, want %t", tt.older, tt.newer, got, tt.want)
		}
	}
}
