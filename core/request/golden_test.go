// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func resource[K any, P core.ObjectPtr[K]]() core.Resource {
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		panic(err)
	}
	return res
}

func in(res core.Resource, namespace, name string) request.Target {
	return request.Target{Resource: res, Namespace: namespace, Name: name}
}

func pods() request.Target       { return in(resource[corev1.Pod](), "prod", "") }
func pod() request.Target        { return in(resource[corev1.Pod](), "prod", "web-0") }
func nodes() request.Target      { return in(resource[corev1.Node](), "", "") }
func node() request.Target       { return in(resource[corev1.Node](), "", "n1") }
func deployment() request.Target { return in(resource[appsv1.Deployment](), "prod", "web") }

func sub(t request.Target, name string) request.Target {
	t.Subresource = name
	return t
}

func protobuf(t request.Target) request.Target {
	t.Encoding = wire.Protobuf
	return t
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

type golden struct {
	name string
	req  func() (*request.Request, error)
}

func reads() []golden {
	return []golden{
		{"get", func() (*request.Request, error) { return request.Get(pod(), nil) }},
		{"get a cluster-scoped object", func() (*request.Request, error) { return request.Get(node(), nil) }},
		{"get from a named group", func() (*request.Request, error) { return request.Get(deployment(), nil) }},
		{"get as protobuf", func() (*request.Request, error) { return request.Get(protobuf(pod()), nil) }},
		{"get from any state", func() (*request.Request, error) {
			return request.Get(pod(), &request.GetOptions{ResourceVersion: "0"})
		}},
		{"get a subresource", func() (*request.Request, error) { return request.Get(sub(deployment(), "scale"), nil) }},
		{"get through a deeper subresource", func() (*request.Request, error) { return request.Get(sub(node(), "proxy/metrics"), nil) }},
		{"get a name that must be escaped", func() (*request.Request, error) {
			return request.Get(in(resource[corev1.Node](), "", "a b?c#d:é"), nil)
		}},
		{"list a namespace", func() (*request.Request, error) { return request.List(pods(), nil) }},
		{"list all namespaces", func() (*request.Request, error) { return request.List(in(resource[corev1.Pod](), "", ""), nil) }},
		{"list a cluster-scoped kind", func() (*request.Request, error) { return request.List(nodes(), &request.ListOptions{}) }},
		{"list as protobuf", func() (*request.Request, error) { return request.List(protobuf(pods()), nil) }},
		{"list with selectors", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{LabelSelector: "app=web,tier in (a, b),!x", FieldSelector: "spec.nodeName=n1"})
		}},
		{"list a first page", func() (*request.Request, error) { return request.List(pods(), &request.ListOptions{Limit: 500}) }},
		{"list a next page", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{Limit: 500, Continue: "ey+/=="})
		}},
		{"list from any state", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{ResourceVersion: "0"})
		}},
		{"list a state at least as new", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{
				ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			})
		}},
		{"list one exact state", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{
				ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 1,
			})
		}},
		{"list a shard with a timeout", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{
				Timeout: 30 * time.Second, ShardSelector: "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
			})
		}},
		{"watch", func() (*request.Request, error) {
			return request.Watch(pods(), &request.WatchOptions{Timeout: time.Minute})
		}},
		{"watch as protobuf", func() (*request.Request, error) {
			return request.Watch(protobuf(pods()), &request.WatchOptions{Timeout: time.Minute})
		}},
		{"watch all namespaces from a version", func() (*request.Request, error) {
			return request.Watch(in(resource[corev1.Pod](), "", ""), &request.WatchOptions{Timeout: time.Minute, ResourceVersion: "7"})
		}},
		{"watch with selectors and without bookmarks", func() (*request.Request, error) {
			return request.Watch(pods(), &request.WatchOptions{
				Timeout: 90 * time.Second, LabelSelector: "a=b", FieldSelector: "metadata.name=x", NoBookmarks: true,
			})
		}},
		{"watch a shard", func() (*request.Request, error) {
			return request.Watch(pods(), &request.WatchOptions{
				Timeout: time.Minute, ShardSelector: "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
			})
		}},
		{"list without managed fields", func() (*request.Request, error) {
			return request.List(pods(), &request.ListOptions{OmitManagedFields: true})
		}},
		{"watch without managed fields", func() (*request.Request, error) {
			return request.Watch(protobuf(pods()), &request.WatchOptions{Timeout: time.Minute, OmitManagedFields: true})
		}},
		{"watch metadata without managed fields", func() (*request.Request, error) {
			t := pods()
			t.View = request.ViewMetadata
			return request.Watch(t, &request.WatchOptions{Timeout: time.Minute, OmitManagedFields: true})
		}},
		{"watch with initial events", func() (*request.Request, error) {
			return request.Watch(pods(), &request.WatchOptions{Timeout: time.Minute, SendInitialEvents: true})
		}},
		{"watch with initial events from a version", func() (*request.Request, error) {
			return request.Watch(pods(), &request.WatchOptions{Timeout: time.Minute, SendInitialEvents: true, ResourceVersion: "7"})
		}},
	}
}

func writes() []golden {
	configMap := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: named("c"), Data: map[string]string{"a": "<b>"}}
	}
	configMaps := in(resource[corev1.ConfigMap](), "prod", "")
	oneConfigMap := in(resource[corev1.ConfigMap](), "prod", "c")
	reviews := in(resource[authenticationv1.TokenReview](), "", "")
	return []golden{
		{"create", func() (*request.Request, error) { return request.Create(configMaps, configMap(), nil) }},
		{"create with every option", func() (*request.Request, error) {
			return request.Create(configMaps, configMap(), &request.CreateOptions{
				DryRun: true, FieldManager: "me & you", FieldValidation: metav1.FieldValidationStrict,
			})
		}},
		{"create as protobuf", func() (*request.Request, error) { return request.Create(protobuf(configMaps), configMap(), nil) }},
		{"create with a generated name", func() (*request.Request, error) {
			return request.Create(configMaps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-", Namespace: "prod"}}, nil)
		}},
		{"create an object that is not stored", func() (*request.Request, error) {
			return request.Create(reviews, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t"}}, nil)
		}},
		{"create an eviction", func() (*request.Request, error) {
			return request.Create(sub(pod(), "eviction"), &policyv1.Eviction{
				TypeMeta: metav1.TypeMeta{Kind: "Eviction", APIVersion: "policy/v1"}, ObjectMeta: named("web-0"),
			}, nil)
		}},
		{"create a token, which has no name", func() (*request.Request, error) {
			return request.Create(sub(in(resource[corev1.ServiceAccount](), "prod", "sa"), "token"), &authenticationv1.TokenRequest{
				TypeMeta: metav1.TypeMeta{Kind: "TokenRequest", APIVersion: "authentication.k8s.io/v1"},
			}, nil)
		}},
		{"update", func() (*request.Request, error) { return request.Update(oneConfigMap, configMap(), nil) }},
		{"update with every option", func() (*request.Request, error) {
			return request.Update(oneConfigMap, configMap(), &request.UpdateOptions{
				DryRun: true, FieldManager: "me", FieldValidation: metav1.FieldValidationIgnore,
			})
		}},
		{"update the status of an object of another kind", func() (*request.Request, error) {
			return request.Update(sub(node(), "status"), &corev1.Node{
				TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "old/v0"}, ObjectMeta: named("n1"),
			}, nil)
		}},
		{"update the scale", func() (*request.Request, error) {
			return request.Update(sub(deployment(), "scale"), &autoscalingv1.Scale{
				TypeMeta: metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"}, ObjectMeta: named("web"),
				Spec: autoscalingv1.ScaleSpec{Replicas: 3},
			}, nil)
		}},
		{"apply", func() (*request.Request, error) {
			return request.Apply(oneConfigMap, configMap(), &request.ApplyOptions{FieldManager: "me"})
		}},
		{"apply with every option", func() (*request.Request, error) {
			return request.Apply(oneConfigMap, configMap(), &request.ApplyOptions{FieldManager: "me", Force: true, DryRun: true})
		}},
		{"apply to a kind that is read as protobuf", func() (*request.Request, error) {
			return request.Apply(protobuf(oneConfigMap), configMap(), &request.ApplyOptions{FieldManager: "me"})
		}},
		{"apply an object whose status was never set", func() (*request.Request, error) {
			return request.Apply(node(), &corev1.Node{ObjectMeta: named("n1")}, &request.ApplyOptions{FieldManager: "me"})
		}},
		{"apply a status", func() (*request.Request, error) {
			return request.Apply(sub(node(), "status"), &corev1.Node{
				ObjectMeta: named("n1"), Status: corev1.NodeStatus{Phase: corev1.NodeRunning},
			}, &request.ApplyOptions{FieldManager: "me"})
		}},
	}
}

func patches() []golden {
	patch := func(p request.Patch, o *request.PatchOptions) func() (*request.Request, error) {
		return func() (*request.Request, error) { return request.PatchObject(pod(), p, o) }
	}
	return []golden{
		{"merge patch", patch(request.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": nil}}}), nil)},
		{"merge patch of bytes", patch(request.MergePatch([]byte(` {"a" : 1}`)), nil)},
		{"merge patch of a string", patch(request.MergePatch(`{"a":1}`), nil)},
		{"merge patch of raw JSON", patch(request.MergePatch(json.RawMessage(`{"a":1}`)), nil)},
		{"strategic merge patch", patch(request.StrategicMergePatch(map[string]int{"a": 1}), nil)},
		{"JSON patch", patch(request.JSONPatch(
			request.Op{Op: "test", Path: "/a", Value: json.RawMessage("null")},
			request.Op{Op: "add", Path: "/b", Value: false},
			request.Op{Op: "replace", Path: "", Value: map[string]any{"c": 0}},
			request.Op{Op: "remove", Path: "/metadata/labels/a~1b"},
			request.Op{Op: "move", From: "/d", Path: "/e"},
			request.Op{Op: "copy", From: "/e", Path: "/f"},
		), nil)},
		{"JSON patch without operations", patch(request.JSONPatch(), nil)},
		{"patch with every option", patch(request.MergePatch(`{}`), &request.PatchOptions{
			DryRun: true, FieldManager: "me", FieldValidation: metav1.FieldValidationWarn,
		})},
		{"patch a subresource", func() (*request.Request, error) {
			return request.PatchObject(sub(deployment(), "scale"), request.MergePatch(`{"spec":{"replicas":2}}`), nil)
		}},
	}
}

func deletes() []golden {
	return []golden{
		{"delete", func() (*request.Request, error) { return request.Delete(pod(), nil) }},
		{"delete with empty options", func() (*request.Request, error) { return request.Delete(pod(), &request.DeleteOptions{}) }},
		{"delete with every option", func() (*request.Request, error) {
			return request.Delete(pod(), &request.DeleteOptions{
				GracePeriod: new(30 * time.Second), Propagation: metav1.DeletePropagationForeground,
				UID: "u", ResourceVersion: "7", DryRun: true,
			})
		}},
		{"delete at once, in the background", func() (*request.Request, error) {
			return request.Delete(pod(), &request.DeleteOptions{
				GracePeriod: new(time.Duration(0)), Propagation: metav1.DeletePropagationBackground,
			})
		}},
		{"delete one object and orphan its dependents", func() (*request.Request, error) {
			return request.Delete(node(), &request.DeleteOptions{UID: "u", Propagation: metav1.DeletePropagationOrphan})
		}},
		{"delete an unreadable object", func() (*request.Request, error) {
			return request.Delete(pod(), &request.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: true})
		}},
		{"delete one version only", func() (*request.Request, error) {
			return request.Delete(pod(), &request.DeleteOptions{ResourceVersion: "7"})
		}},
		{"delete a collection", func() (*request.Request, error) { return request.DeleteCollection(pods(), nil, nil) }},
		{"delete the selected objects", func() (*request.Request, error) {
			return request.DeleteCollection(pods(), &request.DeleteOptions{DryRun: true}, &request.ListOptions{
				LabelSelector: "app=web", FieldSelector: "status.phase=Failed",
			})
		}},
		{"delete all of a cluster-scoped kind", func() (*request.Request, error) { return request.DeleteCollection(nodes(), nil, nil) }},
	}
}

// text returns the request as sent, without the address of the server.
func text(r *request.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URI())
	if r.Accept != "" {
		fmt.Fprintf(&b, "Accept: %s\n", r.Accept)
	}
	if r.ContentType != "" {
		fmt.Fprintf(&b, "Content-Type: %s\n", r.ContentType)
	}
	switch {
	case r.ContentType == wire.MediaTypeProtobuf:
		fmt.Fprintf(&b, "\n%q\n", r.Body)
	case r.Body != nil:
		fmt.Fprintf(&b, "\n%s\n", r.Body)
	}
	return b.String()
}

func TestRequestsMatchTheGoldenFiles(t *testing.T) {
	for file, tests := range map[string][]golden{
		"read": reads(), "write": writes(), "patch": patches(), "delete": deletes(), "subresource": subresources(), "view": views(),
	} {
		var got strings.Builder
		for _, tt := range tests {
			req, err := tt.req()
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			fmt.Fprintf(&got, "# %s (%s)\n%s\n", tt.name, req.Verb, text(req))
		}
		path := "testdata/" + file + ".txt"
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s; run with -update to accept the change (-want +got):\n%s", path, diff)
		}
	}
}

func TestDefaultTimeoutOfAWatchIsFiveToTenMinutes(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		req, err := request.Watch(pods(), nil)
		if err != nil {
			t.Fatal(err)
		}
		timeout, err := time.ParseDuration(req.Query.Get("timeoutSeconds") + "s")
		if err != nil || timeout < 5*time.Minute || timeout >= 10*time.Minute {
			t.Fatalf("timeout = %v, %v; want 5 to 10 minutes", timeout, err)
		}
		seen[req.Query.Get("timeoutSeconds")] = true
	}
	if len(seen) < 20 {
		t.Errorf("200 watches have only %d different timeouts", len(seen))
	}
}

func TestInvalidErrorStatesThatNothingWasSent(t *testing.T) {
	_, err := request.Get(pods(), nil)
	inv, ok := errors.AsType[*request.InvalidError](err)
	if !ok || inv.Field != "name" || err.Error() != "request not sent: name: is empty; name the object" {
		t.Errorf("Get without a name = %v", err)
	}
}
