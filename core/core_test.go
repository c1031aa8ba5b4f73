// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
)

// widget is a kind with a valid method KubeResource.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*widget) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
}

// gadget is a kind with an invalid method KubeResource.
type gadget struct{ widget }

func (*gadget) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1/x", Kind: "Gadget"}
}

// plain is a type without a known resource.
type plain struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

// leanPod is a built-in kind that declares few fields.
type leanPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*leanPod) KubeResource() core.Resource {
	res, _ := core.ResourceOf[corev1.Pod]()
	return res
}

func TestResourceOfFindsTheResourceOfAType(t *testing.T) {
	pod := core.Resource{
		Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true, Singular: "pod",
		ShortNames: []string{"po"}, Categories: []string{"all"},
		Verbs:        []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		Subresources: []string{"attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize", "status"},
	}
	role, _ := core.ResourceOf[rbacv1.ClusterRole]()
	tests := []struct {
		name string
		got  func() (core.Resource, error)
		want core.Resource
	}{
		{"a kind of k8s.io/api", core.ResourceOf[corev1.Pod], pod},
		{"a kind whose group is not its package", func() (core.Resource, error) { return role, nil }, core.Resource{
			Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Plural: "clusterroles", Singular: "clusterrole",
			Verbs: pod.Verbs,
		}},
		{"a kind with a method KubeResource", core.ResourceOf[widget], (*widget)(nil).KubeResource()},
		{"a struct with few fields", core.ResourceOf[leanPod], pod},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.got()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceOfFailsForUnknownKinds(t *testing.T) {
	tests := []struct {
		name string
		got  func() (core.Resource, error)
		typ  string // of the UnknownKindError
		want string
	}{
		{"an unknown type", core.ResourceOf[plain], "core_test.plain", "give it a method KubeResource()"},
		{"a type that can be of any kind", core.ResourceOf[unstructured.Unstructured], "unstructured.Unstructured", "name the resource explicitly"},
		{"the metadata of any kind", core.ResourceOf[metav1.PartialObjectMetadata], "v1.PartialObjectMetadata", "name the resource explicitly"},
		{"the body of a subresource", core.ResourceOf[policyv1.Eviction], "v1.Eviction", "has no resource of its own: it is the body of pods/eviction"},
		{"the body of many subresources", core.ResourceOf[autoscalingv1.Scale], "v1.Scale", "body of the subresource scale"},
		{"an invalid method KubeResource", core.ResourceOf[gadget], "", `KubeResource: resource: Version "v1/x" can't be part of a URL`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.got()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("ResourceOf = %v, want an error with %q", err, tt.want)
			}
			unknown, ok := errors.AsType[*core.UnknownKindError](err)
			if ok != (tt.typ != "") || ok && unknown.Type != tt.typ {
				t.Errorf("ResourceOf = %v, want an UnknownKindError of %q", err, tt.typ)
			}
		})
	}
}

// Callers may change the resource that they receive.
func TestResourceOfObjectIsResourceOfItsType(t *testing.T) {
	want, err := core.ResourceOf[corev1.Pod]()
	if err != nil {
		t.Fatal(err)
	}
	stated := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	for _, obj := range []core.Object{&corev1.Pod{}, stated, (*corev1.Pod)(nil)} {
		got, err := core.ResourceOfObject(obj)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ResourceOfObject(%T) = %v (-want +got):\n%s", obj, err, diff)
		}
	}
	got, err := core.ResourceOfObject(&plain{})
	if unknown, ok := errors.AsType[*core.UnknownKindError](err); !ok || unknown.Type != "core_test.plain" || got.String() != unknown.Type {
		t.Errorf("ResourceOfObject() = %v, %v; want an UnknownKindError that names the type", got, err)
	}
	if _, err := core.ResourceOfObject(nil); err == nil {
		t.Error("ResourceOfObject(nil) returned no error")
	}
}

func TestResourceOfReturnsACopy(t *testing.T) {
	first, err := core.ResourceOf[corev1.Pod]()
	if err != nil {
		t.Fatal(err)
	}
	first.Verbs[0], first.ShortNames[0] = "x", "x"
	second, err := core.ResourceOf[corev1.Pod]()
	if err != nil || second.Verbs[0] != "create" || second.ShortNames[0] != "po" {
		t.Errorf("ResourceOf = %v, %v after another copy was changed", second, err)
	}
}

func TestResourceMethodsReturnItsNames(t *testing.T) {
	pod := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods"}
	deployment := core.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments"}
	for _, tt := range []struct {
		res                              core.Resource
		apiVersion, name, gvkText, gvrIs string
	}{
		{pod, "v1", "pods", "/v1, Kind=Pod", "/v1, Resource=pods"},
		{deployment, "apps/v1", "deployments.apps", "apps/v1, Kind=Deployment", "apps/v1, Resource=deployments"},
	} {
		if got := tt.res.APIVersion(); got != tt.apiVersion {
			t.Errorf("APIVersion() = %q, want %q", got, tt.apiVersion)
		}
		if got := tt.res.String(); got != tt.name {
			t.Errorf("String() = %q, want %q", got, tt.name)
		}
		if got := tt.res.GroupVersionKind().String(); got != tt.gvkText {
			t.Errorf("GroupVersionKind() = %q, want %q", got, tt.gvkText)
		}
		if got := tt.res.GroupVersionResource().String(); got != tt.gvrIs {
			t.Errorf("GroupVersionResource() = %q, want %q", got, tt.gvrIs)
		}
	}
}

func TestValidateReportsEveryInvalidField(t *testing.T) {
	tests := []struct {
		name string
		in   core.Resource
		want []string // parts of the error; nil: valid
	}{
		{"the core group", core.Resource{Version: "v1", Kind: "Pod", Plural: "pods"}, nil},
		{"another group", core.Resource{Group: "a.example.com", Version: "v1beta1", Kind: "A", Plural: "as"}, nil},
		{"the zero value", core.Resource{}, []string{"Version is empty", "Kind is empty", "Plural is empty"}},
		{"segments that change the path", core.Resource{Group: "..", Version: ".", Kind: "K", Plural: "a/b"}, []string{`Group ".."`, `Version "."`, `Plural "a/b"`}},
		{"a query", core.Resource{Group: "g?x", Version: "v1#y", Kind: "K", Plural: "a%2fb"}, []string{`Group "g?x"`, `Version "v1#y"`, `Plural "a%2fb"`}},
		{"a line break", core.Resource{Version: "v1", Kind: "K", Plural: "a\r\nb"}, []string{`Plural "a\r\nb"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.in.Validate()
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("Validate() = %v, want %q", err, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate() = %v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestObjectRefIsParsedFromItsString(t *testing.T) {
	for text, ref := range map[string]core.ObjectRef{
		"prod/web": {Namespace: "prod", Name: "web"},
		"web":      {Name: "web"},
		"":         {},
		"prod/":    {Namespace: "prod"},
	} {
		if got := ref.String(); got != text {
			t.Errorf("%#v.String() = %q, want %q", ref, got, text)
		}
		if got := core.ParseObjectRef(text); got != ref {
			t.Errorf("ParseObjectRef(%q) = %#v, want %#v", text, got, ref)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}}
	if got, want := core.RefOf(pod), (core.ObjectRef{Namespace: "prod", Name: "web"}); got != want {
		t.Errorf("RefOf = %v, want %v", got, want)
	}
}

// FuzzObjectRef checks that a reference whose names have no slash is parsed from its string, and that a text with a
// namespace is the string of its reference.
func FuzzObjectRef(f *testing.F) {
	for _, text := range []string{"prod/web", "web", "", "/", "prod/", "/web", "prod/web/0", "//", "system:node/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref := core.ParseObjectRef(text)
		if strings.Contains(ref.Namespace, "/") || len(ref.Namespace)+len(ref.Name) > len(text) {
			t.Fatalf("ParseObjectRef(%q) = %#v", text, ref)
		}
		if ref.Namespace == "" && strings.Contains(ref.Name, "/") { // such as "/a/b", which no object has
			return
		}
		if got := ref.String(); got != text && got != strings.TrimPrefix(text, "/") {
			t.Errorf("ParseObjectRef(%q).String() = %q", text, got)
		}
		if again := core.ParseObjectRef(ref.String()); again != ref {
			t.Errorf("ParseObjectRef(%q) = %#v, want %#v", ref.String(), again, ref)
		}
	})
}

func TestInitialEventsEndReadsTheAnnotation(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "": false} {
		pod := &corev1.Pod{}
		pod.Annotations = map[string]string{"k8s.io/initial-events-end": value}
		if got := core.InitialEventsEnd(pod); got != want {
			t.Errorf("InitialEventsEnd with %q = %t, want %t", value, got, want)
		}
	}
	if core.InitialEventsEnd(&corev1.Pod{}) {
		t.Error("InitialEventsEnd = true for an object without annotations")
	}
}
