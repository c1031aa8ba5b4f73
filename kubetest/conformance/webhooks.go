// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// WebhookServer is a server whose webhooks are served by the handler of RunWebhooks.
type WebhookServer struct {
	Client *client.Client // has all permissions
	// Reach returns the clientConfig of a webhook with a path of the handler.
	Reach func(path string) admissionregistrationv1.WebhookClientConfig
}

// RunWebhooks tests that a server calls webhooks. The cases run in parallel, as those of [Run].
func RunWebhooks(t *testing.T, start func(webhooks http.Handler) *WebhookServer) {
	t.Helper()
	h := &hooks{registered: make(map[string]*hook)}
	s := start(h)
	for name, run := range map[string]func(*webhookCase){
		"A mutating webhook changes a new object":         testMutateNew,
		"A mutating webhook changes updates":              testMutateUpdate,
		"A validating webhook sees the final object":      testValidate,
		"A validating webhook denies changes":             testDeny,
		"Webhooks review deletions":                       testReviewDelete,
		"Webhooks review the status":                      testReviewStatus,
		"A webhook is invoked again after later changes":  testReinvoke,
		"The failure policy decides about failures":       testFailurePolicy,
		"Selectors and rules select requests":             testSelect,
		"A webhook receives the version of its rule":      testEquivalent,
		"A conversion webhook converts objects":           testConversionWebhook,
		"A webhook may use the server":                    testWebhookUsesServer,
		"A dry run is reviewed":                           testReviewDryRun,
		"A webhook that denies an apply keeps the object": testDenyApply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(&webhookCase{T: t, c: s.Client, server: s, hooks: h, ns: newNamespace(t, s.Client)})
		})
	}
}

// hooks serves the webhooks of all cases.
type hooks struct {
	mu         sync.Mutex
	registered map[string]*hook // by path
}

// hook is a webhook of a case. respond returns nil for a failure of the webhook.
type hook struct {
	respond func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	convert func(obj *unstructured.Unstructured, apiVersion string) error

	mu       sync.Mutex
	received []*admissionv1.AdmissionRequest
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	hk := h.registered[r.URL.Path]
	h.mu.Unlock()
	if hk == nil {
		http.NotFound(w, r)
		return
	}
	if hk.convert != nil {
		hk.serveConversion(w, r)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	hk.mu.Lock()
	hk.received = append(hk.received, review.Request)
	hk.mu.Unlock()
	resp := hk.respond(review.Request)
	if resp == nil {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	resp.UID = review.Request.UID
	review.Request, review.Response = nil, resp
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&review)
}

// serveConversion converts the objects of a ConversionReview.
func (hk *hook) serveConversion(w http.ResponseWriter, r *http.Request) {
	var review struct {
		metav1.TypeMeta `json:",inline"`
		Request         *struct {
			UID               string                      `json:"uid"`
			DesiredAPIVersion string                      `json:"desiredAPIVersion"`
			Objects           []unstructured.Unstructured `json:"objects"`
		} `json:"request,omitempty"`
		Response map[string]any `json:"response,omitempty"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := map[string]any{"status": "Success"}
	for i := range review.Request.Objects {
		obj := &review.Request.Objects[i]
		if err := hk.convert(obj, review.Request.DesiredAPIVersion); err != nil {
			result = map[string]any{"status": "Failure", "message": err.Error()}
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
	}
	review.Response = map[string]any{"uid": review.Request.UID, "result": result}
	if result["status"] == "Success" {
		review.Response["convertedObjects"] = review.Request.Objects
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&review)
}

// last returns the last review that the hook has received for the name.
func (hk *hook) last(t *testing.T, name string) *admissionv1.AdmissionRequest {
	t.Helper()
	hk.mu.Lock()
	defer hk.mu.Unlock()
	for _, r := range slices.Backward(hk.received) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("the webhook has received no review of %q", name)
	return nil
}

// names returns the operations and the names of the reviews that the hook has received.
func (hk *hook) names() []string {
	hk.mu.Lock()
	defer hk.mu.Unlock()
	var all []string
	for _, r := range hk.received {
		all = append(all, string(r.Operation)+" "+r.Name)
	}
	return all
}

// webhookCase is a case of RunWebhooks.
type webhookCase struct {
	*testing.T
	c      *client.Client
	server *WebhookServer
	hooks  *hooks
	ns     string
}

// register returns the clientConfig of a new hook.
func (c *webhookCase) register(name string, hk *hook) admissionregistrationv1.WebhookClientConfig {
	path := "/" + c.ns + "/" + name
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	c.hooks.registered[path] = hk
	return c.server.Reach(path)
}

// rule returns a rule for all operations on a resource, such as "v1:configmaps" or "example.com/v1:widgets/status".
func rule(resource string) admissionregistrationv1.RuleWithOperations {
	gv, name, _ := strings.Cut(resource, ":")
	group, version, found := strings.Cut(gv, "/")
	if !found {
		group, version = "", gv
	}
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{name},
		},
	}
}

// wanted is a webhook that a case needs.
type wanted struct {
	resource string
	change   func(*admissionregistrationv1.MutatingWebhook)
	respond  func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
}

// webhook returns the webhook of a configuration, which reviews requests of the namespace of the case.
func (c *webhookCase) webhook(name string, w *wanted) (admissionregistrationv1.MutatingWebhook, *hook) {
	hk := &hook{respond: w.respond}
	out := admissionregistrationv1.MutatingWebhook{
		Name: name + ".example.com", ClientConfig: c.register(name, hk),
		Rules:                   []admissionregistrationv1.RuleWithOperations{rule(w.resource)},
		AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.ns}},
	}
	if w.change != nil {
		w.change(&out)
	}
	return out, hk
}

// mutating creates mutating webhooks, and waits until the server calls them.
func (c *webhookCase) mutating(all ...wanted) []*hook {
	c.Helper()
	config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: c.ns}}
	var registered []*hook
	for i := range all {
		w, hk := c.webhook(fmt.Sprintf("mutating%d", i), &all[i])
		config.Webhooks, registered = append(config.Webhooks, w), append(registered, hk)
	}
	probe, hk := c.webhook("mutating-probe", probeWebhook())
	config.Webhooks = append(config.Webhooks, probe)
	install(c, config, hk)
	return registered
}

// validating creates validating webhooks, and waits until the server calls them.
func (c *webhookCase) validating(all ...wanted) []*hook {
	c.Helper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: c.ns}}
	var registered []*hook
	add := func(name string, wanted *wanted) *hook {
		w, hk := c.webhook(name, wanted)
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, AdmissionReviewVersions: w.AdmissionReviewVersions,
			SideEffects: w.SideEffects, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy, TimeoutSeconds: w.TimeoutSeconds,
		})
		return hk
	}
	for i := range all {
		registered = append(registered, add(fmt.Sprintf("validating%d", i), &all[i]))
	}
	hk := add("validating-probe", probeWebhook())
	install(c, config, hk)
	return registered
}

// install creates a configuration, and waits until the server calls its webhooks, of which probe is one.
func install[K any, P core.ObjectPtr[K]](c *webhookCase, config *K, probe *hook) {
	c.Helper()
	api := client.ClusterWide[K, P](c.c)
	if _, err := api.Create(c.Context(), config, nil); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := api.Delete(context.Background(), c.ns, nil); err != nil {
			c.Error(err)
		}
	})
	c.await(probe)
}

// probeWebhook returns a webhook that reviews the probes of await.
func probeWebhook() *wanted {
	return &wanted{
		resource: "v1:configmaps", respond: allow,
		change: func(w *admissionregistrationv1.MutatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"probe": "yes"}}
		},
	}
}

// await waits until the server calls a webhook of a new configuration.
func (c *webhookCase) await(hk *hook) {
	c.Helper()
	cm := configMap("")
	cm.Name, cm.Labels = "probe", map[string]string{"probe": "yes"}
	deadline := time.Now().Add(time.Minute)
	for len(hk.names()) == 0 {
		if time.Now().After(deadline) {
			c.Fatal("the server does not call the webhooks")
		}
		// Other webhooks may deny it.
		_, _ = client.Namespaced[corev1.ConfigMap](c.c, c.ns).Create(c.Context(), cm, &request.CreateOptions{DryRun: true})
		select {
		case <-time.After(50 * time.Millisecond):
		case <-c.Context().Done():
			c.Fatal(context.Cause(c.Context()))
		}
	}
}

// allow allows a request.
func allow(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

// annotate returns what sets the annotation by: webhook, unless the object is a probe.
func annotate() func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		resp := allow(r)
		obj := objectOf(r)
		if r.Name == "probe" || obj == nil {
			return resp
		}
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = make(map[string]string)
		}
		annotations = maps.Clone(annotations)
		annotations["by"] = "webhook"
		body, err := json.Marshal([]map[string]any{{"op": "add", "path": "/metadata/annotations", "value": annotations}})
		if err != nil {
			panic(err)
		}
		resp.Patch, resp.PatchType = body, new(admissionv1.PatchTypeJSONPatch)
		return resp
	}
}

// objectOf returns the object of a review, or nil.
func objectOf(r *admissionv1.AdmissionRequest) *unstructured.Unstructured {
	return decoded(r.Object.Raw)
}

// decoded returns an object of a review, or nil.
func decoded(raw []byte) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &obj.Object); err != nil || obj.Object == nil {
		return nil
	}
	return obj
}

// remarshal copies a value into another type through JSON.
func remarshal(from, into any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
