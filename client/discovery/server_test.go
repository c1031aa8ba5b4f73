// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
)

func TestVersion(t *testing.T) {
	server := &fakeServer{responses: map[string]response{"/version": plain(`{"major":"1","minor":"36",` +
		`"gitVersion":"v1.36.3","platform":"linux/amd64"}`)}}
	v, err := discovery.Version(t.Context(), server.client(t))
	if err != nil || v.Major != "1" || v.Minor != "36" || v.GitVersion != "v1.36.3" || v.Platform != "linux/amd64" {
		t.Errorf("Version = %+v, %v", v, err)
	}
	for name, tc := range map[string]struct {
		in   response
		want string
	}{
		"no such path": {response{}, "server version: not found"},
		"not a version": {
			plain(`{}`), "server version: the response has no gitVersion; is this the address of a Kubernetes API server?",
		},
		"an HTML page":            {response{code: 200, contentType: "text/html", body: "<html>"}, "server version: content type"},
		"a truncated response":    {plain(`{"major":`), "server version: "},
		"a field of another type": {plain(`{"major":1}`), "server version: "},
	} {
		t.Run(name, func(t *testing.T) {
			server.set("/version", tc.in)
			if _, err := discovery.Version(t.Context(), server.client(t)); err == nil ||
				!strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	const well, ill = "[+]ping ok\n[+]etcd excluded: ok\n[+]shutdown ok\nreadyz check passed\n",
		"[+]ping ok\n[-]etcd failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n"
	server := &fakeServer{responses: map[string]response{
		"/readyz": {code: 200, contentType: "text/plain; charset=utf-8", body: well},
		"/livez":  {code: 500, contentType: "text/plain; charset=utf-8", body: ill},
	}}
	got, err := discovery.Health(t.Context(), server.client(t), discovery.Ready,
		&discovery.HealthOptions{Exclude: []string{"etcd"}})
	want := &discovery.HealthReport{Healthy: true, Text: well, Checks: []discovery.HealthCheck{
		{Name: "ping", Passed: true, Detail: "ok"}, {Name: "etcd", Passed: true, Detail: "excluded: ok"}, {
			Name:   "shutdown",
			Passed: true, Detail: "ok",
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("healthy: %v (-want +got):\n%s", err, diff)
	}
	if asked := server.takeAsked(); len(asked) != 1 || asked[0] != "/readyz?exclude=etcd&verbose=true" {
		t.Errorf("requests = %v", asked)
	}
	got, err = discovery.Health(t.Context(), server.client(t), discovery.Live, nil)
	if err != nil || got.Healthy || len(got.Checks) != 3 {
		t.Fatalf("unhealthy: %+v, %v", got, err)
	}
	if diff := cmp.Diff(discovery.HealthCheck{Name: "etcd", Detail: "failed: reason withheld"},
		got.Checks[1]); diff != "" {
		t.Errorf("unhealthy (-want +got):\n%s", diff)
	}
	if got.Text != ill {
		t.Errorf("Text = %q, want the body of the response", got.Text)
	}
	many := strings.Repeat("[+]poststarthook/one-of-many-that-have-to-run ok\n", 1000) + ill
	server.set("/livez", response{code: 500, contentType: "text/plain; charset=utf-8", body: many})
	if got, err = discovery.Health(t.Context(), server.client(t), discovery.Live, nil); err != nil ||
		len(got.Checks) != 1003 {
		t.Errorf("1003 failed checks: Checks has %d, %v", len(got.Checks), err)
	}
	server.set("/livez", response{code: 403, contentType: "text/plain", body: "no"})
	if _, err := discovery.Health(t.Context(), server.client(t), discovery.Live, nil); !errors.Is(err, core.ErrForbidden) {
		t.Errorf("error = %v, want the server's", err)
	}
	_, err = discovery.Health(t.Context(), server.client(t), "secrets", nil)
	if want := `health: probe "secrets" is neither readyz nor livez`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// FuzzHealth checks that each line of a report that describes a check has an entry, and that no other line has one.
func FuzzHealth(f *testing.F) {
	f.Add("[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n")
	f.Add("[+][-][+]")
	f.Fuzz(func(t *testing.T, text string) {
		server := &fakeServer{responses: map[string]response{"/readyz": {code: 200, contentType: "text/plain", body: text}}}
		got, err := discovery.Health(t.Context(), server.client(t), discovery.Ready, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Count("\n"+text, "\n[+]") + strings.Count("\n"+text, "\n[-]"); len(got.Checks) != want {
			t.Errorf("%d checks, want %d", len(got.Checks), want)
		}
	})
}
