// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// peer is an API server with at most one ConfigMap. It records the writes.
type peer struct {
	t      *testing.T
	stored *corev1.ConfigMap // nil if it does not exist; patches do not change it
	writes []string          // method and path
	status v1.DocumentStatus // as applied
	body   string            // of the last request for an existing ConfigMap, or of its creation
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		p.writes = append(p.writes, r.Method+" "+r.URL.Path)
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/status"):
		doc := &v1.Document{}
		if err := json.Unmarshal(body, doc); err != nil {
			p.t.Error(err)
		}
		p.status = doc.Status
		_, _ = w.Write(body)
	case r.Method == http.MethodPost:
		p.body = string(body)
		_, _ = w.Write(body)
	case p.stored == nil:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
			`"details":{"name":"notes","kind":"configmaps"}}`)
	default:
		p.body = string(body)
		if err := json.NewEncoder(w).Encode(p.stored); err != nil {
			p.t.Error(err)
		}
	}
}

// reconciler returns a reconciler whose server is p.
func (p *peer) reconciler() *reconciler {
	p.t.Helper()
	server := httptest.NewServer(p)
	p.t.Cleanup(server.Close)
	c, err := kube.NewClient(p.t.Context(), &kube.ClientOptions{Config: &kube.Config{Server: server.URL}})
	if err != nil {
		p.t.Fatal(err)
	}
	return &reconciler{
		docs:     kube.ClusterWide[v1.Document](c),
		maps:     kube.ClusterWide[corev1.ConfigMap](c),
		recorder: kube.NewRecorder(c, &kube.RecorderOptions{Controller: "docs.example.com/" + Manager}),
		dir:      p.t.TempDir(),
	}
}

// notes returns a document of generation 2.
func notes(body string) *v1.Document {
	doc := v1.NewDocument("prod", "notes", v1.DocumentSpec{Title: "Notes", Body: body})
	doc.UID, doc.Generation = "d1", 2
	doc.Status = v1.DocumentStatus{ObservedGeneration: 1, ConfigMap: "notes", Words: 7}
	return doc
}

// configMap returns the ConfigMap of notes, with owner references.
func configMap(owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "notes", UID: "c1", ResourceVersion: "1", OwnerReferences: owners,
		},
		Data: map[string]string{"index.html": "old", "other": "value"},
	}
}

const (
	itemPath   = "/api/v1/namespaces/prod/configmaps/notes"
	statusPath = "/apis/docs.example.com/v1/namespaces/prod/documents/notes/status"
)

func TestForeignConfigMapsAreNotChanged(t *testing.T) {
	owned := metav1.OwnerReference{APIVersion: "docs.example.com/v1", Kind: "Document", Name: "notes", UID: "d1"}
	former := owned
	former.UID, former.Controller = "d0", new(true)
	for _, tt := range []struct {
		name   string
		stored *corev1.ConfigMap
	}{
		{"nobody controls it", configMap()},
		{"a former document of the name controls it", configMap(former)},
		{"the document owns it, but does not control it", configMap(owned)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &peer{t: t, stored: tt.stored}
			r, doc := p.reconciler(), notes("# one")
			if err := os.MkdirAll(r.folder(doc), 0o700); err != nil {
				t.Fatal(err)
			}
			action, err := r.apply(t.Context(), doc)
			if _, err := os.Stat(r.folder(doc)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the former file: %v, want it removed", err)
			}
			if err != nil || action != kube.RequeueAfter(time.Minute) {
				t.Errorf("apply = %v, %v; want another run later", action, err)
			}
			if want := []string{"PATCH " + statusPath}; !slices.Equal(p.writes, want) {
				t.Errorf("writes = %q, want %q", p.writes, want)
			}
			got := p.status
			const message = "configmap notes exists and does not belong to this document: " +
				"delete the configmap, or use another name for the document"
			if c := got.Conditions[0]; c.Status != metav1.ConditionFalse || c.Reason != "NameTaken" || c.Message != message {
				t.Errorf("condition = %+v, want NameTaken with the remedy", c)
			}
			if got.ConfigMap != "" || got.Words != 0 || got.ObservedGeneration != 2 {
				t.Errorf("status = %+v, want no published page", got)
			}
		})
	}
}

func TestPagesArePublishedInOwnConfigMaps(t *testing.T) {
	doc := notes("# one")
	owner, err := kube.ControllerRef(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		stored *corev1.ConfigMap
		want   string
	}{
		{"it does not exist", nil, "POST " + itemPath[:strings.LastIndex(itemPath, "/")]},
		{"the document controls it", configMap(owner), "PATCH " + itemPath},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &peer{t: t, stored: tt.stored}
			if _, err := p.reconciler().apply(t.Context(), doc); err != nil {
				t.Fatal(err)
			}
			if p.status.Conditions[0].Status != metav1.ConditionTrue || p.status.ConfigMap != "notes" || p.status.Words != 2 {
				t.Errorf("status = %+v, want Ready with two words", p.status)
			}
			if len(p.writes) == 0 || p.writes[0] != tt.want || !strings.Contains(p.body, "\\u003ch2\\u003eone") {
				t.Errorf("writes = %q with %s, want %q with the page", p.writes, p.body, tt.want)
			}
		})
	}
}

func TestInvalidDocumentsKeepThePublishedPageInTheStatus(t *testing.T) {
	p := &peer{t: t}
	if _, err := p.reconciler().apply(t.Context(), notes("```\nnever closed")); err != nil {
		t.Fatal(err)
	}
	got := p.status
	if got.Conditions[0].Reason != "Invalid" || got.ConfigMap != "notes" || got.Words != 7 || got.ObservedGeneration != 2 {
		t.Errorf("status = %+v, want Invalid with the ConfigMap and the words of before", got)
	}
	fresh := notes("```\nnever closed")
	fresh.Status = v1.DocumentStatus{}
	if _, err := p.reconciler().apply(t.Context(), fresh); err != nil || p.status.ConfigMap != "" {
		t.Errorf("status = %+v, %v; want no ConfigMap, which does not exist", p.status, err)
	}
	if slices.ContainsFunc(p.writes, func(w string) bool { return !strings.HasSuffix(w, statusPath) }) {
		t.Errorf("writes = %q, want those of the status", p.writes)
	}
}

func TestConditionsOfOtherControllersAreNotApplied(t *testing.T) {
	since := metav1.NewTime(time.Unix(1000, 0))
	doc := &v1.Document{Status: v1.DocumentStatus{Conditions: []metav1.Condition{
		{Type: "Reviewed", Status: metav1.ConditionTrue, LastTransitionTime: since},
		{Type: v1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: since},
	}}}
	got := conditions(doc, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Rendered"})
	if len(got) != 1 || got[0].Type != v1.ConditionReady || got[0].Reason != "Rendered" || got[0].LastTransitionTime != since {
		t.Errorf("conditions = %+v, want the new one with the old time", got)
	}
}
