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

// versionEnv names the Kubernetes version of the clusters that the tests start, such as v1.35.3. By default it is
// cluster.DefaultKubernetesVersion.
const versionEnv = "E2E_KUBERNETES_VERSION"

// change is the first minor version of Kubernetes whose servers behave as the tests expect. All differences between the
// supported versions are listed here. The tests state what older servers do instead.
type change int

const (
	// numbersHaveFormats: the formats int32, int64, float and double are enforced, and the server checks that a value is
	// an integer before it checks the bounds. Older servers ignore these formats, and check the bounds.
	numbersHaveFormats change = 36
	// shardsAreServed: the feature gate ShardedListAndWatch exists. Older servers ignore the shard in a request.
	shardsAreServed change = 36
	// likeKubetest: the server has the behavior of kubetest, including the text of all errors. Older servers do not have
	// some features and fields, such as maxUnavailable of StatefulSets.
	likeKubetest change = 37
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
	numbers bool // numbersHaveFormats
}

// enforcementOf returns the checks of a server.
func enforcementOf(t *testing.T, c *kube.Client) enforcement {
	t.Helper()
	return enforcement{numbers: has(t, c, numbersHaveFormats)}
}

// fraction matches the error about a bound that is not an integer. Servers without that check truncate the bound.
var fraction = regexp.MustCompile(`should be (less|greater) than or equal to \d+\.\d+$`)

// compare compares the verdict of the server with ours, which is that of the newest version.
func (e enforcement) compare(t *testing.T, server, ours verdict, differs string) {
	t.Helper()
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
		if number && !e.numbers {
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
