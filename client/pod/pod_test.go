// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// throughError closes the body of a response, if there is one, and returns the error.
func throughError(resp *http.Response, err error) error {
	if resp != nil {
		resp.Body.Close()
	}
	return err
}

func TestProxyReturnsResponseOfPod(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case podPath + ":8080/proxy/absent":
			http.Error(w, "nothing here", http.StatusNotFound)
			return
		case podPath + ":8081/proxy/":
			testserver.Fail(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "no endpoints")
			return
		}
		w.Header().Set("X-From", "the pod")
		_, _ = io.WriteString(w, "hello")
	})
	pods := pod.In(s.Client(t), "prod")
	resp, err := pods.Proxy(t.Context(), "web-0", &request.ProxyOptions{
		Method: http.MethodPost, Port: "8080", Path: "greet", ContentType: "text/plain", Body: []byte("hi"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "hello" || resp.Header.Get("X-From") != "the pod" {
		t.Errorf("response = %q, %v with headers %v, want hello from the pod", body, err, resp.Header)
	}
	if a := s.Asked()[0]; a.Method != http.MethodPost || a.URI != podPath+":8080/proxy/greet" || a.Body != "hi" {
		t.Errorf("request = %s %s with %q", a.Method, a.URI, a.Body)
	}

	err = throughError(pods.Proxy(t.Context(), "web-0", &request.ProxyOptions{Port: "8080", Path: "absent"}))
	if !errors.Is(err, core.ErrNotFound) || text(err) != "proxy pods prod/web-0: not found: server said: nothing here" {
		t.Errorf("Proxy() = %v, want not found with the message of the pod", err)
	}
	if se, ok := errors.AsType[*core.StatusError](err); !ok || string(se.Body) != "nothing here\n" {
		t.Errorf("Proxy() = %#v, want the body of the response", err)
	}
	err = throughError(pods.Proxy(t.Context(), "web-0", &request.ProxyOptions{Port: "8081"}))
	if se, ok := errors.AsType[*core.StatusError](err); !ok || se.Body != nil || se.Status.Message != "no endpoints" {
		t.Errorf("Proxy() = %#v, want the message of the Status and no body", err)
	}
}

func TestProxySendsOnce(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "error trying to reach service: connection refused", http.StatusServiceUnavailable)
	})
	pods := pod.In(testserver.NewClient(t, &client.Options{Config: s.Config()}), "prod")
	if err := throughError(pods.Proxy(t.Context(), "web-0", nil)); !errors.Is(err, core.ErrUnavailable) || len(s.Asked()) != 1 {
		t.Errorf("Proxy() = %v after %d requests, want unavailable after one", err, len(s.Asked()))
	}
}

func TestBindNamesTheNode(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.MediaTypeJSON)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success","code":201}`)
	})
	if err := pod.In(s.Client(t), "prod").Bind(t.Context(), "web-0", "n1", nil); err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}}`
	if a := s.Asked()[0]; a.URI != podPath+"/binding" || a.Body != want {
		t.Errorf("request = %s with %s", a.URI, a.Body)
	}
}

// TestPageOfAProxyIsNoSuccess checks that only an API server confirms an eviction or a binding.
func TestPageOfAProxyIsNoSuccess(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, "text/html", []byte("<html>Log in</html>"))
	})
	pods := pod.In(s.Client(t), "prod")
	for verb, err := range map[string]error{
		"evict": pods.Evict(t.Context(), "web-0", nil), "bind": pods.Bind(t.Context(), "web-0", "n1", nil),
	} {
		if want := verb + ` pods prod/web-0: content type "text/html"`; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s = %v, want %s", verb, err, want)
		}
	}
}

// TestEvictReturnsBudget checks that Evict returns a BudgetError with the details of the response, and only if a budget
// forbids the eviction.
func TestEvictReturnsBudget(t *testing.T) {
	budget := func(message string) []metav1.StatusCause {
		return []metav1.StatusCause{{Type: "DisruptionBudget", Message: message}}
	}
	tests := []struct {
		name   string
		status metav1.Status
		want   string
		budget *pod.BudgetError // without Err
	}{
		{
			"a budget that needs the pod",
			metav1.Status{Code: 429, Reason: "TooManyRequests", Details: &metav1.StatusDetails{
				Causes: budget("The disruption budget web needs 2 healthy pods and has 2 currently"),
			}},
			"evict pods prod/web-0: disruption budget web: needs 2 healthy pods and has 2 currently",
			&pod.BudgetError{Budget: "web", Detail: "needs 2 healthy pods and has 2 currently"},
		},
		{
			"a budget that is new",
			metav1.Status{Code: 429, Reason: "TooManyRequests", Details: &metav1.StatusDetails{
				Causes: budget("The disruption budget web is still being processed by the server."), RetryAfterSeconds: 10,
			}},
			"evict pods prod/web-0: disruption budget web: is still being processed by the server; try again in 10s",
			&pod.BudgetError{Budget: "web", Detail: "is still being processed by the server.", RetryAfter: 10 * time.Second},
		},
		{
			"a budget with an unknown message",
			metav1.Status{Code: 429, Reason: "TooManyRequests", Details: &metav1.StatusDetails{Causes: budget("No way")}},
			"evict pods prod/web-0: No way", &pod.BudgetError{Detail: "No way"},
		},
		{
			"a server that is busy",
			metav1.Status{Code: 429, Reason: "TooManyRequests", Message: "busy", Details: &metav1.StatusDetails{RetryAfterSeconds: 1}},
			"evict pods prod/web-0: too many requests: server said: busy", nil,
		},
		{
			"two budgets",
			metav1.Status{Code: 500, Reason: "InternalError", Message: "more than one"},
			"evict pods prod/web-0: internal error: server said: more than one", nil,
		},
		{
			"no such pod",
			metav1.Status{Code: 404, Reason: "NotFound", Details: &metav1.StatusDetails{Name: "web-0", Kind: "pods"}},
			"evict pods prod/web-0: not found", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.status.Kind, tt.status.APIVersion = "Status", "v1"
			s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
				testserver.Reply(w, int(tt.status.Code), wire.MediaTypeJSON, testserver.JSON(t, tt.status))
			})
			err := pod.In(s.Client(t), "prod").Evict(t.Context(), "web-0", nil)
			if text(err) != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
			got, _ := errors.AsType[*pod.BudgetError](err)
			if got != nil {
				got.Err = nil
			}
			if diff := cmp.Diff(tt.budget, got); diff != "" {
				t.Errorf("BudgetError (-want +got):\n%s", diff)
			}
			if tt.status.Code == 429 && tt.budget == nil && !errors.Is(err, core.ErrTooManyRequests) {
				t.Error("the error does not match ErrTooManyRequests")
			}
		})
	}
	t.Run("success", func(t *testing.T) {
		s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
			testserver.Reply(w, 201, wire.MediaTypeJSON, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
		})
		o := &request.EvictOptions{GracePeriod: new(time.Second), UID: "u-1"}
		if err := pod.In(s.Client(t), "prod").Evict(t.Context(), "web-0", o); err != nil {
			t.Fatal(err)
		}
		r := s.Asked()[0]
		if r.Method != http.MethodPost || r.URI != podPath+"/eviction" ||
			!strings.Contains(r.Body, `"gracePeriodSeconds":1`) {
			t.Errorf("request = %+v, want a POST with the grace period", r)
		}
	})
}

const podPath = "/api/v1/namespaces/prod/pods/web-0"

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestInvalidCallsSendNothing checks that an invalid call returns an error that names the field, and sends no request.
func TestInvalidCallsSendNothing(t *testing.T) {
	s := testserver.New(t, nil)
	c, ctx := s.Client(t), t.Context()
	pods := pod.In(c, "prod")
	for _, tt := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a container without a name", func() error {
			_, err := pods.AddEphemeralContainer(ctx, "web-0", &corev1.EphemeralContainer{}, nil)
			return err
		}, "patch pods prod/web-0: request not sent: container.name: is empty; name the container"},
		{"no container", func() error {
			_, err := pods.AddEphemeralContainer(ctx, "web-0", nil, nil)
			return err
		}, "patch pods prod/web-0: request not sent: container.name: is empty; name the container"},
		{
			"bind without a node", func() error { return pods.Bind(ctx, "web-0", "", nil) },
			"bind pods prod/web-0: request not sent: node: is empty; name the node",
		},
		{"an unknown scheme", func() error {
			return throughError(pods.Proxy(ctx, "web-0", &request.ProxyOptions{Scheme: "ftp"}))
		}, `proxy pods prod/web-0: request not sent: ProxyOptions.Scheme: "ftp" is neither http nor https`},
		{"resize without a container", func() error {
			_, err := pods.Resize(ctx, "web-0", "", &corev1.ResourceRequirements{}, nil)
			return err
		}, "patch pods prod/web-0: request not sent: container: is empty; name a container of the pod"},
		{"resize without resources", func() error {
			_, err := pods.Resize(ctx, "web-0", "main", nil, nil)
			return err
		}, "patch pods prod/web-0: request not sent: resources: are empty; set requests or limits"},
		{
			"no namespace", func() error { return pod.In(c, "").Evict(ctx, "web-0", nil) },
			"evict pods web-0: request not sent: namespace: is empty, but pods live in namespaces; name one",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.do()
			if text(err) != tt.want {
				t.Errorf("error = %v\nwant %s", err, tt.want)
			}
			if _, ok := errors.AsType[*request.InvalidError](err); !ok {
				t.Error("the error is not an InvalidError")
			}
		})
	}
	if n := len(s.Asked()); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
}
