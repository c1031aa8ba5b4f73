// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/access"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// connect returns a client of a server that responds to every request with body, and a record of the requests.
func connect(code int, body string) (c *client.Client, asked *strings.Builder) {
	asked = new(strings.Builder)
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			sent, err := io.ReadAll(r.Body)
			fmt.Fprintf(asked, "%s %s %s", r.Method, r.URL.RequestURI(), sent)
			return &http.Response{
				StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, err
		}),
	})
	if err != nil {
		panic(err)
	}
	return c, asked
}

const (
	reviewed = `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},"status":`
	asks     = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews " +
		`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":`
)

func TestCan(t *testing.T) {
	deployments := core.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Namespaced: true}
	for _, tc := range []struct {
		name   string
		in     access.Action
		status string
		sent   string
		want   access.Decision
	}{
		{
			name:   "one object's subresource",
			in:     access.Action{Verb: "update", Resource: deployments, Subresource: "scale", Namespace: "prod", Name: "web"},
			status: `{"allowed":true,"reason":"RBAC: allowed by RoleBinding"}`,
			sent: `{"resourceAttributes":{"namespace":"prod","verb":"update","group":"apps","version":"v1",` +
				`"resource":"deployments","subresource":"scale","name":"web"}}}`,
			want: access.Decision{Allowed: true, Reason: "RBAC: allowed by RoleBinding"},
		},
		{
			name:   "all verbs and resources",
			in:     access.Action{Verb: "*", Resource: core.Resource{Group: "*", Plural: "*"}},
			status: `{"allowed":false,"denied":true,"evaluationError":"webhook is down"}`,
			sent:   `{"resourceAttributes":{"verb":"*","group":"*","resource":"*"}}}`,
			want:   access.Decision{Denied: true, EvaluationError: "webhook is down"},
		},
		{
			name:   "a path",
			in:     access.Action{Verb: "get", Path: "/metrics"},
			status: `{"allowed":false}`,
			sent:   `{"nonResourceAttributes":{"path":"/metrics","verb":"get"}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, asked := connect(201, reviewed+tc.status+"}")
			got, err := access.Can(t.Context(), c, tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(asks+tc.sent, asked.String()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCanRejectsInvalidActions(t *testing.T) {
	pods := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods"}
	for _, tc := range []struct {
		name string
		in   access.Action
		want string
	}{
		{
			"no verb",
			access.Action{Resource: pods},
			"request not sent: Action.Verb: is empty; name a verb such as get, or * for all",
		},
		{
			"no resource and no path",
			access.Action{Verb: "get"},
			"request not sent: Action.Resource: has an empty Plural; name a resource, or set Path",
		},
		{
			"a path and a resource",
			access.Action{Verb: "get", Path: "/x", Resource: pods},
			"request not sent: Action.Path: conflicts with the fields of a resource; leave one of them empty",
		},
		{
			"a path and a namespace",
			access.Action{Verb: "get", Path: "/x", Namespace: "prod"},
			"request not sent: Action.Path: conflicts with the fields of a resource; leave one of them empty",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, asked := connect(500, "")
			_, err := access.Can(t.Context(), c, tc.in)
			if _, ok := errors.AsType[*request.InvalidError](err); !ok || err.Error() != tc.want {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
			if asked.Len() > 0 {
				t.Errorf("a request was sent: %s", asked)
			}
		})
	}
}

func TestErrorsOfReviews(t *testing.T) {
	c, _ := connect(403,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`)
	_, err := access.Can(t.Context(), c, access.Action{Verb: "get", Path: "/"})
	if want := "create selfsubjectaccessreviews.authorization.k8s.io: forbidden: server said: no"; err == nil ||
		!errors.Is(err, core.ErrForbidden) || err.Error() != want {
		t.Errorf("Can: %v, want %s", err, want)
	}
	_, err = access.WhoAmI(t.Context(), c)
	if want := "create selfsubjectreviews.authentication.k8s.io: forbidden: server said: no"; err == nil ||
		!errors.Is(err, core.ErrForbidden) || err.Error() != want {
		t.Errorf("WhoAmI: %v, want %s", err, want)
	}
	c, _ = connect(404, "")
	_, err = access.WhoAmI(t.Context(), c)
	if _, ok := errors.AsType[*client.NotServedError](err); !ok {
		t.Errorf("WhoAmI of an old server: %v, want a NotServedError", err)
	}
}

func TestWhoAmI(t *testing.T) {
	c, asked := connect(201, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":`+
		`{"username":"eve","uid":"7","groups":["system:authenticated"],"extra":{"scopes":["a","b"]}}}}`)
	got, err := access.WhoAmI(t.Context(), c)
	want := &access.Identity{
		Username: "eve", UID: "7", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"scopes": {"a", "b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("WhoAmI: %v (-want +got):\n%s", err, diff)
	}
	const sent = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews " +
		`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`
	if asked.String() != sent {
		t.Errorf("request = %s, want %s", asked, sent)
	}
}

func ExampleCan() {
	c, _ := connect(201, reviewed+`{"allowed":false,"reason":"no rule allows it"}}`) // programs: client.New(ctx, nil)
	pods := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	d, err := access.Can(context.Background(), c, access.Action{Verb: "delete", Resource: pods, Namespace: "prod"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Allowed, d.Reason)
	// Output: false no rule allows it
}

func ExampleWhoAmI() {
	c, _ := connect(201,
		`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"eve"}}}`)
	me, err := access.WhoAmI(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(me.Username)
	// Output: eve
}
