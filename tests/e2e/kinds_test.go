// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// kind is a kind of k8s.io/api.
type kind struct {
	resource kube.Resource
	err      error // set if the resource is unknown
	// create creates an object if the kind has a sample. remove deletes the object.
	create func(ctx context.Context, c *kube.Client, namespace, name string) (created bool, err error)
	remove func(ctx context.Context, c *kube.Client, name string) error
	// list lists the objects of the whole cluster. If version is not empty, it lists them at exactly this version.
	list func(ctx context.Context, c *kube.Client, version string) (objects any, n int, at string, err error)
}

// kindOf returns a kind. The sample needs no name. It is nil if the cluster has objects of this kind without a sample,
// or if objects of this kind cannot be created.
func kindOf[K any, P core.ObjectPtr[K]](sample *K) kind {
	res, err := core.ResourceOf[K, P]()
	return kind{
		resource: res,
		err:      err,
		create: func(ctx context.Context, c *kube.Client, namespace, name string) (bool, error) {
			if sample == nil {
				return false, nil
			}
			obj := P(sample)
			obj.SetName(name)
			if res.Namespaced {
				obj.SetNamespace(namespace)
			}
			_, err := kube.ClusterWide[K, P](c).Create(ctx, sample, nil)
			return true, err
		},
		remove: func(ctx context.Context, c *kube.Client, name string) error {
			return kube.ClusterWide[K, P](c).Delete(ctx, name, nil)
		},
		list: func(ctx context.Context, c *kube.Client, version string) (any, int, string, error) {
			o := &kube.ListOptions{ResourceVersion: version}
			if version != "" {
				o.ResourceVersionMatch = metav1.ResourceVersionMatchExact
			}
			list, err := kube.ClusterWide[K, P](c).List(ctx, o)
			if err != nil {
				return nil, 0, "", err
			}
			return list.Items, len(list.Items), list.ResourceVersion, nil
		},
	}
}

// servedKinds returns the stable kinds of k8s.io/api that the server serves, with samples for a namespace, and all
// resources that discovery returns, by kind.
func servedKinds(t *testing.T, c *kube.Client, namespace string) (kinds []kind, served map[string]kube.Resource) {
	t.Helper()
	disc, err := kube.Discover(limit(t), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	served = map[string]kube.Resource{}
	for _, res := range disc.Resources() {
		served[res.GroupVersionKind().String()] = res
	}
	for _, k := range stableKinds(t, namespace) {
		if k.err != nil {
			t.Error(k.err)
		} else if _, ok := served[k.resource.GroupVersionKind().String()]; ok {
			kinds = append(kinds, k)
		}
	}
	return kinds, served
}

// TestKindsAgreeWithDiscovery compares the resources of the kinds of Kubernetes in the SDK with discovery.
func TestKindsAgreeWithDiscovery(t *testing.T) {
	kinds, served := servedKinds(t, connect(t, nil), "")
	known, versions := map[string]bool{}, map[string]bool{}
	for _, k := range kinds {
		gvk := k.resource.GroupVersionKind().String()
		known[gvk], versions[k.resource.APIVersion()] = true, true
		got, want := sorted(k.resource), sorted(served[gvk])
		newer := func(sub string) bool { return !slices.Contains(want.Subresources, sub) } // than this server
		got.Subresources = slices.DeleteFunc(got.Subresources, newer)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-server +ours):\n%s", gvk, diff)
		}
	}
	for gvk, res := range served {
		if versions[res.APIVersion()] && !known[gvk] {
			t.Errorf("the server has %s: add it to stableKinds", gvk)
		}
	}
	if len(kinds) < 50 {
		t.Errorf("%d kinds were compared, want at least 50", len(kinds))
	}
}

// sorted returns a resource with sorted lists.
func sorted(r kube.Resource) kube.Resource {
	for _, list := range []*[]string{&r.ShortNames, &r.Categories, &r.Verbs, &r.Subresources} {
		*list = slices.Sorted(slices.Values(*list))
	}
	return r
}

// TestProtobufEqualsJSON checks that objects are equal whether they are decoded from protobuf or from JSON.
func TestProtobufEqualsJSON(t *testing.T) {
	var asProtobuf, asJSON mediaTypes
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{asProtobuf.middleware}})
	inJSON := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{asJSON.middleware, onlyJSON}})
	ns := newNamespace(t, c)
	awaitPods(t, connect(t, nil), ns)
	kinds, _ := servedKinds(t, c, ns)
	wanted := map[string]bool{}
	for _, k := range kinds {
		if k.resource.Kind == "Node" && builtin == nil {
			continue // do not add a node to a cluster that others use
		}
		name := "sample"
		if !k.resource.Namespaced {
			name = ns
		}
		created, err := k.create(limit(t), c, ns, name)
		if err != nil {
			t.Error(err)
		}
		wanted[k.resource.GroupVersionKind().String()] = created
		if created && !k.resource.Namespaced {
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := k.remove(ctx, c, name); err != nil {
					t.Error(err)
				}
			})
		}
	}

	compared := 0
	for _, k := range kinds {
		if !slices.Contains(k.resource.Verbs, "list") || k.resource.Kind == "ComponentStatus" {
			continue // ComponentStatus objects are not stored: each list queries the components, in any order
		}
		want, n, version, err := k.list(limit(t), inJSON, "")
		if err != nil {
			t.Error(err)
			continue
		}
		got, _, _, err := k.list(limit(t), c, version)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-JSON +protobuf):\n%s", k.resource, diff)
		}
		gvk := k.resource.GroupVersionKind().String()
		if n == 0 && wanted[gvk] {
			t.Errorf("the sample of %s is not in the list", gvk)
		}
		if n > 0 {
			compared++
		}
	}
	t.Logf("%d kinds have objects", compared)
	if compared < 45 {
		t.Errorf("the objects of %d kinds were compared, want at least 45", compared)
	}
	asProtobuf.only(t, "application/vnd.kubernetes.protobuf")
	asJSON.only(t, "application/json")
}

// onlyJSON is a middleware that requests JSON.
func onlyJSON(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
		return next.RoundTrip(r)
	})
}

// mediaTypes counts the media types of the responses to GET requests, except for discovery.
type mediaTypes struct {
	mu   sync.Mutex // guards seen
	seen map[string]int
}

func (m *mediaTypes) middleware(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodGet && !strings.Contains(r.Header.Get("Accept"), "apidiscovery") {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.seen == nil {
				m.seen = map[string]int{}
			}
			m.seen[resp.Header.Get("Content-Type")]++
		}
		return resp, err
	})
}

// only checks that all responses had one media type.
func (m *mediaTypes) only(t *testing.T, want string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if got := slices.Collect(maps.Keys(m.seen)); !slices.Equal(got, []string{want}) {
		t.Errorf("media types of lists = %v, want only %s", m.seen, want)
	}
}
