// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/discovery"
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
	// formatsOfNames: the formats k8s-short-name and k8s-long-name are enforced. Older servers ignore them.
	formatsOfNames change = 35
	// listsHaveReverse: the functions of lists in rules include reverse, so a wrong use of it has another error.
	listsHaveReverse change = 35
	// numbersHaveFormats: the formats int32, int64, float and double are enforced, and an integer is checked to be one before
	// its bounds are. Older servers ignore these formats, and check the bounds.
	numbersHaveFormats change = 36
	// shardsAreServed: the feature gate ShardedListAndWatch exists. Older servers ignore that a shard is wanted.
	shardsAreServed change = 36
)

// has reports whether the server behaves as it does from a version on.
func has(t *testing.T, c *kube.Client, since change) bool {
	t.Helper()
	v, err := discovery.Version(limit(t), c, nil)
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
var shownType = regexp.MustCompile(`(?s)^(Invalid value|Duplicate value): "(|object|array|string|integer|number|boolean)"(: .*)?$`)

// showsTypeOf reports whether a message is that of a cause but for a type, which it shows in the place of a value of this
// type. Of objects and lists, nothing is shown in that place. A value that may be of several types has an empty one.
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
	case "":
		return value != ""
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

// showTypes replaces the messages of causes by those of the server's response that differ from them in types alone.
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

// dropIntegerChecks removes the causes that say that a value or a bound is not an integer, and reports whether there are
// any. Older servers go on to the bounds instead.
func (a *answer) dropIntegerChecks() (dropped bool) {
	n := len(a.Causes)
	a.Causes = slices.DeleteFunc(a.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "<nil>" && strings.Contains(c.Message, " must be of type integer (default format) in ")
	})
	return len(a.Causes) < n
}

// enforcement is what a server enforces, by its version.
type enforcement struct {
	values  bool // rulesShowValues
	names   bool // formatsOfNames
	reverse bool // listsHaveReverse
	numbers bool // numbersHaveFormats
}

func enforcementOf(t *testing.T, c *kube.Client) enforcement {
	t.Helper()
	return enforcement{
		values: has(t, c, rulesShowValues), names: has(t, c, formatsOfNames),
		reverse: has(t, c, listsHaveReverse), numbers: has(t, c, numbersHaveFormats),
	}
}

// fraction matches the error of a bound that is not an integer. Servers that do not check that truncate the bound.
var fraction = regexp.MustCompile(`should be (less|greater) than or equal to \d+\.\d+$`)

// compare compares the answer of the server with ours, which is that of the newest version.
func (e enforcement) compare(t *testing.T, server, ours answer, differs string) {
	t.Helper()
	if !e.values {
		ours.showTypes(server)
	}
	if !e.numbers && ours.dropIntegerChecks() {
		for _, want := range ours.Causes {
			if !slices.Contains(server.Causes, want) && !fraction.MatchString(want.Message) {
				t.Errorf("the server does not have the cause %v", want)
			}
		}
		if len(server.Causes) == 0 || server.Reason != ours.Reason {
			t.Errorf("the server says %+v, want it invalid with a cause", server)
		}
		return
	}
	compareAnswers(t, server, ours, differs)
}

// of returns what a server enforces of a definition: a copy without the formats that it ignores.
func (e enforcement) of(crd *unstructured.Unstructured) *unstructured.Unstructured {
	crd = crd.DeepCopy()
	spec, _ := crd.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok {
			e.dropFormats(v["schema"])
		}
	}
	return crd
}

func (e enforcement) dropFormats(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		number := s["type"] == "integer" || s["type"] == "number"
		name := s["format"] == "k8s-short-name" || s["format"] == "k8s-long-name"
		if number && !e.numbers || name && !e.names {
			delete(s, "format")
		}
		for value := range maps.Values(s) {
			e.dropFormats(value)
		}
	case []any:
		for _, value := range s {
			e.dropFormats(value)
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
		{`Invalid value: "": no`, `Invalid value: 0: no`, true},
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
