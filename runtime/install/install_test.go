// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/install"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	documents   = "/apis/docs.example.com/v1/documents"
)

// crd returns a definition with a resource version and with fields below spec.
func crd(version string, fields ...string) *unstructured.Unstructured {
	properties := map[string]any{}
	for _, f := range fields {
		properties[f] = map[string]any{"type": "string"}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "documents.docs.example.com"},
		"spec": map[string]any{
			"group": "docs.example.com",
			"scope": "Namespaced",
			"names": map[string]any{"kind": "Document", "plural": "documents"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": properties}},
			}},
		},
	}}
	if version != "" {
		obj.SetResourceVersion(version)
	}
	return obj
}

// established sets the condition that a definition is served.
func established(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	return obj
}

// storing adds a version in which objects are stored.
func storing(obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
	spec := obj.Object["spec"].(map[string]any)
	spec["versions"] = append(spec["versions"].([]any), map[string]any{"name": version, "served": true})
	obj.Object["status"] = map[string]any{"storedVersions": []any{version, "v1"}}
	return obj
}

// terminating marks a definition as being deleted.
func terminating(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetDeletionTimestamp(new(metav1.Now()))
	return obj
}

// server is an API server with one definition. The tests use it from one goroutine at a time.
type server struct {
	stored    *unstructured.Unstructured // nil: not installed
	intrude   *unstructured.Unstructured // replaces stored at the first write, which then conflicts
	refusals  int                        // the number of rejected watches of documents before they are served
	applied   []string                   // the resource versions of the applies; "created" for a creation
	migrated  int                        // the number of migrations from create to apply
	ended     []string                   // the resource versions of the patches that end a conversion
	patched   map[string]any             // spec after such a patch
	forced    bool
	manager   string
	documents int // watches of documents
	failures  int // the number of watches of documents that fail, with the result of failure
	failure   http.RoundTripper
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return nil, context.Cause(r.Context())
	}
	switch path := r.URL.Path; {
	case path == documents && r.URL.Query().Has("sendInitialEvents"): // the feature gate WatchList is off
		return rejection{422, "Invalid"}.RoundTrip(r)
	case path == documents:
		s.documents++
		if s.failures > 0 {
			s.failures--
			return s.failure.RoundTrip(r)
		}
		if s.refusals > 0 {
			s.refusals--
			return respond(404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`), nil
		}
		return respond(200, `{"type":"BOOKMARK","object":{"kind":"Document","apiVersion":"docs.example.com/v1","metadata":{"resourceVersion":"9"}}}`), nil
	case r.Method == http.MethodPost:
		return s.create(r)
	case r.Header.Get("Content-Type") == "application/json-patch+json":
		return s.patch(r)
	case r.Method == http.MethodPatch:
		return s.apply(r)
	case path == definitions:
		return s.watch()
	case s.stored == nil:
		return respond(404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,
			"details":{"name":"documents.docs.example.com","kind":"customresourcedefinitions"}}`), nil
	default:
		return respond(200, text(s.stored)), nil
	}
}

// rejection is a transport whose responses are an error.
type rejection struct {
	code   int
	reason string
}

func (f rejection) RoundTrip(*http.Request) (*http.Response, error) {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, f.reason, f.code)
	return respond(f.code, text), nil
}

func (s *server) create(r *http.Request) (*http.Response, error) {
	s.applied = append(s.applied, "created")
	if s.intrude != nil {
		s.stored, s.intrude = s.intrude, nil
		return respond(409, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`), nil
	}
	obj := &unstructured.Unstructured{}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := obj.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	obj.SetResourceVersion("6")
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: r.URL.Query().Get("fieldManager"), Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apiextensions.k8s.io/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}})
	s.stored = obj
	return respond(201, text(obj)), nil
}

// patch handles the patches that end a conversion, and those that change the ownership of fields.
func (s *server) patch(r *http.Request) (*http.Response, error) {
	var ops []request.Op
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = wire.UnmarshalJSON(body, &ops)
	}
	if err != nil {
		return nil, err
	}
	if ops[0].Op != "replace" || ops[0].Path != "/metadata/resourceVersion" {
		return nil, errors.New("a patch without a resource version: " + string(body))
	}
	if ops[1].Path == "/spec/conversion" {
		s.ended = append(s.ended, fmt.Sprint(ops[0].Value))
		if s.intrude != nil {
			s.stored, s.intrude = s.intrude, nil
			return conflict(), nil
		}
		spec := s.stored.Object["spec"].(map[string]any)
		spec["conversion"], spec["versions"] = ops[1].Value, ops[2].Value
		s.patched = maps.Clone(spec)
		s.stored.SetResourceVersion("7")
		return respond(200, text(s.stored)), nil
	}
	if !strings.Contains(string(body), `"operation":"Apply"`) || ops[0].Value != s.stored.GetResourceVersion() {
		return nil, errors.New("unexpected patch: " + string(body))
	}
	s.migrated++
	s.stored.SetManagedFields(nil)
	s.stored.SetResourceVersion("7")
	return respond(200, text(s.stored)), nil
}

func conflict() *http.Response {
	return respond(409, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
}

func (s *server) apply(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	s.applied = append(s.applied, obj.GetResourceVersion())
	s.manager, s.forced = r.URL.Query().Get("fieldManager"), r.URL.Query().Get("force") == "true"
	if s.intrude != nil {
		s.stored, s.intrude = s.intrude, nil
		return conflict(), nil
	}
	obj.SetResourceVersion("8")
	s.stored = established(obj)
	return respond(200, text(obj)), nil
}

// watch responds to a streaming list of the definition with the stored one, and then with nothing. By then, a pending
// deletion is complete.
func (s *server) watch() (*http.Response, error) {
	const end = `{"type":"BOOKMARK","object":{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",
		"metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}`
	if s.stored.GetDeletionTimestamp() != nil {
		s.stored = nil
		return respond(200, end), nil
	}
	return respond(200, `{"type":"ADDED","object":`+text(s.stored)+`}`+end), nil
}

func text(obj *unstructured.Unstructured) string {
	data, err := obj.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(data)
}

func respond(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code,
		Header:     http.Header{"Content-Type": {wire.MediaTypeJSON}},
		Body:       io.NopCloser(strings.NewReader(body)),
	}
}

func (s *server) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "https://cluster.test"}, Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCRDsAppliesOnlyWithoutLosses(t *testing.T) {
	tests := []struct {
		name    string
		server  server
		opts    *install.Options
		applied []string
		losses  []string
	}{
		{name: "a definition that does not exist", applied: []string{"created", "7"}},
		{
			name:    "a definition that another client creates at the same time",
			server:  server{intrude: crd("5", "title")},
			applied: []string{"created", "5"},
		},
		{
			name:    "a definition that another client creates with more fields",
			server:  server{intrude: crd("5", "title", "body", "tags")},
			applied: []string{"created"},
			losses:  []string{"version v1: field .tags"},
		},
		{name: "a definition with more fields than the installed one", server: server{stored: crd("5", "title")}, applied: []string{"5"}},
		{
			name:   "a definition with fewer fields than the installed one",
			server: server{stored: crd("5", "title", "body", "tags")},
			losses: []string{"version v1: field .tags"},
		},
		{
			name:    "a definition with fewer fields, with AllowDowngrade",
			server:  server{stored: crd("5", "title", "body", "tags")},
			opts:    &install.Options{AllowDowngrade: true},
			applied: []string{"5"},
		},
		{
			name:   "a definition without a version in which objects are stored",
			server: server{stored: storing(crd("5", "title"), "v1beta1")},
			losses: []string{"version v1beta1, in which objects are stored"},
		},
		{
			name:   "a definition without a version in which objects are stored, with AllowDowngrade",
			server: server{stored: storing(crd("5", "title"), "v1beta1")},
			opts:   &install.Options{AllowDowngrade: true},
			losses: []string{"version v1beta1, in which objects are stored"},
		},
		{
			name:    "a definition that another client changes",
			server:  server{stored: crd("5"), intrude: crd("6", "title")},
			applied: []string{"5", "6"},
		},
		{
			name:    "a definition to which another client adds fields",
			server:  server{stored: crd("5"), intrude: crd("6", "tags")},
			applied: []string{"5"},
			losses:  []string{"version v1: field .tags"},
		},
		{name: "a definition that is being deleted", server: server{stored: terminating(crd("5", "tags"))}, applied: []string{"created", "7"}},
		{name: "a kind that is served after a delay", server: server{refusals: 3}, applied: []string{"created", "7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refusals := tt.server.refusals
				mine := crd("", "title", "body")
				before := mine.DeepCopy()
				err := install.CRDs(t.Context(), tt.server.client(t), []*unstructured.Unstructured{mine}, tt.opts)
				var losses []string
				if down, ok := errors.AsType[*install.DowngradeError](err); ok {
					losses = down.Losses
				} else if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.losses, losses); diff != "" {
					t.Errorf("losses (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.applied, tt.server.applied); diff != "" {
					t.Errorf("applied on top of (-want +got):\n%s", diff)
				}
				if created := slices.Contains(tt.applied, "7"); created != (tt.server.migrated == 1) {
					t.Errorf("the created definition was migrated %d times", tt.server.migrated)
				}
				if err == nil && (!tt.server.forced || tt.server.manager != "kube-install" || tt.server.documents != refusals+1) {
					t.Errorf("forced %v, manager %q, %d watches of the kind", tt.server.forced, tt.server.manager, tt.server.documents)
				}
				if diff := cmp.Diff(before, mine); diff != "" {
					t.Errorf("the caller's object was changed:\n%s", diff)
				}
			})
		})
	}
}

// converted returns a definition with a version v0 and a webhook that converts.
func converted(version string) *unstructured.Unstructured {
	obj := crd(version)
	spec := obj.Object["spec"].(map[string]any)
	spec["versions"] = append(spec["versions"].([]any), map[string]any{"name": "v0", "served": true})
	spec["conversion"] = map[string]any{"strategy": "Webhook"}
	return obj
}

// TestAWebhookEndsBeforeTheApply checks that one patch removes the webhook and the versions that need it, and that the
// apply is on top of its result.
func TestAWebhookEndsBeforeTheApply(t *testing.T) {
	for _, tt := range []struct {
		name           string
		server         server
		mine           *unstructured.Unstructured
		ended, applied []string
	}{
		{"a definition without a webhook", server{stored: converted("5")}, crd(""), []string{"5"}, []string{"7"}},
		{
			"a definition that another client changes",
			server{stored: converted("5"), intrude: converted("6")},
			crd(""),
			[]string{"5", "6"},
			[]string{"7"},
		},
		{"a definition with the webhook", server{stored: converted("5")}, converted(""), nil, []string{"5"}},
		{"a definition that never had one", server{stored: crd("5")}, crd(""), nil, []string{"5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, s := &install.Options{AllowDowngrade: true}, &tt.server
				if err := install.CRDs(t.Context(), s.client(t), []*unstructured.Unstructured{tt.mine}, o); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.ended, s.ended); diff != "" {
					t.Errorf("the conversion ended on top of (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.applied, s.applied); diff != "" {
					t.Errorf("applied on top of (-want +got):\n%s", diff)
				}
				if len(s.ended) > 0 {
					want := crd("").Object["spec"].(map[string]any)
					want["conversion"] = map[string]any{"strategy": "None"}
					if diff := cmp.Diff(want, s.patched); diff != "" {
						t.Errorf("spec after the patch (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

func TestCRDsReturnsTheCauseOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1e9, cause)
		defer cancel()
		s := server{refusals: 1 << 30}
		err := install.CRDs(ctx, s.client(t), []*unstructured.Unstructured{crd("")}, nil)
		if !errors.Is(err, cause) || !errors.Is(err, core.ErrNotFound) {
			t.Errorf("CRDs() = %v, want the cause and the last error", err)
		}
	})
}

// A program may be able to convert objects only after it has installed their definition.
func TestCRDsDoesNotWaitForAConversionWebhook(t *testing.T) {
	tests := []struct {
		strategy string
		failure  http.RoundTripper
		want     error
	}{
		{strategy: "Webhook", failure: rejection{429, "TooManyRequests"}},
		{strategy: "Webhook", failure: rejection{500, "InternalError"}},
		{strategy: "None", failure: rejection{429, "TooManyRequests"}, want: context.DeadlineExceeded},
		{strategy: "None", failure: rejection{500, "InternalError"}, want: context.DeadlineExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				mine := crd("")
				if err := unstructured.SetNestedField(mine.Object, tt.strategy, "spec", "conversion", "strategy"); err != nil {
					t.Fatal(err)
				}
				s := server{failures: 1 << 30, failure: tt.failure}
				if err := install.CRDs(ctx, s.client(t), []*unstructured.Unstructured{mine}, nil); !errors.Is(err, tt.want) {
					t.Errorf("CRDs() = %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestCRDsRepeatsAFailedWatchOfANewKind(t *testing.T) {
	tests := []struct {
		name    string
		failure http.RoundTripper
		want    error
	}{
		{name: "an internal error", failure: rejection{500, "InternalError"}},
		{name: "an unavailable server", failure: rejection{503, "ServiceUnavailable"}},
		{name: "a timeout of the server", failure: rejection{504, "Timeout"}},
		{name: "a broken connection", failure: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		})},
		{name: "a missing permission", failure: rejection{403, "Forbidden"}, want: core.ErrForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s := server{failures: 2, failure: tt.failure}
				err := install.CRDs(ctx, s.client(t), []*unstructured.Unstructured{crd("")}, nil)
				if !errors.Is(err, tt.want) {
					t.Errorf("CRDs() = %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestCRDsChecksAllDefinitionsBeforeItWritesOne(t *testing.T) {
	s := server{}
	err := install.CRDs(t.Context(), s.client(t), []*unstructured.Unstructured{crd(""), nil}, nil)
	if err == nil || !strings.Contains(err.Error(), "definition 2 of 2: is nil") || s.applied != nil {
		t.Errorf("CRDs() = %v after %d applies", err, len(s.applied))
	}
}
