// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// applying is a reconciler whose controller owns pods, with a pod to reconcile, and the last body that the server has
// received.
type applying struct {
	*reconciler

	t          *testing.T
	controller *abi.Controller
	pod        *reconciled
	body       atomic.Pointer[string]
}

func newApplying(t *testing.T) *applying {
	t.Helper()
	a := &applying{t: t}
	server := newPodServer(t, 0, "").withPatches(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a.body.Store(new(string(body)))
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x"}}`)
	})
	h, _ := newTestHost(t, server, Options{})
	g := h.newGuest(Module{Name: "a"}, "")
	g.client = h.client
	pod := abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	a.controller = &abi.Controller{For: pod, Owns: []abi.Watch{pod}}
	g.description.Controllers = []abi.Controller{*a.controller}
	a.reconciler = &reconciler{guest: g}
	a.pod = podOf(t, `{"metadata":{"namespace":"a","name":"web","uid":"1"},"status":{"n":1}}`)
	return a
}

// podOf returns the object of a run.
func podOf(t *testing.T, object string) *reconciled {
	t.Helper()
	pod := abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	obj, err := readReconciled(wire.NewPacked(wire.JSON, []byte(object)), resourceOf(&pod))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestReconciledObjectNeedsFewTimesItsMemory has an object that needs fifty times its memory when it is decoded into
// maps, in a field that the host does not use.
func TestReconciledObjectNeedsFewTimesItsMemory(t *testing.T) {
	object := `{"metadata":{"namespace":"a","name":"web"},"spec":[` + strings.Repeat("{},", 500_000) + `{}]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	pod := podOf(t, object)
	message, err := requestOf(&abi.Controller{Name: "c"}, nil, pod)
	runtime.ReadMemStats(&after)
	if err != nil || len(message) < len(object) || pod.Kind != "Pod" {
		t.Fatalf("the message has %d bytes, and the object is %v: %v", len(message), pod.TypeMeta, err)
	}
	if n := int(after.TotalAlloc - before.TotalAlloc); n > 12*len(object) {
		t.Errorf("an object of %d bytes has needed %d", len(object), n)
	}
}

// do performs a response, and returns the body of the request and the allocated bytes.
func (a *applying) do(out *abi.ReconcileResponse) (body string, allocated uint64, err error) {
	a.t.Helper()
	a.body.Store(new(string))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = a.perform(a.t.Context(), a.controller, a.pod, out)
	runtime.ReadMemStats(&after)
	return *a.body.Load(), after.TotalAlloc - before.TotalAlloc, err
}

func TestAppliedObjectsAreSentUnchanged(t *testing.T) {
	a := newApplying(t)
	const owner = `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"web","uid":"1","controller":true,` +
		`"blockOwnerDeletion":true}]`
	for _, c := range []struct{ in, want, wantErr string }{
		{
			`{"spec":{"n":12345678901234567890,"f":1.50},"metadata":{"namespace":"a","name":"x"},"kind":"Pod","apiVersion":"v1"}`,
			`{"spec":{"n":12345678901234567890,"f":1.50},"metadata":{"name":"x","namespace":"a",` + owner + `},"kind":"Pod",` +
				`"apiVersion":"v1"}`, "",
		},
		{
			`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x","ownerReferences":null}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"a",` + owner + `}}`, "",
		},
		{
			`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x","ownerReferences":[]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x","ownerReferences":[]}}`, "",
		},
		{ // servers parse the body as YAML, which lacks some escapes of JSON
			`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x","annotations":{"a\/b":"\ud83d\ude00"},` +
				`"ownerReferences":[]},"x":"` + "\xff" + `\ud800\/"}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x","annotations":{"a/b":"😀"},` +
				`"ownerReferences":[]},"x":"` + "\ufffd\ufffd" + `/"}`, "",
		},
		{`[]`, "", "want an object"},
		{`{"apiVersion":"v1","kind":"Pod"}`, "", "can't be owned"},
		{`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a"},"metadata":{"name":"x"}}`, "", "twice"},
		{`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":1}}}`, "", "metadata.labels"},
		{
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + strings.Repeat("x", maxMetadata) + `"}}`, "",
			"metadata has 524",
		},
	} {
		body, _, err := a.do(&abi.ReconcileResponse{Apply: []jsontext.Value{jsontext.Value(c.in)}})
		if body != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("apply of %.200s = %v, and the server has received\n%s, want\n%s and the error %q", c.in, err, body, c.want,
				c.wantErr)
		}
	}
}

func TestStatusIsWrittenIfItDiffers(t *testing.T) {
	a := newApplying(t)
	large := `{"n":[` + strings.Repeat(`{"":0},`, maxCompared/350) + `{}]}`
	const head = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"a","uid":"1"},"status":`
	for status, want := range map[string]string{
		` { "n" : 1 } `: "", `{"n":2}`: head + `{"n":2}}`, `{"a":"\/"}`: head + `{"a":"/"}}`,
		`{"n":1,"m":{"a":"é"}}`: head + `{"n":1,"m":{"a":"é"}}}`,
		large:                   head + large + "}",
	} {
		body, _, err := a.do(&abi.ReconcileResponse{Status: jsontext.Value(status)})
		if err != nil || body != want {
			t.Errorf("status %.100s: %v, and the server has received\n%.200s, want\n%.200s", status, err, body, want)
		}
	}
	if _, _, err := a.do(&abi.ReconcileResponse{Status: jsontext.Value(`[1]`)}); err == nil {
		t.Error("a status that is a list is accepted")
	}
}

// TestAppliedObjectsNeedLittleMemory has objects of the size of a message that need the most memory when they are
// decoded into maps.
func TestAppliedObjectsNeedLittleMemory(t *testing.T) {
	a := newApplying(t)
	fill := func(begin, element, end string) jsontext.Value {
		n := (abi.MaxMessage - 1000 - len(begin) - len(end)) / len(element)
		return jsontext.Value(begin + strings.TrimSuffix(strings.Repeat(element, n), ",") + end)
	}
	const head = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"x"`
	for name, out := range map[string]abi.ReconcileResponse{
		"objects":          {Apply: []jsontext.Value{fill(head+`},"x":[`, `{"":0},`, `]}`)}},
		"lists":            {Apply: []jsontext.Value{fill(head+`},"x":[`, `[0],`, `]}`)}},
		"owner references": {Apply: []jsontext.Value{fill(head+`,"ownerReferences":[`, `{},`, `]}}`)}},
		"escaped strings":  {Apply: []jsontext.Value{fill(head+`},"x":"`, `<`, `"}`)}},
		"line separators":  {Apply: []jsontext.Value{fill(head+`},"x":"`, "\u2028", `"}`)}},
		"a status":         {Status: fill(`{"x":[`, `{"":0},`, `]}`)},
	} {
		_, used, err := a.do(&out)
		t.Logf("%s: %d bytes were allocated: %v", name, used, err)
		want := name == "owner references" || name == "escaped strings" || name == "line separators"
		if (err != nil) != want || used > 64<<20 {
			t.Errorf("%s of %d bytes have allocated %d bytes and returned the error %v", name, abi.MaxMessage, used, err)
		}
	}
}
