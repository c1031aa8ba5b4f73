// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package hosted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/hosted"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func (w *widget) DeepCopy() *widget {
	c := *w
	c.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &c
}

var widgets = core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}

func (*widget) KubeResource() core.Resource { return widgets }

// host is a host that keeps the states of objects by name and version.
type host struct {
	mu      sync.Mutex        // guards the fields below, except items
	states  map[string]string // by name and version; by name: the newest
	gets    int
	watches []abi.Watch
	items   chan item
	fails   error
}

type item struct {
	data  []byte
	flags abi.Flags
}

func (h *host) Watch(w *abi.Watch) (hosted.Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches = append(h.watches, *w)
	return stream{h, int64(len(h.watches))}, h.fails
}

func (h *host) Get(dst []byte, g *abi.Get) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gets++
	if g.Watch != int64(len(h.watches)) {
		return dst, abi.NotFound
	}
	state, ok := h.states[g.Name+"@"+g.ResourceVersion]
	if !ok {
		if state, ok = h.states[g.Name]; !ok {
			return dst, abi.NotFound
		}
	}
	return append(dst, state...), nil
}

type stream struct {
	*host
	id int64
}

func (s stream) ID() int64 { return s.id }
func (s stream) Close()    {}

func (s stream) Next(ctx context.Context) ([]byte, abi.Flags, error) {
	select {
	case it, ok := <-s.items:
		if !ok {
			return nil, 0, io.EOF
		}
		return it.data, it.flags, nil
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// set changes a widget and returns the change.
func (h *host) set(name string, version, size int, labels map[string]string) []byte {
	w := &widget{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: name, UID: "uid", ResourceVersion: fmt.Sprint(version), Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{UID: "owner", Name: "o", Kind: "Owner"}},
	}, Size: size}
	data, _ := json.Marshal(w)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states[name], h.states[fmt.Sprint(name, "@", version)] = string(data), string(data)
	return change(abi.Change{
		Type: abi.ChangeSet, Namespace: "n", Name: name, UID: "uid", ResourceVersion: fmt.Sprint(version),
	}, data)
}

func (h *host) gone(name string, version int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.states, name)
	return change(abi.Change{
		Type: abi.ChangeGone, Namespace: "n", Name: name, UID: "uid", ResourceVersion: fmt.Sprint(version),
	}, nil)
}

func change(c abi.Change, object []byte) []byte {
	head, _ := json.Marshal(c)
	return abi.AppendFrame(abi.AppendFrame(nil, head), object)
}

// start runs a reflector of a host's widgets until the test ends.
func start(t *testing.T, h *host, seen bool) (*reflector.Reflector, *reflector.Store[widget]) {
	t.Helper()
	h.items, h.states = make(chan item, 100), make(map[string]string)
	r := reflector.New(hosted.NewSource(h, widgets, "", seen), &reflector.Options{Watch: watcher.Options{
		LabelSelector: "a=b", OnError: func(error) {},
	}})
	s := reflector.StoreOf[widget](r)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return r, s
}

func (h *host) send(flags abi.Flags, changes ...[]byte) {
	h.items <- item{slices.Concat(changes...), flags}
	synctest.Wait()
}

var ref = core.ObjectRef{Namespace: "n", Name: "a"}

func TestObjectsAreReadFromTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		h.send(abi.FlagSyncBegin, h.set("a", 5, 50, nil))
		if _, err := s.Get(ref); err != nil {
			t.Errorf("before the list is complete: %v", err)
		}
		h.send(0, h.set("b", 6, 60, nil))
		h.send(abi.FlagSynced)
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(ref); err != nil || got.Size != 50 {
			t.Fatalf("Get = %+v, %v", got, err)
		}
		if v := s.ResourceVersion(); v != "6" {
			t.Errorf("the version is %q", v)
		}
		before := h.gets
		if !s.Has(ref) || s.Len() != 2 {
			t.Error("the store lacks objects")
		}
		if fields := s.State(ref).Fields(); fields != nil {
			t.Errorf("the state has the fields %v, want all that the host has", fields)
		}
		if head, err := s.State(ref).Head(); err != nil || head.ResourceVersion != "5" || h.gets != before {
			t.Errorf("head %+v, %v, with %d reads", head, err, h.gets-before)
		}
		if w := h.watches[0]; w.Kind != "Widget" || w.LabelSelector != "a=b" || w.Projection != "" {
			t.Errorf("watch %+v", w)
		}
		h.send(0, h.gone("a", 7))
		if _, err := s.Get(ref); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Get of a deleted object: %v", err)
		}
		if err := s.WaitForVersion(t.Context(), "7"); err != nil {
			t.Error(err)
		}
	})
}

func TestDecodedStoreHasTheObjectsOfTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		early := reflector.Decoded(s)
		h.send(abi.FlagSyncBegin, h.set("a", 5, 50, nil))
		h.send(abi.FlagSynced)
		for version := 6; version < 9; version++ {
			h.send(0, h.set("a", version, version*10, map[string]string{"a": fmt.Sprint(version)}))
			before := h.gets
			got, err := early.Get(ref)
			if err != nil || got.Size != version*10 {
				t.Fatalf("Get = %+v, %v", got, err)
			}
			if again, err := reflector.Decoded(s).Get(ref); again != got || err != nil || h.gets != before {
				t.Errorf("the second Get returns another object, %v, or %d were read from the host", err, h.gets-before)
			}
			got.Size = 0 // which the next state replaces
		}
		h.send(0, h.gone("a", 9))
		if _, err := early.Get(ref); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Get of a deleted object: %v", err)
		}
	})
}

// The host may have a newer state than the last change that it has sent.
func TestSelectionsUseTheStateThatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		selected := func(s *reflector.Store[widget], selector string) (all []string) {
			for w, err := range s.All(&reflector.SelectOptions{LabelSelector: selector}) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, w.Labels["x"])
			}
			return all
		}
		put := func(x int) []byte {
			return h.set("a", x, x, map[string]string{"x": fmt.Sprint(x), "y": fmt.Sprint(x)})
		}
		h.send(abi.FlagSyncBegin|abi.FlagSynced, put(1))
		decoded := reflector.Decoded(s)
		delete(h.states, "a@1")
		put(2) // which is not sent
		before := h.gets
		if got := selected(decoded, "x=1,y=1"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("the decoded store selects %q, want the state that was sent", got)
		}
		if got := selected(decoded, "x=2,y=2"); got != nil || h.gets != before {
			t.Errorf("the decoded store selects %q, and has read %d objects from the host", got, h.gets-before)
		}
		delete(h.states, "a@2")
		h.send(0, put(3))
		for selector, want := range map[string][]string{
			"x=1": nil, "x=2": nil, "x=3": {"3"}, "x notin (2,3)": nil, "x!=2": {"3"}, "x,y=3": {"3"},
		} {
			for _, s := range []*reflector.Store[widget]{s, decoded} {
				if got := selected(s, selector); !slices.Equal(got, want) {
					t.Errorf("%s selects %q, want %q", selector, got, want)
				}
			}
		}
		h.send(0, h.gone("a", 4))
		if got := selected(s, "y"); got != nil {
			t.Errorf("a deleted object is selected: %q", got)
		}
	})
}

func TestASecondListRemovesWhatIsNotInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, nil), h.set("b", 2, 2, nil), h.set("c", 3, 3, nil))
		var changes []string
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = s.Follow(ctx, func(c reflector.Change) { changes = append(changes, fmt.Sprint(c.Type, " ", c.Ref.Name)) })
		}()
		synctest.Wait()
		changes = nil
		h.send(abi.FlagSyncBegin, h.set("a", 1, 1, nil), h.gone("c", 4))
		h.send(abi.FlagSynced)
		slices.Sort(changes)
		if got := strings.Join(changes, ", "); got != "DELETED b, DELETED c" {
			t.Errorf("changes: %s", got)
		}
	})
}

// TestChangesThatTheHostHasMergedAreMerged checks that a subscriber knows that there were states between two others.
func TestChangesThatTheHostHasMergedAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, nil))
		subscribed, followed := make(chan bool, 10), make(chan bool, 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for c, err := range s.Subscribe(ctx) {
				if err == nil && c.Type == core.Modified {
					subscribed <- c.Merged
				}
			}
		}()
		go func() {
			_ = s.Follow(ctx, func(c reflector.Change) {
				if c.Type == core.Modified {
					followed <- c.Merged
				}
			})
		}()
		synctest.Wait()
		for i, merged := range []bool{false, true, false} {
			version := i + 2
			_, object, _ := abi.CutFrame(h.set("a", version, version, nil))
			object, _, _ = abi.CutFrame(object)
			h.send(0, change(abi.Change{
				Type: abi.ChangeSet, Namespace: "n", Name: "a", UID: "uid", ResourceVersion: fmt.Sprint(version), Merged: merged,
			}, object))
			if a, b := <-subscribed, <-followed; a != merged || b != merged {
				t.Errorf("version %d: merged is %t for a subscriber and %t for a follower, want %t", version, a, b, merged)
			}
		}
	})
}

func TestSelectionsFollowLabelsWithoutOldStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, map[string]string{"x": "1"}))
		names := func(o reflector.SelectOptions) (all []string) {
			for w, err := range s.All(&o) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, w.Name)
			}
			return all
		}
		if got := names(reflector.SelectOptions{LabelSelector: "x=1"}); len(got) != 1 {
			t.Fatalf("selected %v", got)
		}
		if got := names(reflector.SelectOptions{Owner: "owner"}); len(got) != 1 {
			t.Fatalf("owned %v", got)
		}
		delete(h.states, "a@1") // the host no longer has it
		h.send(0, h.set("a", 2, 2, map[string]string{"x": "2"}))
		if got := names(reflector.SelectOptions{LabelSelector: "x=1"}); len(got) != 0 {
			t.Errorf("selected %v by an old label", got)
		}
		clear(h.states)
		h.send(0, h.gone("a", 3))
		if got := names(reflector.SelectOptions{LabelSelector: "x=2"}); len(got) != 0 {
			t.Errorf("selected %v after its deletion", got)
		}
	})
}

func TestAnOldStateIsExactOrOnlyMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, false)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, map[string]string{"x": "1"}))
		var last reflector.Change
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = s.Follow(ctx, func(c reflector.Change) { last = c }) }()
		synctest.Wait()
		h.send(0, h.set("a", 2, 2, nil))
		var w widget
		if err := last.Old.Decode(&w); err != nil || w.Size != 1 {
			t.Errorf("old state %+v, %v", w, err)
		}
		delete(h.states, "a@2")
		h.send(0, h.set("a", 3, 3, nil))
		old := last.Old
		if err := old.Decode(new(widget)); err == nil {
			t.Error("a lost state was decoded")
		}
		meta, err := old.Packed().Metadata()
		if err != nil || meta.ResourceVersion != "2" || len(meta.OwnerReferences) != 1 {
			t.Errorf("metadata of a lost state: %+v, %v", meta, err)
		}
		if head, err := old.Head(); err != nil || head.ResourceVersion != "2" {
			t.Errorf("head of a lost state: %+v, %v", head, err)
		}
		delete(h.states, "a@3")
		h.send(0, h.gone("a", 4))
		if owners, err := last.Old.Packed().Owners(); err != nil || len(owners) != 1 {
			t.Errorf("owners of a deleted object: %v, %v", owners, err)
		}
	})
}

func TestMetadataViewsWatchMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{items: make(chan item), states: make(map[string]string)}
		r := reflector.New(hosted.NewSource(h, widgets, "n", false), nil)
		reflector.StoreOf[metav1.PartialObjectMetadata](r)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		_ = r.Run(ctx)
		if w := h.watches[0]; w.Projection != abi.ProjectionMetadata || w.Namespace != "n" {
			t.Errorf("watch %+v", w)
		}
	})
}

func TestVersionsAreSeenOnlyWhenTheHostSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		_, s := start(t, h, true)
		seen := func(version string) []byte {
			return change(abi.Change{Type: abi.ChangeSeen, ResourceVersion: version}, nil)
		}
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, nil), seen("3"))
		if v := s.ResourceVersion(); v != "3" {
			t.Errorf("the version of the list is %q", v)
		}
		h.send(0, h.set("a", 12, 1, nil)) // b has changed at 11, and was not sent yet
		if v := s.ResourceVersion(); v != "3" {
			t.Errorf("the version is %q before the host has sent it", v)
		}
		h.send(0, h.set("b", 11, 1, nil), seen("12"))
		if v := s.ResourceVersion(); v != "12" {
			t.Errorf("the version is %q", v)
		}
		listed := ""
		defer s.Observe(reflector.Observer{
			Seen: func(string) {}, Gone: func(wire.Packed) {}, Listed: func(version string) { listed = version },
		})()
		h.send(0, seen("7")) // after a restore of etcd
		if v := s.ResourceVersion(); v != "7" || listed != "7" {
			t.Errorf("the version is %q, and an observer of lists has received %q, want 7", v, listed)
		}
		listed = ""
		h.send(0, seen("8"))
		if v := s.ResourceVersion(); v != "8" || listed != "" {
			t.Errorf("the version is %q, and an observer of lists has received %q, want 8 and nothing", v, listed)
		}
	})
}

func TestAWatchThatEndsIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		r, s := start(t, h, false)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, nil))
		old := h.items
		h.mu.Lock()
		h.items = make(chan item, 100)
		h.mu.Unlock()
		close(old)
		synctest.Wait()
		if err := r.Health(); err == nil || !strings.Contains(err.Error(), "widgets") {
			t.Errorf("Health = %v", err)
		}
		if _, err := s.Get(ref); err == nil {
			t.Error("an object was read without a watch")
		}
		time.Sleep(time.Minute)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, h.set("a", 1, 1, nil))
		if err := r.Health(); err != nil {
			t.Errorf("Health = %v", err)
		}
		if w, err := s.Get(ref); err != nil || w.Size != 1 {
			t.Errorf("Get = %+v, %v", w, err)
		}
	})
}

func TestItemsThatAreNotValidEndTheWatch(t *testing.T) {
	head := func(text string) []byte { return abi.AppendFrame(nil, []byte(text)) }
	for name, data := range map[string][]byte{
		"a short length":          {1, 2},
		"a short change":          {9, 0, 0, 0, '{'},
		"no object":               head(`{"type":"set","name":"a"}`),
		"an empty object":         abi.AppendFrame(head(`{"type":"set","name":"a"}`), nil),
		"a change of text":        abi.AppendFrame(head("x"), []byte("{}")),
		"a change without a name": abi.AppendFrame(head(`{"type":"gone"}`), nil),
		"a huge length":           slices.Concat(head(`{"type":"set","name":"a"}`), []byte{255, 255, 255, 255}),
	} {
		synctest.Test(t, func(t *testing.T) {
			h := new(host)
			r, s := start(t, h, false)
			h.send(abi.FlagSyncBegin, data)
			if r.Health() == nil || s.Len() != 0 {
				t.Errorf("%s: Health = %v with %d objects", name, r.Health(), s.Len())
			}
		})
	}
}

func TestUnknownTypesOfChangesAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(host)
		r, s := start(t, h, false)
		h.send(abi.FlagSyncBegin|abi.FlagSynced, change(abi.Change{Type: "later"}, nil), h.set("a", 1, 1, nil))
		if r.Health() != nil || s.Len() != 1 {
			t.Errorf("Health = %v with %d objects", r.Health(), s.Len())
		}
	})
}

func TestShardSelectorIsRefused(t *testing.T) {
	h := &host{items: make(chan item)}
	src := hosted.NewSource(h, widgets, "", false)
	for _, err := range watcher.Events(t.Context(), src, &watcher.Options{ShardSelector: "x"}) {
		if err == nil || !strings.Contains(err.Error(), "ShardSelector") {
			t.Errorf("err = %v", err)
		}
	}
	if len(slices.Collect(maps.Keys(h.states))) != 0 || len(h.watches) != 0 {
		t.Error("the host was asked")
	}
}
