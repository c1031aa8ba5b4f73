// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// lean is a kind without protobuf tags that has a field which can't be encoded.
type lean struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Func func() `json:"func,omitempty"`
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	get := func(t request.Target) error { _, err := request.Get(t, nil); return err }
	list := func(t request.Target, o request.ListOptions) error { _, err := request.List(t, &o); return err }
	watch := func(o request.WatchOptions) error { _, err := request.Watch(pods(), &o); return err }
	create := func(t request.Target, obj core.Object, o request.CreateOptions) error {
		_, err := request.Create(t, obj, &o)
		return err
	}
	update := func(t request.Target, obj core.Object) error { _, err := request.Update(t, obj, nil); return err }
	apply := func(t request.Target, obj core.Object, o *request.ApplyOptions) error {
		_, err := request.Apply(t, obj, o)
		return err
	}
	patch := func(p request.Patch) error { _, err := request.PatchObject(pod(), p, nil); return err }
	remove := func(o request.DeleteOptions) error { _, err := request.Delete(pod(), &o); return err }
	me := &request.ApplyOptions{FieldManager: "me"}
	aPod := func(meta metav1.ObjectMeta) *corev1.Pod { return &corev1.Pod{ObjectMeta: meta} }
	res := func(change func(*core.Resource)) request.Target {
		t := pod()
		change(&t.Resource)
		return t
	}

	checkRefusals(t, []refusal{
		{"no name", get(pods()), "name", "is empty"},
		{"no namespace", get(in(resource[corev1.Pod](), "", "a")), "namespace", "pods live in namespaces"},
		{"a namespace for a cluster-scoped kind", get(in(resource[corev1.Node](), "prod", "a")), "namespace", "nodes are cluster-scoped"},
		{"the name ..", get(in(resource[corev1.Node](), "", "..")), "name", "can't be a path segment"},
		{"the name .", get(in(resource[corev1.Node](), "", ".")), "name", "can't be a path segment"},
		{"a name of two segments", get(in(resource[corev1.Node](), "", "a/b")), "name", "can't be a path segment"},
		{"a name that looks escaped", get(in(resource[corev1.Node](), "", "a%2fb")), "name", "can't be a path segment"},
		{"the namespace ..", get(in(resource[corev1.Pod](), "..", "a")), "namespace", "can't be a path segment"},
		{"a namespace of two segments", list(in(resource[corev1.Pod](), "a/b", ""), request.ListOptions{}), "namespace", "can't be a path segment"},
		{"a subresource with ..", get(sub(pod(), "../x")), "subresource", "can't be part of a URL"},
		{"a subresource with an empty segment", get(sub(pod(), "proxy//x")), "subresource", "can't be part of a URL"},
		{"a subresource that must be escaped", get(sub(pod(), "a?b")), "subresource", "can't be part of a URL"},
		{"a resource without a version", get(res(func(r *core.Resource) { r.Version = "" })), "resource", "Version is empty"},
		{"a resource without a plural", get(res(func(r *core.Resource) { r.Plural = "" })), "resource", "Plural is empty"},
		{"the group ..", get(res(func(r *core.Resource) { r.Group = ".." })), "resource", `Group ".."`},

		{"a create of an object that was read", create(pods(), aPod(metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}), request.CreateOptions{}), "metadata.resourceVersion", "clear it, or use an update"},
		{"a list of a named object", list(pod(), request.ListOptions{}), "name", "field selector metadata.name=web-0"},
		{"a negative limit", list(pods(), request.ListOptions{Limit: -1}), "ListOptions.Limit", "-1 is negative"},
		{"a token with a version", list(pods(), request.ListOptions{Continue: "c", ResourceVersion: "1"}), "ListOptions.Continue", "the token has the version"},
		{"a token with a match", list(pods(), request.ListOptions{Continue: "c", ResourceVersionMatch: metav1.ResourceVersionMatchExact}), "ListOptions.Continue", "can't be combined with ResourceVersion"},
		{"a match without a version", list(pods(), request.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact}), "ListOptions.ResourceVersionMatch", "needs a ResourceVersion"},
		{"an exact match of any version", list(pods(), request.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchExact}), "ListOptions.ResourceVersionMatch", "other than 0"},
		{"an unknown match", list(pods(), request.ListOptions{ResourceVersion: "1", ResourceVersionMatch: "x"}), "ListOptions.ResourceVersionMatch", `"x" is not valid`},
		{"an invalid label selector", list(pods(), request.ListOptions{LabelSelector: "app===web"}), "ListOptions.LabelSelector", "is not a valid label selector"},
		{"a field selector without a value", list(pods(), request.ListOptions{FieldSelector: "metadata.name"}), "ListOptions.FieldSelector", "is not a valid field selector"},
		{"a watch with an invalid label selector", watch(request.WatchOptions{LabelSelector: "app in web"}), "WatchOptions.LabelSelector", "is not a valid label selector"},
		{"a list with an invalid shard selector", list(pods(), request.ListOptions{ShardSelector: "shardRange(uid)"}), "ListOptions.ShardSelector", "is not of the form"},
		{"a watch with an invalid shard selector", watch(request.WatchOptions{ShardSelector: "shardRange(uid)"}), "WatchOptions.ShardSelector", "is not of the form"},
		{"a list with a timeout of a fraction of a second", list(pods(), request.ListOptions{Timeout: time.Millisecond}), "ListOptions.Timeout", "1ms"},
		{"a watch of a named object", func() error { _, err := request.Watch(pod(), nil); return err }(), "name", "whole collection"},
		{"a negative timeout", watch(request.WatchOptions{Timeout: -time.Second}), "WatchOptions.Timeout", "-1s"},
		{"a timeout of a fraction of a second", watch(request.WatchOptions{Timeout: time.Millisecond}), "WatchOptions.Timeout", "1ms"},
		{"initial events without bookmarks", watch(request.WatchOptions{SendInitialEvents: true, NoBookmarks: true}), "WatchOptions.SendInitialEvents", "needs bookmarks"},

		{"a create of a named target", create(pod(), aPod(named("web-0")), request.CreateOptions{}), "name", "whole collection"},
		{"a create in all namespaces", create(in(resource[corev1.Pod](), "", ""), aPod(named("a")), request.CreateOptions{}), "namespace", "name one"},
		{"an object of another namespace", create(pods(), aPod(metav1.ObjectMeta{Name: "a", Namespace: "test"}), request.CreateOptions{}), "metadata.namespace", `is "test"`},
		{"an object of another name", update(pod(), aPod(named("a"))), "metadata.name", `is "a", but the request goes to "web-0"`},
		{"an object without a name", update(pod(), aPod(metav1.ObjectMeta{})), "metadata.name", `is ""`},
		{"a body of another name", update(sub(pod(), "status"), aPod(named("a"))), "metadata.name", `is "a"`},
		{"an update of a collection", update(pods(), aPod(named("a"))), "name", "is empty"},
		{"a field manager that is too long", create(pods(), aPod(named("a")), request.CreateOptions{FieldManager: strings.Repeat("m", 129)}), "CreateOptions.FieldManager", "at most 128"},
		{"a field manager with unprintable characters", create(pods(), aPod(named("a")), request.CreateOptions{FieldManager: "a\n"}), "CreateOptions.FieldManager", "printable"},
		{"an unknown field validation", create(pods(), aPod(named("a")), request.CreateOptions{FieldValidation: "x"}), "CreateOptions.FieldValidation", `"x" is not valid`},
		{"an update with an unknown field validation", func() error {
			_, err := request.Update(pod(), aPod(named("web-0")), &request.UpdateOptions{FieldValidation: "x"})
			return err
		}(), "UpdateOptions.FieldValidation", `"x"`},

		{"an apply without options", apply(pod(), aPod(named("web-0")), nil), "ApplyOptions.FieldManager", "is empty"},
		{"an apply without a field manager", apply(pod(), aPod(named("web-0")), &request.ApplyOptions{}), "ApplyOptions.FieldManager", "is empty"},
		{"an apply with an unprintable field manager", apply(pod(), aPod(named("web-0")), &request.ApplyOptions{FieldManager: "\t"}), "ApplyOptions.FieldManager", "printable"},
		{"an apply of an object from a cache", apply(pod(), aPod(metav1.ObjectMeta{Name: "web-0", CreationTimestamp: metav1.Now()}), me), "metadata.creationTimestamp", "build the object anew"},
		{"an apply of an object with managed fields", apply(pod(), aPod(metav1.ObjectMeta{Name: "web-0", ManagedFields: []metav1.ManagedFieldsEntry{{}}}), me), "metadata.managedFields", "must be empty"},
		{"an apply of an ambiguous zero value", apply(pod(), &batchv1.CronJob{ObjectMeta: named("web-0"), Spec: batchv1.CronJobSpec{Suspend: new(true)}}, me), "spec.schedule", "ApplyOptions.SendZeroValues"},
		{"an apply of another name", apply(pod(), aPod(named("a")), me), "metadata.name", `is "a"`},
		{"an apply to a collection", apply(pods(), aPod(named("a")), me), "name", "is empty"},

		{"a patch of a collection", func() error { _, err := request.PatchObject(pods(), request.MergePatch(`{}`), nil); return err }(), "name", "is empty"},
		{"no patch", patch(request.Patch{}), "patch", "is empty"},
		{"a merge patch of nil", patch(request.MergePatch(nil)), "patch", "is empty"},
		{"a merge patch of an empty byte slice", patch(request.MergePatch([]byte{})), "patch", "must be a JSON object"},
		{"a merge patch that is a list", patch(request.MergePatch([]int{1})), "patch", "must be a JSON object"},
		{"a merge patch of operations", patch(request.MergePatch([]request.Op{{Op: "remove", Path: "/a"}})), "patch", "must be a JSON object"},
		{"a merge patch that is null", patch(request.MergePatch(map[string]any(nil))), "patch", "must be a JSON object"},
		{"a merge patch in YAML", patch(request.StrategicMergePatch("a: 1")), "patch", "must be a JSON object"},
		{"a merge patch that can't be encoded", patch(request.MergePatch(func() {})), "patch", "func()"},
		{"a value that can't be encoded", patch(request.JSONPatch(request.Op{Op: "add", Path: "/a", Value: func() {}})), "patch", "func()"},
		{"an unknown operation", patch(request.JSONPatch(request.Op{Op: "remove", Path: "/a"}, request.Op{Op: "set", Path: "/a"})), "patch operation 1", `"set" is not valid`},
		{"an operation without a value", patch(request.JSONPatch(request.Op{Op: "add", Path: "/a"})), "patch operation 0", "needs a Value"},
		{"a path with dots", patch(request.JSONPatch(request.Op{Op: "remove", Path: "a.b"})), "patch operation 0", `Path "a.b" is not a JSON pointer`},
		{"an operation with an unused value", patch(request.JSONPatch(request.Op{Op: "remove", Path: "/a", Value: 1})), "patch operation 0", "remove does not use Value"},
		{"a move with a value", patch(request.JSONPatch(request.Op{Op: "move", From: "/b", Path: "/a", Value: 1})), "patch operation 0", "move does not use Value"},
		{"an operation with an unused origin", patch(request.JSONPatch(request.Op{Op: "add", From: "/b", Path: "/a", Value: 1})), "patch operation 0", "add does not use From"},
		{"an origin with dots", patch(request.JSONPatch(request.Op{Op: "move", From: "a.b", Path: "/a"})), "patch operation 0", `From "a.b" is not a JSON pointer`},
		{"a patch with an unknown field validation", func() error {
			_, err := request.PatchObject(pod(), request.MergePatch(`{}`), &request.PatchOptions{FieldValidation: "x"})
			return err
		}(), "PatchOptions.FieldValidation", `"x"`},

		{"a delete of a collection", func() error { _, err := request.Delete(pods(), nil); return err }(), "name", "is empty"},
		{"a negative grace period", remove(request.DeleteOptions{GracePeriod: new(-time.Second)}), "DeleteOptions.GracePeriod", "-1s"},
		{"a grace period with a fraction of a second", remove(request.DeleteOptions{GracePeriod: new(1500 * time.Millisecond)}), "DeleteOptions.GracePeriod", "1.5s"},
		{"an unknown propagation", remove(request.DeleteOptions{Propagation: "x"}), "DeleteOptions.Propagation", `"x" is not valid`},
		{"a delete of a collection by name", func() error { _, err := request.DeleteCollection(pod(), nil, nil); return err }(), "name", "whole collection"},
		{"a delete of a collection in all namespaces", func() error {
			_, err := request.DeleteCollection(in(resource[corev1.Pod](), "", ""), nil, nil)
			return err
		}(), "namespace", "name one"},
		{"a delete of a shard", func() error {
			shard, _ := core.ShardOf(0, 2)
			_, err := request.DeleteCollection(pods(), nil, &request.ListOptions{ShardSelector: shard.String()})
			return err
		}(), "ListOptions.ShardSelector", "one by one"},
		{"a delete without managed fields", func() error {
			_, err := request.DeleteCollection(pods(), nil, &request.ListOptions{OmitManagedFields: true})
			return err
		}(), "ListOptions.OmitManagedFields", "not for deletions"},
		{"a delete of the first page", func() error {
			_, err := request.DeleteCollection(pods(), nil, &request.ListOptions{Limit: 500})
			return err
		}(), "ListOptions.Limit", "remove them"},
		{"a delete of a further page", func() error {
			_, err := request.DeleteCollection(pods(), nil, &request.ListOptions{Continue: "token"})
			return err
		}(), "ListOptions.Limit", "remove them"},
		{"a delete of a collection for one UID", func() error {
			_, err := request.DeleteCollection(pods(), &request.DeleteOptions{UID: "u"}, nil)
			return err
		}(), "DeleteOptions.UID", "not for a collection"},
		{"a delete of an unreadable collection", func() error {
			_, err := request.DeleteCollection(pods(), &request.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: true}, nil)
			return err
		}(), "DeleteOptions.IgnoreStoreReadErrorWithClusterBreakingPotential", "one by one"},
		{"a delete of one version of an unreadable object", remove(request.DeleteOptions{
			IgnoreStoreReadErrorWithClusterBreakingPotential: true, ResourceVersion: "7",
		}), "DeleteOptions.IgnoreStoreReadErrorWithClusterBreakingPotential", "can't be combined with"},
		{"a delete of a collection with invalid list options", func() error {
			_, err := request.DeleteCollection(pods(), nil, &request.ListOptions{Timeout: -1})
			return err
		}(), "ListOptions.Timeout", "-1ns"},
	})
}

// refusal is the expected error of an invalid request.
type refusal struct {
	name  string
	err   error
	field string
	want  string
}

func checkRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv, ok := errors.AsType[*request.InvalidError](tt.err)
			if !ok || inv.Field != tt.field || !strings.Contains(inv.Detail, tt.want) {
				t.Errorf("got %v, want an InvalidError of %s with %q", tt.err, tt.field, tt.want)
			}
		})
	}
}

// TestExportedFilesCanBeApplied checks that an unstructured object with a creation timestamp, such as one of a backup, is
// not taken for one that was read in order to be changed.
func TestExportedFilesCanBeApplied(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "web-0", "namespace": "prod", "creationTimestamp": "2026-01-02T03:04:05Z"},
	}}
	if _, err := request.Apply(pod(), obj, &request.ApplyOptions{FieldManager: "me"}); err != nil {
		t.Error(err)
	}
}

func TestObjectThatCannotBeEncodedIsRejected(t *testing.T) {
	bad := &lean{ObjectMeta: named("web-0"), Func: func() {}}
	if _, err := request.Update(pod(), bad, nil); err == nil || !strings.Contains(err.Error(), "encode Pod") {
		t.Errorf("Update = %v, want an error of the encoding", err)
	}
	if _, err := request.Apply(pod(), bad, &request.ApplyOptions{FieldManager: "me"}); err == nil {
		t.Error("Apply of an object that can't be encoded returned no error")
	}
	if _, err := request.Update(protobuf(pod()), &lean{ObjectMeta: named("web-0")}, nil); err == nil || !strings.Contains(err.Error(), "no protobuf field number") {
		t.Errorf("Update as protobuf = %v, want an error about the missing tags", err)
	}
}

// The server must see the same path segments, whatever the name and the namespace contain.
func FuzzTargetPath(f *testing.F) {
	for _, s := range []string{"web", "..", ".", "a/b", "a%2fb", "%2e%2e", "a b", "a?b=c", "a#b", "é", "\x00", "a;b", "a\\b", "//", "a:b"} {
		f.Add(s, "web")
		f.Add("prod", s)
	}
	f.Fuzz(func(t *testing.T, namespace, name string) {
		if namespace == "" || name == "" {
			return
		}
		for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
			target := in(resource[corev1.Pod](), namespace, name)
			target.Encoding = encoding
			req, err := request.Get(target, nil)
			if err != nil {
				continue
			}
			u, err := url.ParseRequestURI(req.URI())
			if err != nil {
				t.Fatalf("%q is not a request URI: %v", req.URI(), err)
			}
			segments := strings.Split(u.EscapedPath(), "/")
			if len(segments) != 7 || u.RawQuery != "" || u.Fragment != "" {
				t.Fatalf("%q has %d segments, want 7", req.URI(), len(segments))
			}
			for i, want := range map[int]string{1: "api", 2: "v1", 3: "namespaces", 4: namespace, 5: "pods", 6: name} {
				if got, err := url.PathUnescape(segments[i]); err != nil || got != want {
					t.Errorf("%q: segment %d is %q, want %q", req.URI(), i, got, want)
				}
			}
			if cleaned := u.JoinPath().Path; cleaned != u.Path {
				t.Errorf("%q: a proxy would make it %q", u.Path, cleaned)
			}
		}
	})
}
