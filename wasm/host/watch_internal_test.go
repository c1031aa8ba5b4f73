// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

func TestListSkipsObjectsThatAreDeletedMeanwhile(t *testing.T) {
	refs := make([]core.ObjectRef, 10)
	for n := range refs {
		refs[n] = core.ObjectRef{Namespace: "n", Name: fmt.Sprint("o", n)}
	}
	view := &objects{
		refs: func(string, string) ([]core.ObjectRef, error) { return refs, nil },
		state: func(ref core.ObjectRef) reflector.State {
			if ref.Name < "o3" || ref.Name == "o5" || ref.Name == "o9" {
				return reflector.State{}
			}
			return reflector.StateOf(wire.NewPacked(wire.JSON, fmt.Appendf(nil, "%q", ref.Name)))
		},
		encode: func(s reflector.State) ([]byte, error) { return s.Packed().Bytes(), nil },
	}
	i := &instance{operations: map[int64]*operation{1: {watch: &watch{objects: view, synced: true}}}}
	var names strings.Builder
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		data, err := i.list(t.Context(), marshal(abi.List{Watch: 1, Limit: 2, Continue: token}))
		if err != nil || pages > 10 {
			t.Fatalf("page %d: %v", pages, err)
		}
		var page abi.Page
		if err := wire.UnmarshalJSON(data, &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			names.WriteString(string(item))
		}
		token = page.Continue
	}
	if want := `"o3""o4""o6""o7""o8"`; names.String() != want {
		t.Errorf("the pages have %s, want %s", names.String(), want)
	}
}

func TestListEvaluatesAllTermsOfASelectorAndCanBeInterrupted(t *testing.T) {
	const count = 1000
	refs := make([]core.ObjectRef, count)
	for n := range refs {
		refs[n] = core.ObjectRef{Namespace: "n", Name: fmt.Sprintf("o%04d", n)}
	}
	read, indexed, onRead := 0, "", func() {}
	view := &objects{
		refs: func(_, selector string) ([]core.ObjectRef, error) {
			indexed = selector
			return refs, nil
		},
		state: func(ref core.ObjectRef) reflector.State {
			read++
			onRead()
			return reflector.StateOf(wire.NewPacked(wire.JSON,
				fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"name":%q}}}`, ref.Name, ref.Name)))
		},
		encode: func(s reflector.State) ([]byte, error) { return s.Packed().Bytes(), nil },
	}
	i := &instance{operations: map[int64]*operation{1: {watch: &watch{objects: view, synced: true}}}}
	selector := "!a,!b,!c,!d,!e,name in (o0500,o0600)"
	data, err := i.list(t.Context(), marshal(abi.List{Watch: 1, LabelSelector: selector}))
	if err != nil || strings.Count(string(data), `"name":"o0500"}`) != 1 || strings.Count(string(data), "labels") != 2 {
		t.Errorf("the page is %s, %v", data, err)
	}
	if want := "!a,!b,!c,!d"; indexed != want || read != count {
		t.Errorf("the store has evaluated %q, and %d objects were read; want %q and %d", indexed, read, want, count)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	read, onRead = 0, func() { stop(errTimeLimit) }
	if _, err := i.list(ctx, marshal(abi.List{Watch: 1, LabelSelector: selector})); err != errTimeLimit || read > 1 {
		t.Errorf("list = %v after %d objects, want the end of the call after 1", err, read)
	}
	for _, selector := range []string{strings.Repeat("!a,", maxSelector/3) + "!b", "a in ("} {
		if _, err := i.list(t.Context(), marshal(abi.List{Watch: 1, LabelSelector: selector})); err != abi.Invalid {
			t.Errorf("list with a selector of %d bytes = %v, want Invalid", len(selector), err)
		}
	}
}

func TestUnusedWatchesAreForgotten(t *testing.T) {
	s := newShared(nil, &cache.Options{})
	for n := range 10 * keepWatches {
		_, done := s.use(abi.Watch{Kind: fmt.Sprint(n)})
		done(true)
	}
	if n := len(s.all); n > keepWatches {
		t.Errorf("%d watches without users are kept, want at most %d", n, keepWatches)
	}
	for n := range 10 {
		w, done := s.use(abi.Watch{Kind: fmt.Sprint("large-", n)})
		w.bytes.Store(keepBytes / 4)
		done(true)
	}
	bytes := int64(0)
	for _, w := range s.all {
		bytes += w.bytes.Load()
	}
	if bytes != keepBytes || s.all[abi.Watch{Kind: "large-9"}] == nil {
		t.Errorf("watches without users have %d bytes, want at most %d, of the last ones", bytes, keepBytes)
	}
	a, done := s.use(abi.Watch{Kind: "used", Projection: abi.ProjectionMetadata})
	s.mu.Lock()
	s.sweep(time.Now().Add(2 * keepWatch))
	n := len(s.all)
	s.mu.Unlock()
	if n != 1 {
		t.Errorf("%d watches are kept, want the one with a user", n)
	}
	same := abi.Watch{Kind: "used", Projection: abi.ProjectionMetadata, KeysOnly: true}
	if b, again := s.use(same); a != b {
		t.Error("watches that differ only in keysOnly do not share the objects")
	} else {
		again(true)
	}
	if b, again := s.use(abi.Watch{Kind: "used"}); a == b {
		t.Error("a watch of metadata shares the whole objects of another watch: its size depends on other modules")
	} else {
		again(true)
	}
	done(false)
	if len(s.all) != 1 {
		t.Errorf("%d watches are kept, want the one that was not ended by its size", len(s.all))
	}
}

func TestSelectorsHaveOneForm(t *testing.T) {
	for want, spellings := range map[[2]string][][2]string{
		{"", ""}:                      {{"", ""}},
		{"a=1", "metadata.name=b"}:    {{"a==1", "metadata.name==b"}, {"a in (1)", "metadata.name=b,metadata.name=b"}, {"a=1,a==1", "metadata.name=b,metadata.namespace=n"}},
		{"a!=1", "x!=1,y=2"}:          {{"a!=1", "y=2,x!=1"}, {"a notin (1)", "y==2,x!=1"}},
		{"!b,a,c in (1,2)", ""}:       {{"a,!b,c in (2,1)", ""}, {"c in (1,2),a,!b,a", ""}},
		{"a notin (1,2),a>1,b<3", ""}: {{"b<3,a notin (2,1),a>1", ""}},
		{"a=", `x=a\,b`}:              {{"a=", `x=a\,b`}},
	} {
		for _, s := range spellings {
			w := abi.Watch{
				Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Namespace: "n", LabelSelector: s[0], FieldSelector: s[1],
			}
			if err := checkWatch(&w); err != nil || w.LabelSelector != want[0] || w.FieldSelector != want[1] {
				t.Errorf("%q has the form %q and %q, %v; want %q", s, w.LabelSelector, w.FieldSelector, err, want)
			}
			again := w
			if err := checkWatch(&again); err != nil || again != w {
				t.Errorf("%q has another form when it is checked again: %v, %v", s, again, err)
			}
		}
	}
	for _, w := range []abi.Watch{
		{Version: "v1", Kind: "Node", Resource: "nodes", Namespace: "n"},
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Namespace: "n", FieldSelector: "metadata.namespace=m"},
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Namespace: "a/b"},
		{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, Namespace: strings.Repeat("n", maxField+1)},
		{Version: "v1", Kind: strings.Repeat("K", maxField+1), Resource: "pods"},
		{Version: "v1", Kind: "Pod", Resource: strings.Repeat("p", maxField+1)},
		{Version: strings.Repeat("v", maxField+1), Kind: "Pod", Resource: "pods"},
		{Group: strings.Repeat("g", maxField+1), Version: "v1", Kind: "Pod", Resource: "pods"},
	} {
		if err := checkWatch(&w); err == nil {
			t.Errorf("%.300v is valid", w)
		}
	}
}

// newTestActor returns an instance without a body on a host that does not run. The guest reads nothing.
func newTestActor(t *testing.T, server string, l Limits) *instance {
	t.Helper()
	h, _ := newTestHost(t, server, Options{})
	m := Module{Name: "a", Limits: l}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	g := h.newGuest(m, "")
	var err error
	if g.client, err = h.clientOf(t.Context(), &m, g.throttle, g.limitedLogger()); err != nil {
		t.Fatal(err)
	}
	g.description.Profile = abi.ProfileActor
	g.closed = true // no turns
	i := &instance{guest: g, operations: make(map[int64]*operation), seat: seat{host: h}, open: true}
	i.ctx, i.stop = context.WithCancelCause(g.ctx)
	t.Cleanup(func() { g.stop(errRemoved) })
	return i
}

// TestWatchesCountAsRequests has a guest that starts a watch, waits for its objects and cancels it, again and again.
func TestWatchesCountAsRequests(t *testing.T) {
	const perSecond, watches = 5, 20
	s := newPodServer(t, 1, "")
	i := newTestActor(t, s.URL, Limits{RequestsPerSecond: perSecond})
	begun := time.Now()
	for n := range watches {
		selector := fmt.Sprintf(`,"labelSelector":"x!=%d"`, n%2) // so that half of them begin again
		id, err := i.submit(abi.OpWatch, []byte(podWatch(selector)), 0)
		if err != nil {
			t.Fatal(err)
		}
		await(t, "an item", func() bool { return i.operations[id].waiting() > 0 })
		op := i.operations[id]
		i.cancel(id)
		await(t, "the end of the watch", func() bool {
			op.watch.mu.Lock()
			defer op.watch.mu.Unlock()
			return op.watch.revoked != nil
		})
		await(t, "the end of the shared watch", func() bool { return !i.guest.host.watches.run() })
	}
	if took := time.Since(begun); took < (watches-2*perSecond-1)*time.Second/perSecond {
		t.Errorf("%d watches have begun in %v, and the limit is %d requests per second", watches, took, perSecond)
	}
	if got := i.guest.status().Stats.Requests; got < watches {
		t.Errorf("%d requests were counted, want one for each of %d watches", got, watches)
	}
}

// run reports whether any of the shared watches runs.
func (s *shared) run() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.all {
		if w.running.Load() > 0 {
			return true
		}
	}
	return false
}

func TestWatchThatRunsCostsNoRequest(t *testing.T) {
	i := newTestActor(t, newPodServer(t, 1, "").URL, Limits{})
	counted := func() uint64 { return i.guest.status().Stats.Requests }
	for n := range 3 {
		id, err := i.submit(abi.OpWatch, []byte(podWatch("")), 0)
		if err != nil {
			t.Fatal(err)
		}
		await(t, "an item", func() bool { return i.operations[id].waiting() > 0 })
		if got := counted(); got != 1 {
			t.Errorf("%d requests were counted for %d watches of the same objects, want 1", got, n+1)
		}
	}
}

// TestEndedWatchHasItsCodeUntilItsLastItem has a watch that is refused before it has objects.
func TestEndedWatchHasItsCodeUntilItsLastItem(t *testing.T) {
	i := newTestInstance(t, Limits{})
	i.open, i.guest.description.Profile = true, abi.ProfileActor
	i.guest.closed = true // no turns
	w := abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	i.guest.quota.refuse(w, time.Now())
	id, err := i.submit(abi.OpWatch, marshal(w), 0)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the watch", func() bool { return i.operations[id].waiting() > 0 })
	if _, err := i.get(marshal(abi.Get{Watch: id, Name: "a"})); err != abi.OverLimit {
		t.Errorf("get of a watch that has ended = %v, want %v", err, abi.OverLimit)
	}
	if _, err := i.list(t.Context(), marshal(abi.List{Watch: id})); err != abi.OverLimit {
		t.Errorf("list of a watch that has ended = %v, want %v", err, abi.OverLimit)
	}
}

// TestPageFitsIntoAMessage has objects with characters that the encoder of JSON escapes.
func TestPageFitsIntoAMessage(t *testing.T) {
	refs := make([]core.ObjectRef, 10)
	for n := range refs {
		refs[n] = core.ObjectRef{Namespace: "n", Name: fmt.Sprint("o", n)}
	}
	object := fmt.Appendf(nil, "%q", strings.Repeat("<", abi.MaxMessage/8))
	view := &objects{
		refs: func(string, string) ([]core.ObjectRef, error) { return refs, nil },
		state: func(core.ObjectRef) reflector.State {
			return reflector.StateOf(wire.NewPacked(wire.JSON, object))
		},
		encode: func(s reflector.State) ([]byte, error) { return s.Packed().Bytes(), nil },
	}
	i := &instance{operations: map[int64]*operation{1: {watch: &watch{objects: view, synced: true}}}}
	data, err := i.list(t.Context(), marshal(abi.List{Watch: 1}))
	if err != nil || len(data) > abi.MaxMessage {
		t.Fatalf("the page has %d bytes, more than %d; %v", len(data), abi.MaxMessage, err)
	}
	var page abi.Page
	if err := wire.UnmarshalJSON(data, &page); err != nil || len(page.Items) == 0 || page.Continue == "" {
		t.Errorf("the page has %d objects and the token %q, %v", len(page.Items), page.Continue, err)
	}
}

// TestStateBeforeTheLastChangeIsKept has an object that changes again after others, and then more other objects than
// the watch keeps states of.
func TestStateBeforeTheLastChangeIsKept(t *testing.T) {
	w := &watch{previous: make(map[core.ObjectRef]reflector.State)}
	change := func(name, version string) {
		w.remember(reflector.Change{Ref: core.ObjectRef{Name: name}, Old: reflector.StateOf(wire.NewPacked(wire.JSON,
			fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":%q}}`, name, version)))})
	}
	change("busy", "1")
	for n := range maxPrevious - 1 {
		change(fmt.Sprint("before-", n), "1")
	}
	change("busy", "2")
	for n := range maxPrevious - 1 {
		change(fmt.Sprint("after-", n), "1")
	}
	if !isVersion(w.previous[core.ObjectRef{Name: "busy"}], "2") {
		t.Error("the state of the object that changed again is not kept")
	}
	change("last", "1")
	if _, kept := w.previous[core.ObjectRef{Name: "busy"}]; kept || len(w.previous) != maxPrevious || len(w.order) != maxPrevious {
		t.Errorf("%d states in an order of %d are kept, want %d, without the oldest", len(w.previous), len(w.order), maxPrevious)
	}
}

// TestWatchThatBeginsAgainSendsNoObjectsOfTheFormerRun has a pod that is deleted while nothing watches, and a server
// whose second list waits.
func TestWatchThatBeginsAgainSendsNoObjectsOfTheFormerRun(t *testing.T) {
	var lists atomic.Int64
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/pods" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if lists.Add(1) == 1 {
			_, _ = fmt.Fprintln(w, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a",`+
				`"name":"p","uid":"u","resourceVersion":"1"}}}`)
		} else {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		_, _ = fmt.Fprintln(w, initialEventsEnd)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	i := newTestActor(t, server.URL, Limits{})
	begin := func() (int64, *operation) {
		t.Helper()
		id, err := i.submit(abi.OpWatch, []byte(podWatch("")), 0)
		if err != nil {
			t.Fatal(err)
		}
		return id, i.operations[id]
	}
	id, first := begin()
	await(t, "the objects", first.watch.isReady)
	i.cancel(id)
	await(t, "the end of the shared watch", func() bool { return lists.Load() == 1 && !i.guest.host.watches.run() })
	id, second := begin()
	await(t, "the second list", func() bool { return lists.Load() == 2 })
	<-time.After(100 * time.Millisecond) // in which the objects of the first run would be sent
	if n := second.waiting(); n > 0 {
		t.Errorf("%d items were sent before the second list", n)
	}
	if _, err := i.list(t.Context(), marshal(abi.List{Watch: id})); err != abi.NotReady {
		t.Errorf("list before the second list = %v, want %v", err, abi.NotReady)
	}
	if _, err := i.get(marshal(abi.Get{Watch: id, Namespace: "a", Name: "p"})); err != abi.NotReady {
		t.Errorf("get before the second list = %v, want %v", err, abi.NotReady)
	}
	close(hold)
	await(t, "the end of the second list", second.watch.isReady)
	if _, err := i.get(marshal(abi.Get{Watch: id, Namespace: "a", Name: "p"})); err != abi.NotFound {
		t.Errorf("get of a deleted object = %v, want %v", err, abi.NotFound)
	}
	await(t, "an item", func() bool { return second.waiting() > 0 })
	if it, _ := second.take(); strings.Contains(string(it.data), `"p"`) || it.flags != abi.FlagSyncBegin|abi.FlagSynced {
		t.Errorf("the first item has the flags %d and %q", it.flags, it.data)
	}
}

// TestRefusalOfAWatchWithObjectsMustLast has a host that loses its permission for a while, and then permanently.
func TestRefusalOfAWatchWithObjectsMustLast(t *testing.T) {
	refusal := fmt.Errorf("watch: %w", &core.StatusError{Status: metav1.Status{Code: http.StatusForbidden}})
	w := &abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}
	for name, tt := range map[string]struct {
		ready  bool
		health func(at time.Duration) error
		want   time.Duration // about when the refusal is noticed
	}{
		"before the objects are ready": {health: func(time.Duration) error { return refusal }, want: time.Second},
		"after that":                   {ready: true, want: refusedTime, health: func(time.Duration) error { return refusal }},
		"after an interruption": {ready: true, want: 2*refusedTime - 20*time.Second, health: func(at time.Duration) error {
			if left := refusedTime - 20*time.Second; at > left && at < left+15*time.Second {
				return nil
			}
			return refusal
		}},
		"after another error": {ready: true, want: time.Hour + refusedTime, health: func(at time.Duration) error {
			if at < time.Hour {
				return core.ErrUnavailable
			}
			return refusal
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				g := &guest{logger: slog.New(slog.DiscardHandler)}
				err := g.noticeRefusal(t.Context(), w, func() bool { return tt.ready },
					func() error { return tt.health(time.Since(begun)) })
				if took := time.Since(begun); took < tt.want || took > tt.want+3*refusedInterval {
					t.Errorf("the refusal is noticed after %v, want about %v", took, tt.want)
				}
				if !errors.Is(err, abi.Forbidden) || !errors.Is(g.lifecycle.err, abi.Forbidden) {
					t.Errorf("noticeRefusal = %v, and the error of the module is %v, want Forbidden", err, g.lifecycle.err)
				}
			})
		})
	}
}

// TestNewWatchHasNoObjectsThatTheHostMayNotRead has a watch of the host that another watch has begun, before the server
// refuses it.
func TestNewWatchHasNoObjectsThatTheHostMayNotRead(t *testing.T) {
	allowed, lose := context.WithCancel(t.Context())
	i := newTestActor(t, newPodServer(t, 1, "").withPermissionUntil(allowed, t), Limits{})
	begin := func() *operation {
		t.Helper()
		id, err := i.submit(abi.OpWatch, []byte(podWatch("")), 0)
		if err != nil {
			t.Fatal(err)
		}
		return i.operations[id]
	}
	first := begin()
	await(t, "the objects", first.watch.isReady)
	lose()
	await(t, "the refusal", func() bool { return errors.Is(first.watch.objects.health(), core.ErrForbidden) })

	// A reconciler that shares the watch is blocked.
	r := &reconciler{guest: i.guest, stop: func() {}}
	in, err := r.input(&abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.end(errRemoved)
	err = r.guarded(t.Context(), func(error) {}, []input{in}, func(context.Context) error {
		t.Error("the controller runs")
		return nil
	})
	if !errors.Is(err, abi.Forbidden) {
		t.Errorf("guarded = %v, want Forbidden", err)
	}

	second := begin()
	await(t, "the end of the second watch", func() bool { return second.waiting() > 0 })
	if it, _ := second.take(); it.flags != abi.FlagLast|abi.FlagError || second.watch.isReady() {
		t.Errorf("the second watch is synced: %v, and its item has the flags %d and %q", second.watch.isReady(), it.flags,
			it.data)
	}
	if _, err := i.get(marshal(abi.Get{Watch: second.id, Namespace: "a", Name: "p0"})); !errors.Is(err, abi.Forbidden) {
		t.Errorf("get of the second watch = %v, want Forbidden", err)
	}
	if s := i.guest.status(); !errors.Is(s.Err, abi.Forbidden) || strings.Contains(s.Err.Error(), "admin") {
		t.Errorf("the error of the module is %v, want Forbidden without the message of the server", s.Err)
	}
}

// TestVersionAfterALargeObjectFitsIntoAMessage has objects that leave more or less room for the version in their item.
func TestVersionAfterALargeObjectFitsIntoAMessage(t *testing.T) {
	ref, size := core.ObjectRef{Namespace: "a", Name: "p"}, 0
	state := reflector.StateOf(wire.NewPacked(wire.JSON,
		[]byte(`{"metadata":{"namespace":"a","name":"p","uid":"u","resourceVersion":"2"}}`)))
	view := &objects{
		current: func(context.Context) error { return nil },
		changes: func(context.Context, *atomic.Int64) iter.Seq2[reflector.Delivery, error] {
			return func(yield func(reflector.Delivery, error) bool) {
				synced := reflector.Delivery{Change: reflector.Change{Type: core.Bookmark}}
				changed := reflector.Delivery{Change: reflector.Change{Type: core.Modified, Ref: ref, New: state}, Seen: "2"}
				_ = yield(synced, nil) && yield(changed, nil)
			}
		},
		encode: func(reflector.State) ([]byte, error) { return make([]byte, size), nil },
	}
	i := newTestActor(t, "http://127.0.0.1:1", Limits{})
	none := appendChange(nil, changeOf(abi.ChangeSet, ref, wire.Head{UID: "u", ResourceVersion: "2"}), nil)
	for _, room := range []int{1000, 60, 1, 0} {
		size = abi.MaxMessage - len(none) - room
		op := &operation{instance: i, space: make(chan struct{}, 1)}
		op.watch = &watch{previous: make(map[core.ObjectRef]reflector.State)}
		op.ctx, op.cancel = context.WithCancelCause(t.Context())
		use := i.guest.quota.claim(&sharedWatch{}, nil, op.cancel)
		if err := op.follow(view, use); err != nil {
			t.Fatal(err)
		}
		use.end()
		var all []byte
		for it, ok := op.take(); ok; it, ok = op.take() {
			if all = append(all, it.data...); len(it.data) > abi.MaxMessage {
				t.Errorf("with room for %d bytes, an item has %d, more than %d", room, len(it.data), abi.MaxMessage)
			}
		}
		want := appendChange(nil, abi.Change{Type: abi.ChangeSeen, ResourceVersion: "2"}, nil)
		if !bytes.HasSuffix(all, want) || len(all) != len(none)+size+len(want) {
			t.Errorf("with room for %d bytes, the items have %d bytes and not the object and its version", room, len(all))
		}
		if used := i.guest.budget.inUse(); used != 0 {
			t.Errorf("with room for %d bytes, %d bytes are still reserved", room, used)
		}
	}
}
