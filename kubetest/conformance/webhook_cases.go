// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

func (c *webhookCase) configMaps() *client.API[corev1.ConfigMap] {
	return client.Namespaced[corev1.ConfigMap](c.c, c.ns)
}

// equal reports a difference.
func (c *webhookCase) equal(what string, got, want any) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// denied reports it unless an error is that of a denial.
func (c *webhookCase) denied(err error, code int32, message string) {
	c.Helper()
	status, ok := errors.AsType[*core.StatusError](err)
	if !ok || status.Status.Code != code || !strings.Contains(status.Status.Message, message) {
		c.Errorf("the error is %v, want code %d and %q", err, code, message)
	}
}

func testMutateNew(c *webhookCase) {
	hook := c.mutating(wanted{resource: "v1:configmaps", respond: annotate()})[0]
	cm := configMap("blue")
	cm.Name, cm.GenerateName = "", "a-"
	got, err := c.configMaps().Create(c.Context(), cm, &request.CreateOptions{FieldManager: "test"})
	if err != nil {
		c.Fatal(err)
	}
	c.equal("annotations", got.Annotations, map[string]string{"by": "webhook"})
	for _, m := range got.ManagedFields {
		if strings.Contains(m.FieldsV1.GetRawString(), "f:by") {
			c.Errorf("%s manages the field that the webhook has set", m.Manager)
		}
	}
	r := hook.last(c.T, "")
	var options metav1.CreateOptions
	if err := json.Unmarshal(r.Options.Raw, &options); err != nil {
		c.Fatal(err)
	}
	obj := objectOf(r)
	c.equal("the review", map[string]any{
		"operation": r.Operation, "kind": r.Kind, "resource": r.Resource, "namespace": r.Namespace, "dryRun": *r.DryRun,
		"manager": options.FieldManager, "options": options.Kind, "old": string(r.OldObject.Raw),
		"uid": string(obj.GetUID()), "created": obj.GetCreationTimestamp() == metav1.Time{}, "prefix": obj.GetGenerateName(),
		"managed": len(obj.GetManagedFields()), "requested": *r.RequestKind,
	}, map[string]any{
		"operation": admissionv1.Create, "kind": metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		"resource":  metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		"namespace": c.ns, "dryRun": false, "manager": "test", "options": "CreateOptions", "old": "",
		"uid": "", "created": true, "prefix": "a-", "managed": 1,
		"requested": metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	})
}

func testMutateUpdate(c *webhookCase) {
	if _, err := c.configMaps().Create(c.Context(), configMap("blue"), nil); err != nil {
		c.Fatal(err)
	}
	hook := c.mutating(wanted{resource: "v1:configmaps", respond: annotate()})[0]
	got, err := c.configMaps().Modify(c.Context(), "a", func(cm *corev1.ConfigMap) error {
		cm.Data["color"] = "red"
		return nil
	}, nil)
	if err != nil {
		c.Fatal(err)
	}
	c.equal("annotations", got.Annotations, map[string]string{"by": "webhook"})
	r := hook.last(c.T, "a")
	color, _, _ := unstructured.NestedString(decoded(r.OldObject.Raw).Object, "data", "color")
	c.equal("the old color", color, "blue")
	c.equal("the operation", r.Operation, admissionv1.Update)

	applied, err := c.configMaps().Apply(c.Context(), configMap("green"), &request.ApplyOptions{
		FieldManager: "test", Force: true,
	})
	if err != nil {
		c.Fatal(err)
	}
	c.equal("the applied color", applied.Data["color"], "green")
	same, err := c.configMaps().Patch(c.Context(), "a", request.MergePatch(`{}`), nil)
	if err != nil {
		c.Fatal(err)
	}
	c.equal("the version after a patch without effect", same.ResourceVersion, applied.ResourceVersion)
}

func testValidate(c *webhookCase) {
	c.mutating(wanted{resource: "v1:configmaps", respond: annotate()})
	hook := c.validating(wanted{resource: "v1:configmaps", respond: allow})[0]
	cm := configMap("blue")
	cm.Name, cm.GenerateName = "", "a-"
	got, err := c.configMaps().Create(c.Context(), cm, nil)
	if err != nil {
		c.Fatal(err)
	}
	obj := objectOf(hook.last(c.T, got.Name))
	c.equal("the reviewed object", []any{obj.GetUID(), obj.GetName(), obj.GetAnnotations()},
		[]any{got.UID, got.Name, map[string]string{"by": "webhook"}})
}

func testDeny(c *webhookCase) {
	hook := c.validating(wanted{
		resource: "v1:configmaps",
		respond: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			color, _, _ := unstructured.NestedString(objectOf(r).Object, "data", "color")
			resp := &admissionv1.AdmissionResponse{Allowed: color == "blue", Warnings: []string{"reviewed " + color}}
			switch color {
			case "red":
				resp.Result = &metav1.Status{Message: "data.color: must not be red", Code: http.StatusForbidden}
			case "green":
				resp.Result = &metav1.Status{Reason: metav1.StatusReasonConflict, Code: http.StatusConflict}
			}
			return resp
		},
	})[0]
	if _, err := c.configMaps().Create(c.Context(), configMap("blue"), nil); err != nil {
		c.Fatal(err)
	}
	const by = `admission webhook "validating0.example.com" denied the request`
	for color, want := range map[string]struct {
		code int32
		text string
	}{
		"red":    {http.StatusForbidden, by + ": data.color: must not be red"},
		"green":  {http.StatusConflict, by + ": Conflict"},
		"yellow": {http.StatusBadRequest, by + " without explanation"},
	} {
		_, err := c.configMaps().Patch(c.Context(), "a", request.MergePatch(`{"data":{"color":"`+color+`"}}`), nil)
		c.denied(err, want.code, want.text)
	}
	got, err := c.configMaps().Get(c.Context(), "a", nil)
	if err != nil || got.Data["color"] != "blue" {
		c.Errorf("the object is %v, %v, want the color blue", got, err)
	}
	if n := len(hook.names()); n < 4 {
		c.Errorf("the webhook has received %d reviews, want at least 4", n)
	}
}

func testReviewDelete(c *webhookCase) {
	hook := c.validating(wanted{
		resource: "v1:configmaps",
		respond: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			old := decoded(r.OldObject.Raw)
			return &admissionv1.AdmissionResponse{Allowed: r.Operation != admissionv1.Delete || old.GetName() != "kept"}
		},
	})[0]
	for _, name := range []string{"kept", "other"} {
		cm := configMap("blue")
		cm.Name, cm.Labels = name, map[string]string{"of": "case"}
		if _, err := c.configMaps().Create(c.Context(), cm, nil); err != nil {
			c.Fatal(err)
		}
	}
	o := &request.DeleteOptions{Propagation: metav1.DeletePropagationForeground}
	c.denied(c.configMaps().Delete(c.Context(), "kept", o), http.StatusBadRequest, "denied the request")
	r := hook.last(c.T, "kept")
	var options metav1.DeleteOptions
	if err := json.Unmarshal(r.Options.Raw, &options); err != nil {
		c.Fatal(err)
	}
	c.equal("the review", []any{r.Operation, string(r.Object.Raw), options.Kind, options.PropagationPolicy},
		[]any{admissionv1.Delete, "", "DeleteOptions", new(metav1.DeletePropagationForeground)})
	err := c.configMaps().DeleteCollection(c.Context(), nil, &request.ListOptions{LabelSelector: "of=case"})
	c.denied(err, http.StatusBadRequest, "denied the request")
	r = hook.last(c.T, "") // the object of a collection has no name
	c.equal("the label of the old object", decoded(r.OldObject.Raw).GetLabels()["of"], "case")
	if err := c.configMaps().Delete(c.Context(), "other", nil); err != nil && !errors.Is(err, core.ErrNotFound) {
		c.Error(err)
	}
	if _, err := c.configMaps().Get(c.Context(), "kept", nil); err != nil {
		c.Error(err)
	}
}

// define creates a definition of the kind Widget, with the versions v1, which is stored, and v2.
func (c *webhookCase) define(conversion map[string]any) (v1, v2 *client.API[unstructured.Unstructured]) {
	c.Helper()
	group := c.ns + ".example.com"
	var versions []any
	for i, name := range []string{"v1", "v2"} {
		versions = append(versions, map[string]any{
			"name": name, "served": true, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{
					"color": map[string]any{"type": "string"}, "size": map[string]any{"type": "string", "default": "small"},
				}},
				"status": map[string]any{"type": "object", "properties": map[string]any{"phase": map[string]any{"type": "string"}}},
			}}},
		})
	}
	spec := map[string]any{
		"group": group, "scope": "Namespaced", "versions": versions,
		"names": map[string]any{"kind": "Widget", "plural": "widgets"},
	}
	if conversion != nil {
		spec["conversion"] = conversion
	}
	crds := client.Dynamic(c.c, core.CRDResource())
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group}, "spec": spec,
	}}
	if _, err := crds.Create(c.Context(), crd, nil); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := crds.Delete(context.Background(), crd.GetName(), nil); err != nil {
			c.Error(err)
		}
	})
	of := func(version string) *client.API[unstructured.Unstructured] {
		return client.Dynamic(c.c, core.Resource{
			Group: group, Version: version, Kind: "Widget", Plural: "widgets", Namespaced: true,
		}).In(c.ns)
	}
	v1, v2 = of("v1"), of("v2")
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := v1.List(c.Context(), nil)
		if err == nil {
			_, err = v2.List(c.Context(), nil)
		}
		if err == nil {
			return v1, v2
		}
		if time.Now().After(deadline) {
			c.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// widget returns a widget of a version.
func widget(api *client.API[unstructured.Unstructured], color string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"color": color},
	}}
	obj.SetGroupVersionKind(api.Resource().GroupVersionKind())
	return obj
}

func testReviewStatus(c *webhookCase) {
	v1, _ := c.define(nil)
	group := v1.Resource().Group
	all := c.validating(
		wanted{resource: group + "/v1:widgets", respond: allow},
		wanted{
			resource: group + "/v1:widgets/status",
			respond: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				phase, _, _ := unstructured.NestedString(objectOf(r).Object, "status", "phase")
				return &admissionv1.AdmissionResponse{Allowed: phase != "Broken"}
			},
		},
	)
	if _, err := v1.Create(c.Context(), widget(v1, "blue"), nil); err != nil {
		c.Fatal(err)
	}
	set := func(phase string) error {
		_, err := v1.Status().Patch(c.Context(), "a", request.MergePatch(`{"status":{"phase":"`+phase+`"}}`), nil)
		return err
	}
	if err := set("Ready"); err != nil {
		c.Error(err)
	}
	c.denied(set("Broken"), http.StatusBadRequest, "denied the request")
	c.equal("reviews of the object", all[0].names(), []string{"CREATE a"})
	// A server repeats the review if it has begun with an old version of the object.
	c.equal("reviews of the status", slices.Compact(all[1].names()), []string{"UPDATE a"})
	c.equal("the subresource", all[1].last(c.T, "a").SubResource, "status")
}

func testReinvoke(c *webhookCase) {
	ifNeeded := func(w *admissionregistrationv1.MutatingWebhook) {
		w.ReinvocationPolicy = new(admissionregistrationv1.IfNeededReinvocationPolicy)
	}
	all := c.mutating(
		wanted{resource: "v1:configmaps", respond: allow, change: ifNeeded},
		wanted{resource: "v1:configmaps", respond: allow},
		wanted{resource: "v1:configmaps", respond: annotate(), change: ifNeeded},
	)
	if _, err := c.configMaps().Create(c.Context(), configMap("blue"), nil); err != nil {
		c.Fatal(err)
	}
	for i, want := range []int{2, 1, 1} {
		n := 0
		for _, name := range all[i].names() {
			if name == "CREATE a" {
				n++
			}
		}
		c.equal(fmt.Sprintf("the calls of webhook %d", i), n, want)
	}
}

func testFailurePolicy(c *webhookCase) {
	fail := func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Name == "probe" {
			return allow(r)
		}
		return nil
	}
	c.validating(
		wanted{resource: "v1:configmaps", respond: fail, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.FailurePolicy = new(admissionregistrationv1.Ignore)
		}},
		wanted{resource: "v1:secrets", respond: fail},
	)
	if _, err := c.configMaps().Create(c.Context(), configMap("blue"), nil); err != nil {
		c.Errorf("a failure that is ignored: %v", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	_, err := client.Namespaced[corev1.Secret](c.c, c.ns).Create(c.Context(), secret, nil)
	c.denied(err, http.StatusInternalServerError,
		`Internal error occurred: failed calling webhook "validating1.example.com": failed to call webhook: `)
}

func testSelect(c *webhookCase) {
	deny := func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Allowed: r.Name == "probe"}
	}
	all := c.validating(
		wanted{resource: "v1:configmaps", respond: deny, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"color": "red"}}
		}},
		wanted{resource: "v1:configmaps", respond: deny, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "none"}}
		}},
		wanted{resource: "v1:configmaps", respond: deny, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Delete}
		}},
		wanted{resource: "v1:configmaps", respond: deny, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.Rules[0].Scope = new(admissionregistrationv1.ClusterScope)
		}},
	)
	if _, err := c.configMaps().Create(c.Context(), configMap("blue"), nil); err != nil {
		c.Fatal(err)
	}
	_, err := c.configMaps().Patch(c.Context(), "a", request.MergePatch(`{"metadata":{"labels":{"color":"red"}}}`), nil)
	c.denied(err, http.StatusBadRequest, "validating0.example.com")
	c.denied(c.configMaps().Delete(c.Context(), "a", nil), http.StatusBadRequest, "validating2.example.com")
	c.equal("reviews of other namespaces", len(all[1].names()), 0)
	c.equal("reviews of cluster-wide kinds", len(all[3].names()), 0)
}

func testEquivalent(c *webhookCase) {
	v1, v2 := c.define(nil)
	group := v1.Resource().Group
	all := c.mutating(
		wanted{resource: group + "/v1:widgets", respond: annotate()},
		wanted{resource: group + "/v1:widgets", respond: allow, change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.MatchPolicy = new(admissionregistrationv1.Exact)
		}},
	)
	got, err := v2.Create(c.Context(), widget(v2, "blue"), nil)
	if err != nil {
		c.Fatal(err)
	}
	c.equal("the object", []any{got.GetAPIVersion(), got.GetAnnotations()},
		[]any{group + "/v2", map[string]string{"by": "webhook"}})
	r := all[0].last(c.T, "a")
	c.equal("the review", []string{
		objectOf(r).GetAPIVersion(), r.Kind.Version, r.Resource.Version, r.RequestKind.Version,
		r.RequestResource.Version,
	}, []string{group + "/v1", "v1", "v1", "v2", "v2"})
	c.equal("reviews of an exact rule", len(all[1].names()), 0)
}

func testConversionWebhook(c *webhookCase) {
	hk := &hook{convert: func(obj *unstructured.Unstructured, _ string) error {
		color, _, _ := unstructured.NestedString(obj.Object, "spec", "color")
		if color == "none" {
			return errors.New("spec.color: none has no conversion")
		}
		obj.SetAnnotations(map[string]string{"from": obj.GetAPIVersion()})
		obj.SetFinalizers([]string{"example.com/ignored"})
		return nil
	}}
	config := c.register("convert", hk)
	client := map[string]any{}
	if err := remarshal(config, &client); err != nil {
		c.Fatal(err)
	}
	v1, v2 := c.define(map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"clientConfig": client, "conversionReviewVersions": []any{"v1"},
	}})
	if _, err := v1.Create(c.Context(), widget(v1, "blue"), nil); err != nil {
		c.Fatal(err)
	}
	got, err := v2.Get(c.Context(), "a", nil)
	if err != nil {
		c.Fatal(err)
	}
	c.equal("the object", []any{got.GetAPIVersion(), got.GetAnnotations(), len(got.GetFinalizers())},
		[]any{v2.Resource().APIVersion(), map[string]string{"from": v1.Resource().APIVersion()}, 0})
	other := widget(v2, "red")
	other.SetName("b")
	if _, err := v2.Create(c.Context(), other, nil); err != nil {
		c.Fatal(err)
	}
	broken := widget(v1, "none")
	broken.SetName("broken")
	if _, err := v1.Create(c.Context(), broken, nil); err != nil {
		c.Fatal(err)
	}
	_, err = v2.Get(c.Context(), "broken", nil)
	c.denied(err, http.StatusInternalServerError, "conversion webhook for "+v1.Resource().APIVersion()+
		", Kind=Widget failed: spec.color: none has no conversion")
}

func testWebhookUsesServer(c *webhookCase) {
	if _, err := c.configMaps().Create(c.Context(), configMap("blue"), nil); err != nil {
		c.Fatal(err)
	}
	c.validating(wanted{
		resource: "v1:secrets",
		respond: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			_, err := c.configMaps().Patch(context.Background(), "a", request.MergePatch(`{"data":{"last":"`+r.Name+`"}}`), nil)
			return &admissionv1.AdmissionResponse{Allowed: err == nil}
		},
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	if _, err := client.Namespaced[corev1.Secret](c.c, c.ns).Create(c.Context(), secret, nil); err != nil {
		c.Fatal(err)
	}
	got, err := c.configMaps().Get(c.Context(), "a", nil)
	if err != nil || got.Data["last"] != "s" {
		c.Errorf("the object is %v, %v, want the change of the webhook", got, err)
	}
}

func testReviewDryRun(c *webhookCase) {
	hook := c.mutating(wanted{resource: "v1:configmaps", respond: annotate()})[0]
	got, err := c.configMaps().Create(c.Context(), configMap("blue"), &request.CreateOptions{DryRun: true})
	if err != nil {
		c.Fatal(err)
	}
	c.equal("annotations", got.Annotations, map[string]string{"by": "webhook"})
	c.equal("dryRun of the review", *hook.last(c.T, "a").DryRun, true)
	if _, err := c.configMaps().Get(c.Context(), "a", nil); !errors.Is(err, core.ErrNotFound) {
		c.Errorf("Get after a dry run: %v, want %v", err, core.ErrNotFound)
	}
}

func testDenyApply(c *webhookCase) {
	c.validating(wanted{
		resource: "v1:configmaps",
		respond: func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: r.Name != "a" || r.Operation == admissionv1.Create}
		},
	})
	o := &request.ApplyOptions{FieldManager: "test"}
	before, err := c.configMaps().Apply(c.Context(), configMap("blue"), o)
	if err != nil {
		c.Fatal(err)
	}
	_, err = c.configMaps().Apply(c.Context(), configMap("red"), o)
	c.denied(err, http.StatusBadRequest, "denied the request")
	after, err := c.configMaps().Get(c.Context(), "a", nil)
	if err != nil {
		c.Fatal(err)
	}
	c.equal("the object", after, before)
}
