// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

func account() request.Target { return in(resource[corev1.ServiceAccount](), "prod", "robot") }
func service() request.Target { return in(resource[corev1.Service](), "prod", "web") }

func subresources() []golden {
	scale := sub(deployment(), "scale")
	scale.Kind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	logs := func(o *request.LogOptions) func() (*request.Request, error) {
		return func() (*request.Request, error) { return request.Log(pod(), o) }
	}
	proxy := func(t request.Target, o *request.ProxyOptions) func() (*request.Request, error) {
		return func() (*request.Request, error) { return request.Proxy(t, o) }
	}
	raw := func(path string) func() (*request.Request, error) {
		return func() (*request.Request, error) { return request.Raw(path) }
	}
	return []golden{
		{"get a scale", func() (*request.Request, error) { return request.Get(scale, nil) }},
		{"update a scale", func() (*request.Request, error) {
			return request.Update(scale, &core.Scale{ObjectMeta: named("web"), Spec: core.ScaleSpec{Replicas: 3}}, nil)
		}},
		{"approve a certificate", func() (*request.Request, error) {
			csr := in(resource[certificatesv1.CertificateSigningRequest](), "", "me")
			return request.Update(sub(csr, "approval"), &certificatesv1.CertificateSigningRequest{
				ObjectMeta: named("me"),
				Status: certificatesv1.CertificateSigningRequestStatus{Conditions: []certificatesv1.CertificateSigningRequestCondition{
					{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Known"},
				}},
			}, nil)
		}},
		{"finalize a namespace", func() (*request.Request, error) {
			return request.Update(sub(in(resource[corev1.Namespace](), "", "prod"), "finalize"), &corev1.Namespace{ObjectMeta: named("prod")}, nil)
		}},
		{"add an ephemeral container", func() (*request.Request, error) {
			return request.PatchObject(sub(pod(), "ephemeralcontainers"), request.StrategicMergePatch(
				`{"spec":{"ephemeralContainers":[{"name":"debug","image":"busybox"}]}}`), nil)
		}},
		{"resize a pod", func() (*request.Request, error) {
			return request.PatchObject(sub(pod(), "resize"), request.StrategicMergePatch(
				`{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"2"}}}]}}`), nil)
		}},
		{"evict", func() (*request.Request, error) { return request.Evict(pod(), nil) }},
		{"evict with every option", func() (*request.Request, error) {
			return request.Evict(pod(), &request.EvictOptions{
				GracePeriod: new(time.Duration(0)), Propagation: metav1.DeletePropagationForeground,
				UID: "u", ResourceVersion: "7", DryRun: true,
			})
		}},
		{"bind", func() (*request.Request, error) { return request.Bind(pod(), "n1", nil) }},
		{"bind with every option", func() (*request.Request, error) {
			return request.Bind(pod(), "n1", &request.BindOptions{
				UID: "u", ResourceVersion: "7", Annotations: map[string]string{"a": "b"}, DryRun: true, FieldManager: "me",
			})
		}},
		{"bind with the field manager of the target", func() (*request.Request, error) {
			t := pod()
			t.FieldManager = "me"
			return request.Bind(t, "n1", nil)
		}},
		{"token", func() (*request.Request, error) { return request.Token(account(), nil) }},
		{"token with every option", func() (*request.Request, error) {
			return request.Token(account(), &request.TokenOptions{
				Audiences:   []string{"vault", "git"},
				Expiration:  time.Hour,
				BoundObject: &request.BoundObject{APIVersion: "v1", Kind: "Pod", Name: "web-0", UID: "u"},
			})
		}},
		{"log", logs(nil)},
		{"log with every option", logs(everyLogOption())},
		{"log of one output since a time", logs(&request.LogOptions{
			Stream: request.LogStderr, SinceTime: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)),
		})},
		{"exec", func() (*request.Request, error) {
			return request.Exec(pod(), &request.ExecOptions{Command: []string{"sh", "-c", "echo a=b & c"}, Stdout: true, Stderr: true})
		}},
		{"exec with a terminal", func() (*request.Request, error) {
			return request.Exec(pod(), &request.ExecOptions{
				Command: []string{"sh"}, Container: "web", Stdin: true, Stdout: true, TTY: true,
			})
		}},
		{"attach", func() (*request.Request, error) {
			return request.Attach(pod(), &request.AttachOptions{Container: "web", Stdin: true, Stdout: true, Stderr: true})
		}},
		{"port-forward", func() (*request.Request, error) {
			return request.PortForward(pod(), &request.PortForwardOptions{Ports: []int32{8080, 1}})
		}},
		{"proxy to a pod", proxy(pod(), nil)},
		{"proxy to a pod's port", proxy(pod(), &request.ProxyOptions{
			Port: "8080", Path: "/a b/c%2f/", Query: url.Values{"q": {"1", "2"}},
		})},
		{"proxy to a named port of a service", proxy(service(), &request.ProxyOptions{
			Method: "POST", Scheme: "https", Port: "admin", Path: "reload", Accept: "text/plain",
			ContentType: "application/json", Body: []byte(`{"a":1}`),
		})},
		{"proxy to a node", proxy(node(), &request.ProxyOptions{Scheme: "https", Path: "metrics"})},
		{"a path", raw("/version")},
		{"a path with a query", raw("/readyz?verbose&exclude=etcd")},
		{"a path that is escaped", raw("/openapi/v3/apis/a%20b")},
	}
}

func everyLogOption() *request.LogOptions {
	return &request.LogOptions{
		Container: "web", Follow: true, Previous: true, Since: time.Minute, TailLines: new(int64(0)), LimitBytes: 1 << 20,
		Timestamps: true, Stream: request.LogAll, InsecureSkipTLSVerifyBackend: true,
	}
}

func views() []golden {
	metadata := func(t request.Target) request.Target {
		t.View = request.ViewMetadata
		return t
	}
	table := func(t request.Target) request.Target {
		t.View = request.ViewTable
		return t
	}
	return []golden{
		{"get metadata", func() (*request.Request, error) { return request.Get(metadata(pod()), nil) }},
		{"get metadata as protobuf", func() (*request.Request, error) { return request.Get(metadata(protobuf(pod())), nil) }},
		{"list metadata", func() (*request.Request, error) { return request.List(metadata(protobuf(pods())), nil) }},
		{"watch metadata", func() (*request.Request, error) {
			return request.Watch(metadata(protobuf(pods())), &request.WatchOptions{Timeout: time.Minute})
		}},
		{"watch metadata in JSON", func() (*request.Request, error) {
			return request.Watch(metadata(pods()), &request.WatchOptions{Timeout: time.Minute})
		}},
		{"get a table", func() (*request.Request, error) { return request.Get(table(protobuf(pod())), nil) }},
		{"list a table", func() (*request.Request, error) { return request.List(table(protobuf(pods())), nil) }},
		{"watch a table", func() (*request.Request, error) {
			return request.Watch(table(pods()), &request.WatchOptions{Timeout: time.Minute})
		}},
		{"patch for metadata", func() (*request.Request, error) {
			return request.PatchObject(metadata(protobuf(pod())), request.MergePatch(`{}`), nil)
		}},
		{"apply metadata", func() (*request.Request, error) {
			return request.Apply(metadata(protobuf(pod())), &metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"a": "b"}},
			}, &request.ApplyOptions{FieldManager: "me"})
		}},
		{"delete for metadata", func() (*request.Request, error) { return request.Delete(metadata(protobuf(pod())), nil) }},
	}
}

// The bodies that this package builds must decode into the kinds of k8s.io/api without unknown fields.
func TestBodiesDecodeIntoTheServersKinds(t *testing.T) {
	tests := []struct {
		name string
		req  func() (*request.Request, error)
		into any
	}{
		{"an eviction", func() (*request.Request, error) {
			return request.Evict(pod(), &request.EvictOptions{
				GracePeriod: new(time.Second), Propagation: metav1.DeletePropagationOrphan,
				UID: "u", ResourceVersion: "7", DryRun: true,
			})
		}, &policyv1.Eviction{}},
		{"a binding", func() (*request.Request, error) {
			return request.Bind(pod(), "n1", &request.BindOptions{UID: "u", ResourceVersion: "7", Annotations: map[string]string{"a": "b"}})
		}, &corev1.Binding{}},
		{"a token request", func() (*request.Request, error) {
			return request.Token(account(), &request.TokenOptions{
				Audiences: []string{"a"}, Expiration: time.Hour,
				BoundObject: &request.BoundObject{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "u"},
			})
		}, &authenticationv1.TokenRequest{}},
		{"delete options", func() (*request.Request, error) {
			return request.Delete(pod(), &request.DeleteOptions{
				GracePeriod: new(time.Second), Propagation: metav1.DeletePropagationOrphan,
				UID: "u", ResourceVersion: "7", DryRun: true,
			})
		}, &metav1.DeleteOptions{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := tt.req()
			if err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(strings.NewReader(string(r.Body)))
			d.DisallowUnknownFields()
			if err := d.Decode(tt.into); err != nil {
				t.Errorf("%s: %v", r.Body, err)
			}
		})
	}
}

// The options of a log are the fields of PodLogOptions.
func TestLogOptionsMatchPodLogOptions(t *testing.T) {
	r, err := request.Log(pod(), everyLogOption())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(corev1.PodLogOptions{
		TypeMeta:  metav1.TypeMeta{},
		Container: "c", Follow: true, Previous: true, SinceSeconds: new(int64(1)), SinceTime: new(metav1.Now()), Timestamps: true,
		TailLines: new(int64(1)), LimitBytes: new(int64(1)), InsecureSkipTLSVerifyBackend: true, Stream: new("All"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]any
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	for key := range r.Query {
		if known[key] == nil {
			t.Errorf("PodLogOptions has no field %s", key)
		}
		delete(known, key)
	}
	delete(known, "sinceTime") // excludes sinceSeconds
	delete(known, "stream")    // LogAll is not sent, and the other streams exclude tailLines
	if len(known) > 0 {
		t.Errorf("fields of PodLogOptions that can't be set: %v", known)
	}
}

func TestRequestsHaveTheirTarget(t *testing.T) {
	for _, tt := range slices.Concat(reads(), writes(), patches(), deletes(), subresources(), views()) {
		r, err := tt.req()
		if err != nil {
			t.Fatal(err)
		}
		if isPath := strings.HasPrefix(tt.name, "a path"); isPath == (r.Target.Resource.Plural != "") {
			t.Errorf("%s: Target = %v", tt.name, r.Target)
		}
	}
}

func TestInvalidSubresourceRequestsAreRejected(t *testing.T) {
	exec := func(o request.ExecOptions) error { _, err := request.Exec(pod(), &o); return err }
	logs := func(o request.LogOptions) error { _, err := request.Log(pod(), &o); return err }
	ports := func(p ...int32) error {
		_, err := request.PortForward(pod(), &request.PortForwardOptions{Ports: p})
		return err
	}
	token := func(o request.TokenOptions) error { _, err := request.Token(account(), &o); return err }
	proxy := func(t request.Target, o request.ProxyOptions) error { _, err := request.Proxy(t, &o); return err }
	raw := func(path string) error { _, err := request.Raw(path); return err }
	sh := []string{"sh"}
	table := pod()
	table.View = request.ViewTable
	checkRefusals(t, []refusal{
		{"an eviction of a collection", func() error { _, err := request.Evict(pods(), nil); return err }(), "name", "is empty"},
		{"an eviction with a fraction of a second", func() error {
			_, err := request.Evict(pod(), &request.EvictOptions{GracePeriod: new(time.Millisecond)})
			return err
		}(), "EvictOptions.GracePeriod", "1ms"},
		{"a binding without a node", func() error { _, err := request.Bind(pod(), "", nil); return err }(), "node", "is empty"},
		{"a binding by a manager with unprintable characters", func() error {
			_, err := request.Bind(pod(), "n1", &request.BindOptions{FieldManager: "\t"})
			return err
		}(), "BindOptions.FieldManager", "printable"},
		{"a token that expires too early", token(request.TokenOptions{Expiration: time.Minute}), "TokenOptions.Expiration", "1m0s is invalid: use whole seconds, at least 10m0s"},
		{"a token for a fraction of a second", token(request.TokenOptions{Expiration: time.Hour + 1}), "TokenOptions.Expiration", "whole seconds"},
		{"a token bound to an object without a name", token(request.TokenOptions{BoundObject: &request.BoundObject{Kind: "Pod"}}), "TokenOptions.BoundObject", "needs APIVersion, Kind and Name"},
		{"logs of the future", logs(request.LogOptions{Since: -time.Second}), "LogOptions.Since", "-1s"},
		{"logs since a fraction of a second", logs(request.LogOptions{Since: time.Millisecond}), "LogOptions.Since", "1ms"},
		{"logs since two times", logs(request.LogOptions{Since: time.Second, SinceTime: time.Unix(1, 0)}), "LogOptions.Since", "one of them"},
		{"a negative number of lines", logs(request.LogOptions{TailLines: new(int64(-1))}), "LogOptions.TailLines", "negative"},
		{"a negative number of bytes", logs(request.LogOptions{LimitBytes: -1}), "LogOptions.LimitBytes", "negative"},
		{"logs of an unknown output", logs(request.LogOptions{Stream: "x"}), "LogOptions.Stream", `"x" is not valid`},
		{"the last lines of one output", logs(request.LogOptions{Stream: request.LogStdout, TailLines: new(int64(1))}), "LogOptions.TailLines", "requires Stream All"},
		{"an empty command", exec(request.ExecOptions{Stdout: true}), "ExecOptions.Command", "is empty"},
		{"a command without streams", exec(request.ExecOptions{Command: sh}), "ExecOptions.Stdout", "set at least one of them"},
		{"a terminal with two outputs", exec(request.ExecOptions{Command: sh, Stdout: true, Stderr: true, TTY: true}), "ExecOptions.Stderr", "one output"},
		{"an attach without streams", func() error { _, err := request.Attach(pod(), nil); return err }(), "AttachOptions.Stdout", "set at least one of them"},
		{"no port", ports(), "PortForwardOptions.Ports", "1 to 128"},
		{"port 0", ports(0), "PortForwardOptions.Ports", "0 is not a valid port"},
		{"a port above 65535", ports(80, 65536), "PortForwardOptions.Ports", "65536 is not a valid port"},
		{"a duplicate port", ports(80, 80), "PortForwardOptions.Ports", "80 is a duplicate"},
		{"a proxy without a name", proxy(pods(), request.ProxyOptions{Port: "80"}), "name", "is empty"},
		{"a proxy to a name with a port", proxy(in(resource[corev1.Pod](), "prod", "web:80"), request.ProxyOptions{}), "name", "as options"},
		{"a proxy with an unknown scheme", proxy(pod(), request.ProxyOptions{Scheme: "ftp"}), "ProxyOptions.Scheme", `"ftp"`},
		{"a proxy to a port that changes the path", proxy(pod(), request.ProxyOptions{Port: "8/0"}), "ProxyOptions.Port", `"8/0"`},
		{"a proxy to a named port of a pod", proxy(pod(), request.ProxyOptions{Port: "web"}), "ProxyOptions.Port", `"web" is not a number`},
		{"a proxy to a path that leaves the object", proxy(pod(), request.ProxyOptions{Path: "a/../../b"}), "ProxyOptions.Path", "segment .."},
		{"a proxy with an unknown method", proxy(pod(), request.ProxyOptions{Method: "TRACE"}), "ProxyOptions.Method", `"TRACE"`},
		{"a path without a slash", raw("version"), "path", "starts with one slash"},
		{"a path to another host", raw("//host/version"), "path", "starts with one slash"},
		{"a path with a fragment", raw("/a#b"), "path", "no fragment"},
		{"an invalid URL", raw("/%zz"), "path", "not the path of a URL"},
		{"a path above the root", raw("/a/../../b"), "path", "segment .."},
		{"an escaped path above the root", raw("/a/%2e%2e/b"), "path", "segment .."},
		{"a path with a broken query", raw("/a?b=%zz"), "path", "an invalid query"},
		{"an update for a table", func() error {
			_, err := request.Update(table, &corev1.Pod{ObjectMeta: named("web-0")}, nil)
			return err
		}(), "view", "tables are for get, list and watch"},
		{"an apply for a table", func() error {
			_, err := request.Apply(table, &corev1.Pod{ObjectMeta: named("web-0")}, &request.ApplyOptions{FieldManager: "me"})
			return err
		}(), "view", "tables are for"},
		{"a patch for a table", func() error { _, err := request.PatchObject(table, request.MergePatch(`{}`), nil); return err }(), "view", "tables are for"},
		{"a delete for a table", func() error { _, err := request.Delete(table, nil); return err }(), "view", "tables are for"},
		{"an update with metadata only", func() error {
			_, err := request.Update(pod(), &metav1.PartialObjectMetadata{ObjectMeta: named("web-0")}, nil)
			return err
		}(), "object", "use a patch or an apply"},
	})
}

// A proxied path must stay below the object.
func FuzzProxyPath(f *testing.F) {
	for _, s := range []string{"metrics", "/a/b/", "..", "a/..", "%2e%2e", "a?b", "a#b", "//", "é b", "a/%2e%2e/b", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := request.Proxy(pod(), &request.ProxyOptions{Path: path})
		if err != nil {
			return
		}
		const root = "/api/v1/namespaces/prod/pods/web-0/proxy"
		u, err := url.ParseRequestURI(r.URI())
		if err != nil {
			t.Fatalf("%q is not a request URI: %v", r.URI(), err)
		}
		if !strings.HasPrefix(u.EscapedPath(), root) || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%q leads to %q", path, r.URI())
		}
		if got := strings.TrimPrefix(u.Path, root); path != "" && strings.TrimPrefix(got, "/") != strings.TrimPrefix(path, "/") {
			t.Errorf("%q arrives as %q", path, got)
		}
	})
}

func FuzzRaw(f *testing.F) {
	for _, s := range []string{"/version", "/readyz?verbose", "//a", "/a#b", "/%zz", "/a b", "http://a/b", "/a?b=%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := request.Raw(path)
		if err != nil {
			return
		}
		u, err := url.ParseRequestURI(r.URI())
		if err != nil || u.Host != "" || u.Scheme != "" {
			t.Errorf("%q becomes %q: %v", path, r.URI(), err)
		}
	})
}
