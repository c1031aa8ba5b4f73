// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/runtime/webhook"
)

// toDelete is a review of a deletion.
func toDelete() string {
	return strings.Replace(strings.Replace(toAdmit, "CREATE", "DELETE", 1), `"object"`, `"oldObject"`, 1)
}

func TestTypedHandlers(t *testing.T) {
	quiet(t)
	fails := func(err error) http.Handler {
		return webhook.Validate(func(context.Context, *webhook.Request[corev1.Pod]) error { return err }, nil)
	}
	label := webhook.Mutate(func(_ context.Context, r *webhook.Request[corev1.Pod]) error {
		r.Object.Labels = map[string]string{"by": r.User.Name + "x"}
		r.Warn("%s has no label", r.Object.Name)
		return nil
	}, nil)
	notFound := &core.StatusError{Status: metav1.Status{
		Code: 404, Reason: metav1.StatusReasonNotFound, Message: "no quota",
	}}
	invalidPod := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a",
		field.ErrorList{field.Required(field.NewPath("spec", "x"), "")})
	for _, tt := range []struct {
		name    string
		handler http.Handler
		body    string
		want    string // in the response
	}{
		{"nil allows", fails(nil), toAdmit, `"allowed":true}`},
		{
			"an error denies", fails(errors.New("spec.x: must be set")), toAdmit,
			`"allowed":false,"status":{"metadata":{},"status":"Failure","message":"spec.x: must be set",` +
				`"reason":"Forbidden","code":403}`,
		},
		{
			"a StatusError is the response", fails(notFound), toAdmit, `"message":"no quota","reason":"NotFound","code":404}`,
		},
		{
			"an error of apimachinery is the response", fails(invalidPod), toAdmit, `"reason":"Invalid","details":{"name":"a",` +
				`"kind":"Pod","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec.x"}]},"code":422}`,
		},
		{
			"a wrapped error of apimachinery keeps its status", fails(fmt.Errorf("check: %w", invalidPod)), toAdmit,
			`"message":"check: Pod \"a\" is invalid: spec.x: Required value","reason":"Invalid"`,
		},
		{
			"the error of an own request is not the response", fails(fmt.Errorf("quota: %w", &client.OpError{
				Verb: "get", Err: notFound,
			})), toAdmit, `"reason":"InternalError","code":500}`,
		},
		{"the end of the context is an error", fails(context.Canceled), toAdmit, `"code":500}`},
		{"a change is a patch", label, toAdmit, `"allowed":true,"patch":"`},
		{"a warning is sent", label, toAdmit, `"warnings":["a has no label"]`},
		{"a deletion is not changed", label, toDelete(), `"allowed":true}`},
		{
			"another kind is refused", label,
			strings.Replace(toAdmit, `"kind":"Pod"},"resource"`, `"kind":"Job"},"resource"`, 1),
			`this path is for Pod of v1, but the request is for Job of v1: correct the path`,
		},
		{
			"another version is refused", label, strings.Replace(toAdmit, `"version":"v1"`, `"version":"v2"`, 1),
			`this path is for Pod of v1, but the request is for Pod of v2: correct the path`,
		},
		{
			"another group is refused", label, strings.Replace(toAdmit, `"group":""`, `"group":"example.com"`, 1),
			`this path is for Pod of v1, but the request is for Pod of example.com/v1: correct the path`,
		},
		{
			"an object that does not fit is refused", label, strings.Replace(toAdmit, `"name":"a"`, `"name":1`, 1),
			`"reason":"BadRequest","code":400}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := post(tt.handler, "application/json", tt.body)
			if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), tt.want) {
				t.Errorf("response = %d %s, want %s", got.Code, got.Body, tt.want)
			}
		})
	}
}

func TestTypedHandlersReceiveBothObjects(t *testing.T) {
	var seen []string
	h := webhook.Validate(func(_ context.Context, r *webhook.Request[corev1.Pod]) error {
		seen = append(seen, fmt.Sprintln(r.Operation, r.Object != nil, r.OldObject != nil))
		return nil
	}, nil)
	update := strings.Replace(strings.Replace(toAdmit, "CREATE", "UPDATE", 1), `"object"`,
		`"oldObject":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},"object"`, 1)
	for _, body := range []string{toAdmit, update, toDelete()} {
		post(h, "application/json", body)
	}
	if got := strings.Join(seen, ""); got != "CREATE true false\nUPDATE true true\nDELETE false true\n" {
		t.Errorf("the callback received %q", got)
	}
}

// TestBodiesOfSubresourcesHaveAKind checks that handlers of types that no resource has receive only requests for them.
func TestBodiesOfSubresourcesHaveAKind(t *testing.T) {
	quiet(t)
	review := func(group, kind string) string {
		return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1",`+
			`"kind":{"group":%q,"version":"v1","kind":%q},"operation":"CREATE","object":{"metadata":{"name":"web"}}}}`,
			group, kind)
	}
	for _, tt := range []struct {
		name, group string
		handler     http.Handler
	}{
		{name: "Eviction", group: "policy", handler: allowing[policyv1.Eviction]()},
		{name: "Scale", group: "autoscaling", handler: allowing[autoscalingv1.Scale]()},
		{name: "Scale", group: "autoscaling", handler: allowing[core.Scale]()},
	} {
		body := post(tt.handler, "application/json", review(tt.group, tt.name)).Body.String()
		if !strings.Contains(body, `"allowed":true`) {
			t.Errorf("the response to %s is %s", tt.name, body)
		}
		body = post(tt.handler, "application/json", review("", "Pod")).Body.String()
		if !strings.Contains(body, `"code":400`) {
			t.Errorf("the response of the handler of %s to a Pod is %s", tt.name, body)
		}
	}
}

// TestAHandlerOfAnUnknownKindIsAnError checks that a server refuses it, and that it denies requests without a server.
func TestAHandlerOfAnUnknownKindIsAnError(t *testing.T) {
	quiet(t)
	type own struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	for name, h := range map[string]http.Handler{
		"own": allowing[own](), "TokenRequest": allowing[authenticationv1.TokenRequest](),
	} {
		s := webhook.NewServer(nil, &webhook.Options{CertDir: t.TempDir()})
		s.Handle("/x", h)
		err := s.Run(t.Context())
		for _, want := range []string{`the handler of the path "/x" is invalid`, name, "KubeResource() core.Resource"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Run = %v, want an error with %q", err, want)
			}
		}
		body := post(h, "application/json", toAdmit).Body.String()
		if !strings.Contains(body, `"code":500`) || !strings.Contains(body, "KubeResource") {
			t.Errorf("the response is %s", body)
		}
	}
}

func allowing[K any, P core.ObjectPtr[K]]() http.Handler {
	return webhook.Validate[K, P](func(context.Context, *webhook.Request[K]) error { return nil }, nil)
}

func TestTypedHandlersOfAnyKind(t *testing.T) {
	h := webhook.Validate(func(_ context.Context, r *webhook.Request[unstructured.Unstructured]) error {
		return errors.New("kind " + r.Object.GetKind())
	}, nil)
	if got := post(h, "application/json", toAdmit).Body.String(); !strings.Contains(got, "kind Pod") {
		t.Error(got)
	}
}

func ExampleValidate() {
	h := webhook.Validate(func(_ context.Context, r *webhook.Request[corev1.Pod]) error {
		if r.Operation == admission.Create && r.Object.Labels["team"] == "" {
			return errors.New("metadata.labels.team: set it to the team that runs the pod")
		}
		return nil
	}, nil)
	w := post(h, "application/json", toAdmit)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "set it to the team"))
	// Output:
	// 200 true
}

func ExampleMutate() {
	h := webhook.Mutate(func(_ context.Context, r *webhook.Request[corev1.Pod]) error {
		r.Object.Spec.PriorityClassName = "low"
		return nil
	}, nil)
	w := post(h, "application/json", toAdmit)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), `"patchType":"JSONPatch"`))
	// Output:
	// 200 true
}
