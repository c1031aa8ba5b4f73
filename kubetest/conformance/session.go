// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kube-go/sdk/client"
)

// requestTimeout limits each request, except for watches.
const requestTimeout = 20 * time.Second

// session runs the steps of one case, or of the setup of a script.
type session struct {
	t    *testing.T
	c    *client.Client
	path string // of the script
	mode mode

	names   *names
	watches map[string]*stream
	created []string // paths of created objects
}

// mode is how scripts run.
type mode struct {
	record   bool          // replace the responses instead of comparing them
	patience time.Duration // how long a step waits for events, or for @until
}

// reply is the response to a request.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// run runs the setup of a script, and then its cases in parallel.
func (s *script) run(t *testing.T, c *client.Client, m mode) {
	t.Helper()
	id := strings.ToLower(rand.Text()[:8])
	values := map[string]string{"$group": "g" + id + ".example.com"}
	setup := &session{t: t, c: c, path: s.path, mode: m, names: newNames(values)}
	t.Cleanup(setup.clean) // after all cases
	setup.steps(s.setup.steps)
	for _, part := range s.cases {
		t.Run(part.name(), func(t *testing.T) {
			t.Parallel()
			ns := "kt-" + strings.ToLower(rand.Text()[:8])
			n := newNames(map[string]string{"$group": values["$group"], "$ns": ns})
			session := &session{t: t, c: c, path: s.path, mode: m, names: n}
			session.enter(ns)
			session.steps(part.steps)
		})
	}
}

// enter creates the namespace of a case.
func (s *session) enter(ns string) {
	s.t.Helper()
	s.t.Cleanup(s.clean)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, ns)
	r := s.do(s.t.Context(), http.MethodPost, "/api/v1/namespaces", nil, []byte(body))
	if r.code != http.StatusCreated {
		s.t.Fatalf("create namespace: status %d: %s", r.code, r.body)
	}
	s.created = append(s.created, "/api/v1/namespaces/"+ns)
}

// clean ends the watches of a session and deletes the objects that it created. The deletion of a namespace deletes its
// objects, but finalizers that a failed case has left would keep them.
func (s *session) clean() {
	for _, w := range s.watches {
		w.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	for _, path := range slices.Backward(s.created) {
		if s.t.Failed() {
			header := http.Header{"Content-Type": {"application/merge-patch+json"}}
			s.do(ctx, http.MethodPatch, path, header, []byte(`{"metadata":{"finalizers":null}}`))
		}
		if _, below, _ := strings.Cut(path, "/namespaces/"); !strings.Contains(below, "/") {
			s.do(ctx, http.MethodDelete, path, nil, nil)
		}
	}
}

// steps runs steps until one fails.
func (s *session) steps(steps []*step) {
	s.t.Helper()
	for _, st := range steps {
		if st.verb == "" {
			continue
		}
		got := s.step(st)
		if s.mode.record {
			st.response = got
			continue
		}
		want, have := strings.Join(st.response, "\n"), strings.Join(got, "\n")
		if diff := cmp.Diff(want, have); diff != "" {
			s.t.Fatalf("%s:%d: %s: the response differs (-want +got):\n%s", s.path, st.line, st.request[0], diff)
		}
	}
}

// step runs one step and returns the lines of its response.
func (s *session) step(st *step) []string {
	s.t.Helper()
	switch st.verb {
	case "WATCH":
		return s.watch(st)
	case "EVENTS", "END":
		return s.await(st)
	}
	method, header := s.method(st)
	if _, ignored := st.options["ignore"]; ignored {
		s.do(s.t.Context(), method, s.url(st.args[0]), header, s.body(st))
		return []string{"-> ignored"}
	}
	until, body := st.options["until"], s.body(st)
	for deadline := time.Now().Add(s.mode.patience); ; {
		known := s.names.clone()
		r := s.do(s.t.Context(), method, s.url(st.args[0]), header, body)
		lines := s.render(st, r)
		if until == "" || strings.Contains(strings.Join(lines, "\n"), until) {
			s.remember(st, method, r)
			return lines
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s:%d: no response contains %q within %v; the last one:\n%s", s.path, st.line, until,
				s.mode.patience, strings.Join(lines, "\n"))
		}
		s.names = known
		s.pause()
	}
}

// pause waits before a request is repeated.
func (s *session) pause() {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-s.t.Context().Done():
	}
}

// method returns the method and the header of a step's request.
func (s *session) method(st *step) (string, http.Header) {
	patches := map[string]string{
		"APPLY":     "application/apply-patch+yaml",
		"MERGE":     "application/merge-patch+json",
		"STRATEGIC": "application/strategic-merge-patch+json",
		"JSONPATCH": "application/json-patch+json",
	}
	header := http.Header{}
	method, contentType := st.verb, "application/json"
	if patch, ok := patches[st.verb]; ok {
		method, contentType = http.MethodPatch, patch
	}
	if st.verb == "WATCH" {
		method = http.MethodGet
	}
	if st.body != "" {
		header.Set("Content-Type", contentType)
	}
	for option, name := range map[string]string{
		"type": "Content-Type", "accept": "Accept", "as": "Impersonate-User", "group": "Impersonate-Group",
	} {
		if value := st.options[option]; value != "" {
			header.Set(name, s.names.expand(value))
		}
	}
	return method, header
}

// body returns the body of a step's request in JSON.
func (s *session) body(st *step) []byte {
	s.t.Helper()
	text := []byte(s.names.expand(st.body))
	if len(text) == 0 {
		return nil
	}
	data, err := yaml.ToJSON(text)
	if err != nil {
		s.t.Fatalf("%s:%d: %v", s.path, st.line, err)
	}
	return data
}

// url returns the path and the query of a step's request.
func (s *session) url(path string) string {
	path, query, _ := strings.Cut(s.names.expand(path), "?")
	if !strings.HasPrefix(path, "/") {
		prefix := "/api/v1"
		if gv, rest, ok := strings.Cut(path, ":"); ok {
			prefix, path = "/apis/"+gv, rest
		}
		path = prefix + "/namespaces/" + s.names.values["$ns"] + "/" + path
	}
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			pairs = append(pairs, name+"="+url.QueryEscape(value))
		}
	}
	if len(pairs) == 0 {
		return path
	}
	return path + "?" + strings.Join(pairs, "&")
}

// open sends a request. The caller closes the body of the response.
func (s *session) open(ctx context.Context, method, url string, header http.Header, body []byte) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	resp, err := s.c.RoundTrip(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp
}

// do sends a request and reads the response.
func (s *session) do(ctx context.Context, method, url string, header http.Header, body []byte) reply {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp := s.open(ctx, method, url, header, body)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, url, err)
	}
	return reply{code: resp.StatusCode, header: resp.Header, body: data}
}

// remember records a created object for the clean-up.
func (s *session) remember(st *step, method string, r reply) {
	path, query, _ := strings.Cut(s.url(st.args[0]), "?")
	if r.code != http.StatusCreated || strings.Contains(query, "dryRun") {
		return
	}
	if method == http.MethodPost {
		name := nameOf(r.body)
		if name == "" || strings.HasSuffix(path, "/"+name) { // a review, or a subresource
			return
		}
		path += "/" + name
	}
	s.created = append(s.created, path)
}

// renderer returns the renderer of a step's response.
func (s *session) renderer(st *step) renderer {
	r := renderer{names: s.names, show: strings.Fields(st.options["show"])}
	_, r.brief = st.options["brief"]
	r.pages = st.verb != "EVENTS" && strings.Contains(st.args[0], "continue=")
	return r
}

// render returns the lines of a response.
func (s *session) render(st *step, r reply) []string {
	var lines []string
	for _, w := range r.header.Values("Warning") {
		lines = append(lines, "warning: "+s.names.shorten(w))
	}
	first, rest, ok := s.renderer(st).status(r.code, r.body)
	if !ok {
		first, rest = strconv.Itoa(r.code), s.renderer(st).body(r.body)
	}
	return append([]string{"-> " + first}, append(lines, rest...)...)
}
