// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"fmt"
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
		{"a plural of the core group with its version, as kubectl writes it", "pods.v1.", "pods/v1"},
		{"what two groups have, the preferred first", "events", "events/v1"},
		{"what two groups have, of the second", "events.events.k8s.io", "events.events.k8s.io/v1"},
		{"what two versions have, the preferred first", "hpa", "horizontalpodautoscalers.autoscaling/v2"},
		{"what two versions have, of the second", "hpa.v1.autoscaling", "horizontalpodautoscalers.autoscaling/v1"},
		{"a plural that is its own singular", "endpoints", "endpoints/v1"},
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
		known = `", as far as is known: metrics.example.com/v1beta1 can't be discovered; `
		sure  = `"; ` // a group that was discovered has no such resource
	)
	for _, tc := range []struct {
		name, in, how, want string
	}{
		{"a slip of the pen", "deploymets", known, "did you mean deployments.apps?"},
		{"a slip in a kind", "DeamonSet", known, "did you mean daemonsets.apps?"},
		{"two letters that have changed places", "pdos", known, "did you mean pods?"},
		{"a slip in a custom resource", "gadgets", known, "did you mean widgets.example.com?"},
		{"the wrong group", "deployments.extensions", known, "did you mean deployments.apps?"},
		{"the wrong version", "deployments.v2.apps", sure, "did you mean deployments.apps?"},
		{"a slip in what two groups have", "evnts", known, "did you mean events or events.events.k8s.io?"},
		{"nothing that comes near", "unicorns", known, "a resource that a CustomResourceDefinition defines must be installed first"},
		{"nothing", "", known, "a resource that a CustomResourceDefinition defines must be installed first"},
		{"a resource of the group that failed", "loads.metrics.example.com", known, "a resource that a CustomResourceDefinition defines must be installed first"},
		{"a name of a thousand letters", strings.Repeat("long", 250), known, "a resource that a CustomResourceDefinition defines must be installed first"},
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
	if got := fresh.Error(); got != `the server has no resource "x"; a resource that a CustomResourceDefinition defines must be installed first` {
		t.Errorf("Error() = %s", got)
	}
}

// FuzzResolve holds Resolve to this: what it finds has the name that was asked for, and never is it found by nothing.
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
			t.Errorf("Resolve(%q) = %s, which has no such name", name, res)
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
			`{"resource":"events","singularResource":"event","responseKind":{"kind":"Event"}}`))
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, in, want string }{
		{"a plural goes before a singular", "pods", "[pods boxes.a.test]"},
		{"a singular goes before a short name", "pod", "[pods hats.a.test]"},
		{"of two short names the one of the first group counts", "po", "[pods hats.a.test]"},
		{"of two plurals the one of the first group counts", "events", "[events events.a.test]"},
		{"a group tells them apart", "events.a.test", "[events.a.test]"},
		{"nothing", "unicorns", "[]"},
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
	if want := `the server has no category "pods", as far as is known: metrics.example.com/v1beta1 can't be discovered; it has all, api-extensions`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	_, err = d.Resolve("all")
	if want := `"all" is a category of resources, not a resource: name one of them, or resolve it as a category`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	none := &discovery.UnknownCategoryError{Name: "all"}
	if want := `the server has no category "all"; it has none at all`; none.Error() != want {
		t.Errorf("error = %v, want %s", none, want)
	}
}
