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

// versionEnv names the Kubernetes version of the clusters that the tests start, such as v1.34.3. By default it is
// cluster.DefaultKubernetesVersion.
const versionEnv = "E2E_KUBERNETES_VERSION"

// change is the first minor version of Kubernetes whose servers behave as the tests expect. All differences between the
// supported versions are listed here. The tests state what older servers do instead.
type change int

const (
	// rulesShowValues: the error of a rule shows the value that breaks it. Older servers show its type.
	rulesShowValues change = 35
	// formatsOfNames: the formats k8s-short-name and k8s-long-name are enforced. Older servers ignore them.
	formatsOfNames change = 35
	// listsHaveReverse: the functions of lists in rules include reverse, so a wrong use of it has another error.
	listsHaveReverse change = 35
	// numbersHaveFormats: the formats int32, int64, float and double are enforced, and the server checks that a value is
	// an integer before it checks the bounds. Older servers ignore these formats, and check the bounds.
	numbersHaveFormats change = 36
	// shardsAreServed: the feature gate ShardedListAndWatch exists. Older servers ignore the shard in a request.
	shardsAreServed change = 36
	// likeKubetest: the server has the behavior of kubetest, including the text of all errors.
	likeKubetest change = 36
	// unlikeKubetest: the server has features and fields that kubetest does not have, such as maxUnavailable of
	// StatefulSets, and another text of some errors.
	unlikeKubetest change = 37
)

// has reports whether the server has the behavior of a version or of a later one.
func has(t *testing.T, c *kube.Client, since change) bool {
	t.Helper()
	v, err := discovery.Version(limit(t), c)
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

// showsTypeOf reports whether the message of a server equals the message of a cause, except that it shows the type of
// the value in the place of the value. For objects and lists, the cause shows nothing in that place. A value that may
// have several types has an empty type.
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

// sameCause reports whether a cause of the server is the expected one. A server that does not show the values that
// break rules may show their types.
func sameCause(server, want metav1.StatusCause, showsValues bool) bool {
	same := server.Type == want.Type && server.Field == want.Field
	return same && (server.Message == want.Message || !showsValues && showsTypeOf(server.Message, want.Message))
}

// showTypes replaces the messages of causes by those of the server that differ only in types.
func (v *verdict) showTypes(server verdict) {
	for i, ours := range v.Causes {
		for _, theirs := range server.Causes {
			if sameCause(theirs, ours, false) {
				v.Causes[i].Message = theirs.Message
			}
		}
	}
	v.tidy()
}

// dropIntegerChecks removes the causes that say that a value or a bound is not an integer, and reports whether there
// were any. Older servers check the bounds instead.
func (v *verdict) dropIntegerChecks() (dropped bool) {
	n := len(v.Causes)
	v.Causes = slices.DeleteFunc(v.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "<nil>" && strings.Contains(c.Message, " must be of type integer (default format) in ")
	})
	return len(v.Causes) < n
}

// enforcement says which checks a server has. That depends on its version.
type enforcement struct {
	values  bool // rulesShowValues
	names   bool // formatsOfNames
	reverse bool // listsHaveReverse
	numbers bool // numbersHaveFormats
}

// enforcementOf returns the checks of a server.
func enforcementOf(t *testing.T, c *kube.Client) enforcement {
	t.Helper()
	return enforcement{
		values: has(t, c, rulesShowValues), names: has(t, c, formatsOfNames),
		reverse: has(t, c, listsHaveReverse), numbers: has(t, c, numbersHaveFormats),
	}
}

// fraction matches the error about a bound that is not an integer. Servers without that check truncate the bound.
var fraction = regexp.MustCompile(`should be (less|greater) than or equal to \d+\.\d+$`)

// compare compares the verdict of the server with ours, which is that of the newest version.
func (e enforcement) compare(t *testing.T, server, ours verdict, differs string) {
	t.Helper()
	if !e.values {
		ours.showTypes(server)
	}
	if !e.numbers && ours.dropIntegerChecks() {
		for _, want := range ours.Causes {
			if !slices.Contains(server.Causes, want) && !fraction.MatchString(want.Message) {
				t.Errorf("the server does not report the cause %v", want)
			}
		}
		if len(server.Causes) == 0 || server.Reason != ours.Reason {
			t.Errorf("the server reports %+v, want the reason %s with a cause", server, ours.Reason)
		}
		return
	}
	compareVerdicts(t, server, ours, differs)
}

// of returns the part of a definition that the server enforces: a copy without the formats that the server ignores.
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

// dropFormats removes the formats that the server ignores from a schema.
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

// TestOlderMessagesDifferOnlyInTypes checks that the message of an older server is considered equal to that of a newer
// one only if it shows the type of the same value.
func TestOlderMessagesDifferOnlyInTypes(t *testing.T) {
	t.Parallel()
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
			t.Errorf("showsTypeOf(%s, %s) = %t, want %t", tt.older, tt.newer, got, tt.want)
		}
	}
}
