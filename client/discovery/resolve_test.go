// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/discovery"
)

func TestResolve(t *testing.T) {
	d := discover(t)
	for _, tc := range []struct {
		name, in, want string // want is plural.group/version
	}{
		{"a plural", "pods", "pods/v1"},
		{"a singular", "pod", "pods/v1"},
		{"a short name", "po", "pods/v1"},
		{"a kind", "Pod", "pods/v1"},
		{"a kind in another case", "daemonSET", "daemonsets.apps/v1"},
		{"a plural in another case", "PODS", "pods/v1"},
		{"a custom resource", "wd", "widgets.example.com/v1"},
		{"a plural with its group", "deployments.apps", "deployments.apps/v1"},
		{"a short name with its group", "deploy.apps", "deployments.apps/v1"},
		{"a kind with its group", "Deployment.apps", "deployments.apps/v1"},
		{"a kind with version and group", "Deployment.v1.apps", "deployments.apps/v1"},
		{"a plural of the core group with its version", "pods.v1", "pods/v1"},
		{"a plural of the core group with its version and a dot", "pods.v1.", "pods/v1"},
		{"a name in two groups, of which the first is preferred", "events", "events/v1"},
		{"a name in two groups, with the second group", "events.events.k8s.io", "events.events.k8s.io/v1"},
		{"a name in two versions, of which the first is preferred", "hpa", "horizontalpodautoscalers.autoscaling/v2"},
		{"a name in two versions, with the second version", "hpa.v1.autoscaling", "horizontalpodautoscalers.autoscaling/v1"},
		{"a plural that equals its singular", "endpoints", "endpoints/v1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := d.Resolve(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.String()+"/"+got.Version != tc.want {
				t.Errorf("Resolve(%q) = %s/%s, want %s", tc.in, got, got.Version, tc.want)
			}
		})
	}
}

func TestResolveUnknown(t *testing.T) {
	d := discover(t)
	const (
		known = `", but metrics.example.com/v1beta1 could not be discovered; `
		sure  = `"; ` // the name has another group
	)
	for _, tc := range []struct {
		name, in, how, want string
	}{
		{"a misspelled plural", "deploymets", known, "did you mean deployments.apps?"},
		{"a misspelled kind", "DeamonSet", known, "did you mean daemonsets.apps?"},
		{"two swapped letters", "pdos", known, "did you mean pods?"},
		{"a misspelled custom resource", "gadgets", known, "did you mean widgets.example.com?"},
		{"the wrong group", "deployments.extensions", sure, "did you mean deployments.apps?"},
		{"the wrong version", "deployments.v2.apps", sure, "did you mean deployments.v1.apps?"},
		{"the wrong version of a kind", "Deployment.v1beta1.apps", sure, "did you mean deployments.v1.apps?"},
		{"a misspelled name with a version", "deploymets.v1.apps", sure, "did you mean deployments.apps?"},
		{"a version and an unknown group", "gadgets.v1.late.test", sure, "did you mean widgets.example.com?"},
		{"the core group", "pdos.v1", sure, "did you mean pods?"},
		{"a misspelled name in two groups", "evnts", known, "did you mean events or events.events.k8s.io?"},
		{
			"a name without similar names", "unicorns", known,
			"a resource that a CustomResourceDefinition defines must be installed first",
		},
		{"a misspelled short name", "deployy", known, "did you mean deployments.apps?"},
		{"an empty name", "", known, "the name is empty"},
		{"an object", "unicorns/a", known, "leave out the slash and what follows it"},
		{
			"a resource of the failed group", "loads.metrics.example.com", known,
			"a resource that a CustomResourceDefinition defines must be installed first",
		},
		{
			"a resource of the failed group with its version", "Load.v1beta1.metrics.example.com", known,
			"a resource that a CustomResourceDefinition defines must be installed first",
		},
		{
			"a group that ends with the failed group", "loads.of.my.metrics.example.com", sure,
			"a resource that a CustomResourceDefinition defines must be installed first",
		},
		{
			"a name with a thousand letters", strings.Repeat("long", 250), known,
			"a resource that a CustomResourceDefinition defines must be installed first",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := d.Resolve(tc.in)
			unknown, ok := errors.AsType[*discovery.UnknownResourceError](err)
			if !ok || unknown.Name != tc.in || len(unknown.Nearby) > 3 {
				t.Fatalf("error = %#v, want an UnknownResourceError about %q", err, tc.in)
			}
			if want := `the server has no resource "` + tc.in + tc.how + tc.want; err.Error() != want {
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
	fresh := &discovery.UnknownResourceError{Name: "x"}
	if got := fresh.Error(); got != `the server has no resource "x"; a resource that a CustomResourceDefinition `+
		`defines must be installed first` {
		t.Errorf("Error() = %s", got)
	}
}

// FuzzResolve checks that a resolved resource has the requested name, and that the empty name matches nothing.
func FuzzResolve(f *testing.F) {
	d := discover(f)
	for _, seed := range []string{"pods", "Deployment.v1.apps", "hpa.v1.autoscaling", "", ".", "..", "pods.v1.", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		res, err := d.Resolve(name)
		if err != nil {
			if _, ok := errors.AsType[*discovery.UnknownResourceError](err); !ok {
				t.Errorf("Resolve(%q): %v, want an UnknownResourceError", name, err)
			}
			return
		}
		first, rest, _ := strings.Cut(strings.ToLower(name), ".")
		names := append([]string{res.Plural, res.Singular, strings.ToLower(res.Kind)}, res.ShortNames...)
		if first == "" || !strings.Contains(" "+strings.Join(names, " ")+" ", " "+first+" ") {
			t.Errorf("Resolve(%q) = %s, which does not have that name", name, res)
		}
		group := res.Group
		if rest != "" && rest != group && rest != res.Version+"."+group && (group != "" || rest != res.Version) {
			t.Errorf("Resolve(%q) = %s in version %s, which is not in %q", name, res, res.Version, rest)
		}
	})
}

func TestMatches(t *testing.T) {
	server := modern(t)
	server.set("/apis", oneGroup("a.test",
		`{"resource":"boxes","singularResource":"pods","responseKind":{"kind":"Box"}},`+
			`{"resource":"hats","singularResource":"hat","responseKind":{"kind":"Hat"},"shortNames":["po","pod"]},`+
			`{"resource":"cups","singularResource":"cup","responseKind":{"kind":"Mug"}},`+
			`{"resource":"mugs","singularResource":"mug","responseKind":{"kind":"Beaker"}},`+
			`{"resource":"events","singularResource":"event","responseKind":{"kind":"Event"}}`))
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, in, want string }{
		{"a plural precedes a singular", "pods", "[pods boxes.a.test]"},
		{"a singular precedes a short name", "pod", "[pods hats.a.test]"},
		{"a singular precedes a kind", "mug", "[mugs.a.test cups.a.test]"},
		{"of two short names, that of the first group comes first", "po", "[pods hats.a.test]"},
		{"of two plurals, that of the first group comes first", "events", "[events events.a.test]"},
		{"a group makes the name unique", "events.a.test", "[events.a.test]"},
		{"an unknown name", "unicorns", "[]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := fmt.Sprint(d.Matches(tc.in)); got != tc.want {
				t.Errorf("Matches(%q) = %s, want %s", tc.in, got, tc.want)
			}
		})
	}
}

func TestResolveCategory(t *testing.T) {
	d := discover(t)
	got, err := d.ResolveCategory("ALL")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pods", "replicationcontrollers", "services", "daemonsets.apps", "deployments.apps", "replicasets.apps",
		"statefulsets.apps", "horizontalpodautoscalers.autoscaling", "cronjobs.batch", "jobs.batch", "widgets.example.com",
	}
	var names []string
	for _, r := range got {
		names = append(names, r.String())
		if r.Group == "autoscaling" && r.Version != "v2" {
			t.Errorf("%s in version %s, want the preferred one", r, r.Version)
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("category all (-want +got):\n%s", diff)
	}
	_, err = d.ResolveCategory("pods")
	if want := `the server has no category "pods", but metrics.example.com/v1beta1 could not be discovered; it has ` +
		`all, api-extensions`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	_, err = d.Resolve("all")
	wantErr := `"all" is a category of resources, not a resource: name one of them, or resolve it as a category`
	if err == nil || err.Error() != wantErr {
		t.Errorf("error = %v, want %s", err, wantErr)
	}
	none := &discovery.UnknownCategoryError{Name: "all"}
	if want := `the server has no category "all"; it has no categories`; none.Error() != want {
		t.Errorf("error = %v, want %s", none, want)
	}
}

// TestResolveOfAnUnknownNameTakesLittleMemory checks that the search for similar names skips names of a very different
// length, which a server may send.
func TestResolveOfAnUnknownNameTakesLittleMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	s := modern(t)
	s.set("/apis", oneGroup("example.com",
		`{"resource":"`+long+`","responseKind":{"kind":"Widget`+long+`"},"singularResource":"`+long+`"}`))
	d, err := discovery.Discover(t.Context(), s.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err = d.Resolve("nosuchthings"); err == nil {
		t.Fatal("Resolve() = nil, want an error")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("Resolve() has allocated %d bytes for names of 1 MiB", n)
	}
}
