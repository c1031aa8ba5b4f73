// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// canned is a transport that returns the same response to every request.
func canned(code int, header http.Header, body string) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})
}

// cannedClient returns a client that receives the same response to every request.
func cannedClient(t testing.TB, code int, contentType, body string) *client.Client {
	t.Helper()
	header := http.Header{"Content-Type": {contentType}}
	return testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test"), Retry: testserver.Once(), Transport: canned(code, header, body)})
}

func TestOpErrorHasVerbResourceAndName(t *testing.T) {
	notFound := func(kind, name string) error {
		return &core.StatusError{Status: metav1.Status{
			Code: 404, Reason: metav1.StatusReasonNotFound, Message: kind + ` "` + name + `" not found`,
			Details: &metav1.StatusDetails{Name: name, Kind: kind},
		}}
	}
	web := core.ObjectRef{Namespace: "prod", Name: "web"}
	for _, tc := range []struct {
		name string
		in   client.OpError
		want string
	}{
		{
			"a missing object",
			client.OpError{Verb: "get", Resource: "pods", Ref: web, Err: notFound("pods", "web")},
			"get pods prod/web: not found",
		},
		{
			"an object of a group",
			client.OpError{Verb: "get", Resource: "deployments.apps", Ref: web, Err: notFound("deployments", "web")},
			"get deployments.apps prod/web: not found",
		},
		{
			"a subresource of a missing object",
			client.OpError{Verb: "update", Resource: "pods/status", Ref: web, Err: notFound("pods", "web")},
			"update pods/status prod/web: not found",
		},
		{
			"a subresource of a missing object of a group",
			client.OpError{Verb: "get", Resource: "deployments.apps/scale", Ref: web, Err: notFound("deployments", "web")},
			"get deployments.apps/scale prod/web: not found",
		},
		{
			"a subresource of a custom kind",
			client.OpError{Verb: "get", Resource: "gadgets.example.com/scale", Ref: web, Err: notFound("gadgets", "web")},
			"get gadgets.example.com/scale prod/web: not found, or the kind has no such subresource",
		},
		{
			"another missing object",
			client.OpError{Verb: "create", Resource: "pods", Ref: web, Err: notFound("namespaces", "prod")},
			`create pods prod/web: not found: server said: namespaces "prod" not found`,
		},
		{
			"another object of the same name",
			client.OpError{Verb: "create", Resource: "pods", Ref: web, Err: notFound("serviceaccounts", "web")},
			`create pods prod/web: not found: server said: serviceaccounts "web" not found`,
		},
		{
			"a kind that begins like the resource",
			client.OpError{Verb: "create", Resource: "podtemplates", Ref: web, Err: notFound("pod", "web")},
			`create podtemplates prod/web: not found: server said: pod "web" not found`,
		},
		{
			"a collection of a namespace",
			client.OpError{Verb: "list", Resource: "pods", Ref: core.ObjectRef{Namespace: "prod"}, Err: core.ErrForbidden},
			"list pods in prod: forbidden",
		},
		{
			"a collection of the cluster",
			client.OpError{Verb: "list", Resource: "nodes", Err: core.ErrForbidden},
			"list nodes: forbidden",
		},
		{
			"a cluster-scoped object",
			client.OpError{Verb: "delete", Resource: "nodes", Ref: core.ObjectRef{Name: "n1"}, Err: core.ErrForbidden},
			"delete nodes n1: forbidden",
		},
		{"a message of the server", client.OpError{Verb: "update", Resource: "pods", Ref: web, Err: &core.StatusError{Status: metav1.Status{
			Code: 409, Reason: metav1.StatusReasonConflict, Message: "the object has been modified",
		}}}, "update pods prod/web: conflict: server said: the object has been modified"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.in.Error(); got != tc.want {
				t.Errorf("Error() = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestConflictOfACreateMeansThatTheObjectExists checks that a 409 for a create means that the object exists, unless the
// response has another reason.
func TestConflictOfACreateMeansThatTheObjectExists(t *testing.T) {
	status := func(reason string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","code":409}`
	}
	create := func(a *client.API[corev1.Pod]) error {
		_, err := a.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, nil)
		return err
	}
	update := func(a *client.API[corev1.Pod]) error {
		_, err := a.Update(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "1"}}, nil)
		return err
	}
	bind := func(a *client.API[corev1.Pod]) error {
		return pod.In(a.Client(), "prod").Bind(t.Context(), "web", "n1", nil)
	}
	for _, tc := range []struct {
		name        string
		contentType string
		body        string
		call        func(*client.API[corev1.Pod]) error
		want        error
	}{
		{"a create without a Status", "text/plain", "conflict", create, core.ErrAlreadyExists},
		{"a create without a body", "", "", create, core.ErrAlreadyExists},
		{"a create whose object exists", jsonType, status("AlreadyExists"), create, core.ErrAlreadyExists},
		{"a create with another conflict", jsonType, status("Conflict"), create, core.ErrConflict},
		{"a create that a webhook rejects", jsonType, status(""), create, core.ErrConflict},
		{"a create of a subresource", "text/plain", "conflict", bind, core.ErrConflict},
		{"an update without a Status", "text/plain", "conflict", update, core.ErrConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call(client.Namespaced[corev1.Pod](cannedClient(t, 409, tc.contentType, tc.body), "prod"))
			for _, sentinel := range []error{core.ErrAlreadyExists, core.ErrConflict} {
				if got := errors.Is(err, sentinel); got != (sentinel == tc.want) {
					t.Errorf("errors.Is(%v, %v) = %t", err, sentinel, got)
				}
			}
		})
	}
}

// TestMissingKindIsNotAMissingObject checks that the error of a kind that is not served differs from the error of a
// missing object.
func TestMissingKindIsNotAMissingObject(t *testing.T) {
	const unknownPath = "404 page not found\n"
	status := func(message, details string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","message":` + strconv.Quote(message) +
			`,"reason":"NotFound","code":404` + details + `}`
	}
	widgets := core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets"}
	deployments := core.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments"}
	for _, tc := range []struct {
		name        string
		res         core.Resource
		status      bool
		contentType string
		body        string
		want        string // empty: not a NotServedError
	}{
		{
			"an unknown path, custom resource", widgets, false, "text/plain", unknownPath,
			"get widgets.example.com w: the server does not serve widgets.example.com in version v1: " +
				"install its CustomResourceDefinition, enable the API, or correct the group and version",
		},
		{
			"an unknown path, core group", nodes, false, "text/plain", unknownPath,
			"get nodes w: the server does not serve nodes in version v1: " +
				"correct the plural or the group of the kind, or the address, if it is not that of a Kubernetes API server",
		},
		{
			"an unknown path, built-in group", deployments, false, "text/plain", unknownPath,
			"get deployments.apps w: the server does not serve deployments.apps in version v1: " +
				"correct the group and version, or enable the API",
		},
		{
			"an unknown path, subresource", nodes, true, "text/plain", unknownPath,
			"get nodes/status w: the server does not serve nodes/status in version v1: enable the subresource, or do without it",
		},
		{
			"a Status without an object", widgets, false, jsonType,
			status("the server could not find the requested resource", `,"details":{}`),
			"get widgets.example.com w: the server does not serve widgets.example.com in version v1: " +
				"install its CustomResourceDefinition, enable the API, or correct the group and version",
		},
		{
			"a Status of the object", widgets, false, jsonType,
			status(`widgets "w" not found`, `,"details":{"name":"w","kind":"widgets"}`), "",
		},
		{
			"a Status of an aggregated server", widgets, false, jsonType,
			status("the server could not find the metric queue_length for widgets", ""), "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			api := client.Dynamic(cannedClient(t, 404, tc.contentType, tc.body), tc.res)
			get := api.Get
			if tc.status {
				get = api.Status().Get
			}
			_, err := get(t.Context(), "w", nil)
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("error = %v, want one that matches ErrNotFound", err)
			}
			_, ok := errors.AsType[*client.NotServedError](err)
			if ok != (tc.want != "") || ok && err.Error() != tc.want {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestDenialsOfWebhooksKeepTheirMessage has a webhook that denies with a code that has another meaning in responses of
// API servers.
func TestDenialsOfWebhooksKeepTheirMessage(t *testing.T) {
	for _, code := range []int{401, 404} {
		const message = `admission webhook "v.example.com" denied the request: no quota`
		body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"code":%d}`, message, code)
		s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
			testserver.Reply(w, code, jsonType, []byte(body))
		})
		cfg := s.Config()
		cfg.BearerToken = "abcdefgh"
		c := testserver.NewClient(t, &client.Options{Config: cfg})
		_, err := client.Namespaced[leanConfigMap](c, "prod").Create(t.Context(), leanWeb(), nil)
		if err == nil || !strings.HasSuffix(err.Error(), "server said: "+message) {
			t.Errorf("error of a denial with %d = %v, want one that ends with the message %s", code, err, message)
		}
	}
}

// TestErrorResponsesBecomeStatusErrors checks error responses of API servers, proxies and other servers.
func TestErrorResponsesBecomeStatusErrors(t *testing.T) {
	protobuf := string(envelope(t, "Status", &metav1.Status{
		Status: "Failure", Code: 409, Reason: metav1.StatusReasonConflict, Message: "too late",
	}))
	for _, tc := range []struct {
		name        string
		code        int
		contentType string
		body        string
		is          error
		want        string
	}{
		{
			"a Status in JSON", 409, jsonType, `{"kind":"Status","apiVersion":"v1","code":409,"reason":"Conflict","message":"too late"}`,
			core.ErrConflict, "get nodes n1: conflict: server said: too late",
		},
		{
			"a Status in protobuf", 409, protobufType, protobuf,
			core.ErrConflict, "get nodes n1: conflict: server said: too late",
		},
		{
			"a Status without a code", 422, jsonType, `{"kind":"Status","apiVersion":"v1","message":"no"}`,
			core.ErrInvalid, "get nodes n1: invalid: server said: no",
		},
		{
			"the reason takes precedence over the code", 409, jsonType, `{"kind":"Status","apiVersion":"v1","code":409,"reason":"AlreadyExists","message":"no"}`,
			core.ErrAlreadyExists, "get nodes n1: already exists: server said: no",
		},
		{
			"plain text", 429, "text/plain", "Too many requests, please try again later.\n",
			core.ErrTooManyRequests, "get nodes n1: too many requests: server said: Too many requests, please try again later.",
		},
		{
			"the page of a proxy", 503, "text/html", "<html>\r\n<head><title>503</title></head>\n</html>\n",
			core.ErrUnavailable, "get nodes n1: service unavailable: server said: <html> <head><title>503</title></head> </html>",
		},
		{
			"JSON that is not a Status", 500, jsonType, `{"error":"boom"}`,
			core.ErrInternal, `get nodes n1: internal error: server said: {"error":"boom"}`,
		},
		{
			"broken JSON", 500, jsonType, `{"kind":"Stat`,
			core.ErrInternal, `get nodes n1: internal error: server said: {"kind":"Stat`,
		},
		{"an empty body", 401, "", "", core.ErrUnauthorized, "get nodes n1: unauthorized"},
		{"an unusual code", 418, "", "", nil, "get nodes n1: status 418"},
		{"an invalid code", 999, "text/plain", "huh", nil, "get nodes n1: status 999: server said: huh"},
		{
			"a truncated character", 500, "text/plain", strings.Repeat("a", 2<<10-1) + "é",
			core.ErrInternal, "get nodes n1: internal error: server said: " + strings.Repeat("a", 2<<10-1),
		},
		{
			"a huge body", 500, "text/plain", strings.Repeat("a", 3<<20),
			core.ErrInternal, "get nodes n1: internal error: server said: " + strings.Repeat("a", 2<<10),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cannedClient(t, tc.code, tc.contentType, tc.body)
			_, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil)
			se, ok := errors.AsType[*core.StatusError](err)
			if !ok {
				t.Fatalf("error = %v, want a StatusError", err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) || err.Error() != tc.want {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
			if int(se.Status.Code) != tc.code {
				t.Errorf("code = %d, want %d", se.Status.Code, tc.code)
			}
		})
	}
}

// TestRejectedJSONPatchNamesLikelyCauses checks that the error of a JSON patch names likely causes if the server does not
// name one. That of a merge patch does not, and neither does the denial of a webhook.
func TestRejectedJSONPatchNamesLikelyCauses(t *testing.T) {
	const generic = "the server rejected our request due to an error in our request"
	jsonPatch := request.JSONPatch(request.Op{Op: "test", Path: "/spec/podCIDR", Value: "x"})
	for _, tc := range []struct {
		name    string
		patch   request.Patch
		message string
		want    string
	}{
		{
			"a JSON patch", jsonPatch, generic,
			"patch nodes n1: invalid: server said: " + generic + "; the JSON patch can't be applied: a test fails, or a " +
				"path does not exist",
		},
		{
			"a merge patch", request.MergePatch(map[string]any{}), generic,
			"patch nodes n1: invalid: server said: " + generic,
		},
		{"a denial", jsonPatch, "denied", "patch nodes n1: invalid: server said: denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cannedClient(t, 422, jsonType, `{"kind":"Status","apiVersion":"v1","code":422,"reason":"Invalid","message":"`+
				tc.message+`","details":{}}`)
			_, err := client.Dynamic(c, nodes).Patch(t.Context(), "n1", tc.patch, nil)
			if !errors.Is(err, core.ErrInvalid) || err.Error() != tc.want {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
		})
	}
}

// TestUnexpectedSuccessIsAnError checks that a successful response with an unexpected body is an error.
func TestUnexpectedSuccessIsAnError(t *testing.T) {
	for _, tc := range []struct {
		name, contentType, body, want string
	}{
		{"a login page", "text/html", "<html>", "is this the address of a Kubernetes API server?"},
		{
			"another kind", jsonType, `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
			`get nodes n1: the server sent "Status" of "v1" instead of Node of v1`,
		},
		{"broken JSON", jsonType, `{"kind":"Node"`, "get nodes n1: decode json: "},
		{"an empty body", jsonType, "", "get nodes n1: decode json: "},
		{"protobuf for a type without protobuf tags", protobufType, string(envelope(t, "Node", &corev1.Node{})), "ask the server for JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := client.Dynamic(cannedClient(t, 200, tc.contentType, tc.body), nodes).Get(t.Context(), "n1", nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
		})
	}
}

// TestDeleteIsConfirmedByAnAPIServer checks that the page of a proxy is not the response to a delete. Some servers send
// no body.
func TestDeleteIsConfirmedByAnAPIServer(t *testing.T) {
	for _, tc := range []struct {
		contentType, body, want string
	}{
		{"text/html", "<html>Log in</html>", `content type "text/html"`},
		{jsonType, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, ""},
		{"text/plain", "", ""},
	} {
		api := client.Dynamic(cannedClient(t, 200, tc.contentType, tc.body), nodes)
		for verb, err := range map[string]error{
			"delete nodes n1": api.Delete(t.Context(), "n1", nil), "deletecollection nodes": api.DeleteCollection(t.Context(), nil, nil),
		} {
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), verb+": "+tc.want)) {
				t.Errorf("%s with %q in %s = %v, want %q", verb, tc.body, tc.contentType, err, tc.want)
			}
		}
	}
}

// TestDoChecksTheContentOfASuccess checks which responses Do accepts, by what the request asks for.
func TestDoChecksTheContentOfASuccess(t *testing.T) {
	const page = "<html>Log in</html>"
	proxied := request.Target{Resource: nodes, Name: "n1", Subresource: "proxy"}
	for _, tc := range []struct {
		name, body string
		r          request.Request
		fails      bool
	}{
		{"JSON", page, request.Request{Accept: jsonType}, true},
		{"a table", page, request.Request{Accept: jsonType + ";as=Table;v=v1;g=meta.k8s.io," + jsonType}, true},
		{"protobuf or JSON", page, request.Request{Accept: wire.MediaTypeProtobuf + ", " + jsonType}, true},
		{"JSON, and receives nothing", "", request.Request{Accept: jsonType}, false},
		{"JSON from a node", page, request.Request{Accept: jsonType, Target: proxied}, false},
		{"text", page, request.Request{Accept: "text/plain,*/*"}, false},
		{"anything", page, request.Request{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.r.Method, tc.r.Path = "GET", "/path"
			resp, err := cannedClient(t, 200, "text/html", tc.body).Do(t.Context(), &tc.r)
			if tc.fails {
				if err == nil || !strings.Contains(err.Error(), `content type "text/html"`) {
					t.Errorf("error = %v, want one that names the content type", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, err := io.ReadAll(resp.Body); string(body) != tc.body || err != nil {
				t.Errorf("body = %q, %v, want %q", body, err, tc.body)
			}
		})
	}
}

func TestRetryAfterIsReadFromTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tc := range []struct {
			name, header string
			want         time.Duration
		}{
			{"seconds", "7", 7 * time.Second},
			{"a date", now.Add(30 * time.Second).UTC().Format(http.TimeFormat), 30 * time.Second},
			{"a date in the past", now.Add(-time.Hour).UTC().Format(http.TimeFormat), 0},
			{"a very long delay", "99999999999999", 5 * time.Minute},
			{"a negative number", "-5", 0},
			{"nonsense", "soon", 0},
			{"nothing", "", 0},
		} {
			c := testserver.NewClient(t, &client.Options{
				Config:    newConfig("https://cluster.test"),
				Retry:     testserver.Once(),
				Transport: canned(429, http.Header{"Retry-After": {tc.header}}, ""),
			})
			_, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil)
			if got, ok := core.RetryAfter(err); got != tc.want || ok != (tc.want > 0) {
				t.Errorf("%s: RetryAfter = %v, %v; want %v", tc.name, got, ok, tc.want)
			}
		}
	})
}

// TestRedirectIsAnError checks that the client does not send its credentials to the target of a redirect.
func TestRedirectIsAnError(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.test/", http.StatusFound)
	})
	cfg := s.Config()
	cfg.BearerToken = "secret"
	c := testserver.NewClient(t, &client.Options{Config: cfg})
	_, err := client.ClusterWide[corev1.Node](c).Get(t.Context(), "n1", nil)
	const want = "get nodes n1: status 302: server said: go to https://elsewhere.test/ (redirects are not followed; correct the server's address)"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if n := len(s.Asked()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestRejectedProtobufFallsBackToJSON checks that requests are repeated with JSON if a server rejects protobuf bodies,
// and that this is remembered.
func TestRejectedProtobufFallsBackToJSON(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Content-Type") == protobufType:
			testserver.Fail(w, 415, metav1.StatusReasonUnsupportedMediaType, "only JSON here")
		case strings.Contains(r.Header.Get("Content-Type"), "patch"):
			testserver.Fail(w, 415, metav1.StatusReasonUnsupportedMediaType, "no such patch")
		case strings.Contains(r.URL.Path, "nodes"):
			testserver.Fail(w, 409, metav1.StatusReasonConflict, "no")
		default:
			testserver.Reply(w, 201, jsonType, configMapJSON(t, "web", "blue"))
		}
	})
	c := s.Client(t)
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	create := func() {
		t.Helper()
		if _, err := maps.Create(t.Context(), configMap("web", "blue"), nil); err != nil {
			t.Fatal(err)
		}
	}
	create()
	create()
	_, err := client.ClusterWide[corev1.Node](c).Update(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, nil)
	if !errors.Is(err, core.ErrConflict) {
		t.Errorf("error = %v, want the response to the JSON body", err)
	}
	_, err = client.ClusterWide[corev1.Node](c).Patch(t.Context(), "n1", request.StrategicMergePatch([]byte(`{}`)), nil)
	if !errors.Is(err, core.ErrUnsupportedMediaType) {
		t.Errorf("error = %v, want ErrUnsupportedMediaType", err)
	}
	var got []string
	for _, a := range s.Asked() {
		got = append(got, a.Method+" "+a.Header.Get("Content-Type"))
	}
	want := []string{
		"POST " + protobufType, "POST " + jsonType, // rejected, and repeated
		"POST " + jsonType,                       // remembered
		"PUT " + protobufType, "PUT " + jsonType, // a resource for which nothing is remembered
		"PATCH application/strategic-merge-patch+json", // without a fallback
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("requests:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadBytesAreBounded checks that no response is read without a limit.
func TestReadBytesAreBounded(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		object := configMapJSON(t, "web", strings.Repeat("x", 4<<10))
		switch {
		case r.URL.Query().Has("watch"):
			object = append(append([]byte(`{"type":"ADDED","object":`), object...), '}')
		case !strings.HasSuffix(r.URL.Path, "web"):
			object = append(append([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[`), object...), "]}"...)
		}
		testserver.Reply(w, 200, jsonType, object)
	})
	c := testserver.NewClient(t, &client.Options{Config: s.Config(), Limits: &wire.Limits{ObjectBytes: 2 << 10}})
	maps := client.Namespaced[leanConfigMap](c, "prod")
	for _, tc := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"get", func(ctx context.Context) error { _, err := maps.Get(ctx, "web", nil); return err }},
		{"list", func(ctx context.Context) error { _, err := maps.List(ctx, nil); return err }},
		{"watch", func(ctx context.Context) error {
			for _, err := range maps.WatchOnce(ctx, nil) {
				return err
			}
			return nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tooLarge, ok := errors.AsType[*wire.TooLargeError](tc.do(t.Context()))
			if !ok || tooLarge.LimitBytes != 2<<10 {
				t.Errorf("error = %v, want a TooLargeError of 2048 bytes", tooLarge)
			}
		})
	}
}
