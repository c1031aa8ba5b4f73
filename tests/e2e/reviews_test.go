// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
)

// auditFlags returns flags of an API server that writes an audit log of the ConfigMaps in the namespace default.
func auditFlags(t *testing.T, log string) []string {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	const events = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],` +
		`"rules":[{"level":"Metadata","resources":[{"group":"","resources":["configmaps"]}],"namespaces":["default"]},` +
		`{"level":"None"}]}`
	if err := os.WriteFile(policy, []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}
}

// testReviews checks that an API server understands the responses that webhooks create with core/admission and
// core/conversion.
func testReviews(t *testing.T, cfg *kube.Config, auditLog string) {
	hooks := newHooks(t)
	t.Run("admission", func(t *testing.T) { testAdmission(t, cfg, hooks, auditLog) })
	t.Run("conversion", func(t *testing.T) { testConversion(t, connect(t, &kube.ClientOptions{Config: cfg}), hooks) })
}

// hooks is a webhook server.
type hooks struct {
	*httptest.Server
	ca []byte // in PEM
}

func newHooks(t *testing.T) hooks {
	t.Helper()
	respond := func(read func(r *http.Request) ([]byte, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := read(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}
	}
	admit := func(review func(*admission.Request) *admission.Response) http.HandlerFunc {
		return respond(func(r *http.Request) ([]byte, error) {
			req, err := admission.Read(r.Body, nil)
			if err != nil {
				return nil, err
			}
			return review(req).Encode(req)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/validate", admit(validate))
	mux.Handle("/mutate", admit(mutate))
	mux.Handle("/convert", respond(func(r *http.Request) ([]byte, error) {
		req, err := conversion.Read(r.Body, nil)
		if err != nil {
			return nil, err
		}
		return conversion.Convert(req, convertWidget).Encode(req)
	}))
	s := httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	return hooks{s, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
}

// validate denies ConfigMaps whose data requests that. Each response has a warning and audit annotations.
func validate(req *admission.Request) *admission.Response {
	var cm corev1.ConfigMap
	object := req.Object
	if req.Operation == admission.Delete {
		object = req.OldObject
	}
	if err := object.Decode(&cm); err != nil {
		return admission.Errored(err)
	}
	resp := admission.Allowed()
	switch cm.Data["v"] {
	case "deny":
		resp = admission.Denied("data.v: must not be deny; choose another value")
	case "error":
		resp = admission.Errored(errors.New("the ledger can't be read"))
	}
	resp.Warnings = []string{fmt.Sprintf("%s of %s by %s", req.Operation, req.Ref, req.User.Name)}
	resp.AuditAnnotations = map[string]string{
		"verdict": strconv.FormatBool(resp.Allowed), "dry": strconv.FormatBool(req.DryRun),
	}
	return resp
}

// mutate patches ConfigMaps whose data requests that.
func mutate(req *admission.Request) *admission.Response {
	cm := new(corev1.ConfigMap)
	if err := req.Object.Decode(cm); err != nil {
		return admission.Errored(err)
	}
	if cm.Data["v"] != "patch" {
		return admission.Allowed()
	}
	if cm.Labels == nil {
		cm.Labels = map[string]string{}
	}
	cm.Labels["example.com/patched"] = "yes"
	cm.Data["v"] = "patched"
	cm.BinaryData = map[string][]byte{"raw": {0, 0xff}}
	return admission.Patched(req, cm)
}

// testAdmission checks that denials reach the client, warnings the callback, patches the object, and audit annotations
// the audit log.
func testAdmission(t *testing.T, cfg *kube.Config, h hooks, auditLog string) {
	var mu sync.Mutex // guards warnings
	var warnings []string
	c := connect(t, &kube.ClientOptions{Config: cfg, OnWarning: func(_ context.Context, w middleware.Warning) {
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, w.Text)
	}})
	register(t, c, h)
	maps := kube.Namespaced[corev1.ConfigMap](c, "default")
	eventually(t, "the webhooks are called", func(ctx context.Context) error {
		dry := &kube.CreateOptions{DryRun: true}
		if _, err := maps.Create(ctx, configMap("probe", "deny"), dry); err == nil {
			return errors.New("the object that they deny is allowed")
		}
		probe, err := maps.Create(ctx, configMap("probe", "patch"), dry)
		if err == nil && probe.Data["v"] != "patched" {
			err = errors.New("the object that they patch is unchanged")
		}
		return err
	})

	_, err := maps.Create(limit(t), configMap("denied", "deny"), nil)
	want := `create configmaps default/denied: forbidden: server said: admission webhook "validate.e2e.example.com" ` +
		"denied the request: data.v: must not be deny; choose another value"
	if !errors.Is(err, kube.ErrForbidden) || err.Error() != want {
		t.Errorf("Create = %v, want %s", err, want)
	}
	_, err = maps.Create(limit(t), configMap("broken", "error"), nil)
	want = "denied the request: the ledger can't be read"
	if !errors.Is(err, core.ErrInternal) || !strings.Contains(err.Error(), want) {
		t.Errorf("Create = %v, want ErrInternal with %q", err, want)
	}
	got, err := maps.Create(limit(t), configMap("patched", "patch"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Labels["example.com/patched"] != "yes" || got.Data["v"] != "patched" ||
		string(got.BinaryData["raw"]) != "\x00\xff" {
		t.Errorf("patched labels %v, data %v, binary data %v", got.Labels, got.Data, got.BinaryData)
	}
	if err := maps.Delete(limit(t), "patched", nil); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{
		"CREATE of default/denied by", "CREATE of default/patched by", "DELETE of default/patched by",
	} {
		if !strings.Contains(strings.Join(warnings, "\n"), want) {
			t.Errorf("warnings = %q, want one that contains %q", warnings, want)
		}
	}
	eventually(t, "the audit log is written", func(context.Context) error {
		text, err := os.ReadFile(auditLog)
		if err != nil {
			return err
		}
		for _, want := range []string{`verdict":"false"`, `verdict":"true"`, `dry":"true"`} {
			if want = `"validate.e2e.example.com/` + want; !strings.Contains(string(text), want) {
				return fmt.Errorf("it does not contain %s", want)
			}
		}
		return nil
	})
}

// register configures the API server to call the webhooks for ConfigMaps of the namespace default.
func register(t *testing.T, c *kube.Client, h hooks) {
	t.Helper()
	reach := func(path string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{URL: new(h.URL + path), CABundle: h.ca}
	}
	rule := func(operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
		}}}
	}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "default"}}
	validating := kube.ClusterWide[admissionv1.ValidatingWebhookConfiguration](c)
	_, err := validating.Create(limit(t), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "validate.e2e.example.com", ClientConfig: reach("/validate"), NamespaceSelector: here,
			Rules:       rule(admissionv1.Create, admissionv1.Update, admissionv1.Delete),
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mutating := kube.ClusterWide[admissionv1.MutatingWebhookConfiguration](c)
	_, err = mutating.Create(limit(t), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "mutate.e2e.example.com", ClientConfig: reach("/mutate"), NamespaceSelector: here,
			Rules:       rule(admissionv1.Create, admissionv1.Update),
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// sizedV1 is a widget whose size is a number. sizedV2 is a widget whose size has a unit.
type (
	sizedV1 struct {
		metav1.TypeMeta   `json:""`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Size int `json:"size"`
		} `json:"spec"`
	}
	sizedV2 struct {
		metav1.TypeMeta   `json:""`
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Size string `json:"size"`
		} `json:"spec"`
	}
)

const sizedGroup = "reviews.e2e.example.com"

// convertWidget converts between the two versions. A size of 13 can't be represented in v2.
func convertWidget(obj wire.Packed, apiVersion string) (core kube.Object, err error) {
	switch apiVersion {
	case sizedGroup + "/v2":
		from, to := new(sizedV1), new(sizedV2)
		if err := obj.Decode(from); err != nil {
			return nil, err
		}
		if from.Spec.Size == 13 {
			return nil, errors.New("spec.size: 13 can't be represented in v2")
		}
		to.ObjectMeta, to.Spec.Size = from.ObjectMeta, strconv.Itoa(from.Spec.Size)+"cm"
		return to, nil
	case sizedGroup + "/v1":
		from, to := new(sizedV2), new(sizedV1)
		if err := obj.Decode(from); err != nil {
			return nil, err
		}
		to.ObjectMeta = from.ObjectMeta
		if to.Spec.Size, err = strconv.Atoi(strings.TrimSuffix(from.Spec.Size, "cm")); err != nil {
			return nil, fmt.Errorf("spec.size: %w", err)
		}
		return to, nil
	}
	return nil, fmt.Errorf("%s is not a version of widgets", apiVersion)
}

// testConversion checks that objects of both versions can be read and written in both versions.
func testConversion(t *testing.T, c *kube.Client, h hooks) {
	definition := widgetDefinition(sizedGroup)
	version := func(name, size string, storage bool) map[string]any {
		schema := map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{
				"type": "object", "properties": map[string]any{"size": map[string]any{"type": size}},
			}},
		}
		return map[string]any{
			"name": name, "served": true, "storage": storage, "schema": map[string]any{"openAPIV3Schema": schema},
		}
	}
	spec := definition["spec"].(map[string]any)
	spec["versions"] = []any{version("v1", "integer", true), version("v2", "string", false)}
	spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig":             map[string]any{"url": h.URL + "/convert", "caBundle": h.ca},
	}}
	crd := new(unstructured.Unstructured)
	data, err := wire.MarshalJSON(definition) // encodes the certificate in base64
	if err == nil {
		err = wire.UnmarshalJSON(data, &crd.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	defineKind(t, c, crd)
	first, second := widgetResource(sizedGroup), widgetResource(sizedGroup)
	second.Version = "v2"
	v1, v2 := kube.APIOf[sizedV1](c, first).In("default"), kube.APIOf[sizedV2](c, second).In("default")

	small := &sizedV1{ObjectMeta: metav1.ObjectMeta{Name: "small", Labels: map[string]string{"a": "b"}}}
	small.Spec.Size = 3
	made, err := v1.Create(limit(t), small, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := v2.Get(limit(t), "small", nil)
	if err != nil || read.Spec.Size != "3cm" {
		t.Fatalf("Get in v2 = %+v, %v; want a size of 3cm", read, err)
	}
	if diff := cmp.Diff(made.ObjectMeta, read.ObjectMeta); diff != "" {
		t.Errorf("metadata (-v1 +v2):\n%s", diff)
	}
	read.Spec.Size = "4cm"
	if _, err := v2.Update(limit(t), read, nil); err != nil {
		t.Fatal(err)
	}
	applied := &sizedV2{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	applied.Spec.Size = "40cm"
	if _, err := v2.Apply(limit(t), applied, &kube.ApplyOptions{FieldManager: "e2e"}); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	for w, err := range v1.All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		sizes[w.Name] = w.Spec.Size
	}
	if diff := cmp.Diff(map[string]int{"small": 4, "large": 40}, sizes); diff != "" {
		t.Errorf("sizes in v1 (-want +got):\n%s", diff)
	}

	odd := &sizedV1{ObjectMeta: metav1.ObjectMeta{Name: "odd"}}
	odd.Spec.Size = 13
	if _, err := v1.Create(limit(t), odd, nil); err != nil {
		t.Fatal(err)
	}
	_, err = v2.Get(limit(t), "odd", nil)
	const want = "convert object 0: Widget default/odd to " + sizedGroup + "/v2: spec.size: 13 can't be represented in v2"
	if !errors.Is(err, core.ErrInternal) || !strings.Contains(err.Error(), want) {
		t.Errorf("Get of an object that can't be converted: %v, want %s", err, want)
	}
	_, err = v2.List(limit(t), nil)
	if err == nil || !strings.Contains(err.Error(), "spec.size: 13 can't be represented in v2") {
		t.Errorf("List with an object that can't be converted: %v", err)
	}
}
