// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// TestModel checks that the store and every subscriber end up with the objects of the server, whatever happens on the
// server and on the connection.
func TestModel(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			ops := make([]byte, 300+seed%4)
			for i := range ops {
				ops[i] = byte(r.Uint32())
			}
			model(t, ops)
		})
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 250, 4, 5, 240, 6, 7, 230, 8})
	f.Add([]byte("put, cut, put, compact, delete, wait"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) <= 2000 {
			model(t, ops)
		}
	})
}

func model(t *testing.T, ops []byte) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		encoding := wire.JSON
		if len(ops)%2 == 1 {
			encoding = wire.Protobuf
		}
		m := &modelRun{t: t, server: newServer(t, encoding, "prod/0", "dev/0")}
		o := &reflector.Options{Watch: watcher.Options{PageSize: 3}}
		if len(ops)%4 > 1 {
			o.Compression = deflate
		}
		r := reflector.New(m.server, o)
		m.store = reflector.StoreOf[corev1.ConfigMap](r)
		m.decoded = reflector.Decoded(m.store)
		stop := runUntilEnd(t, r)
		m.follow(0)
		m.follow(30 * time.Second) // a slow subscriber, with a pause after each change
		m.receive()
		for i, op := range ops {
			if op == 199 { // stop the run, and start a new one
				if err := stop(); err != errStop {
					t.Errorf("Run ended with %v", err)
				}
				stop = runUntilEnd(t, r)
				continue
			}
			m.do(op)
			if i%50 == 49 {
				m.follow(time.Duration(i) * time.Millisecond)
				m.receive()
			}
		}
		m.server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		time.Sleep(3 * time.Hour) // for the longest back-off, and the slowest subscriber
		synctest.Wait()
		m.check()
	})
}

// modelRun is one run of the model.
type modelRun struct {
	t       *testing.T
	server  *fakesource.Server
	store   *reflector.Store[corev1.ConfigMap]
	decoded *reflector.Store[corev1.ConfigMap]
	folders []*folder
	puts    int
}

// do makes one change to the server, or to the connection.
func (m *modelRun) do(op byte) {
	obj := ref(fmt.Sprintf("%s/%d", []string{"prod", "dev"}[op%2], op%7))
	switch {
	case op < 100:
		m.puts++
		m.server.Put(configMap(obj.String(), fmt.Sprint(m.puts)))
	case op < 150:
		m.server.Delete(obj)
	case op < 165: // replace an object while the watch is cut
		m.server.Delete(obj)
		m.server.Put(configMap(obj.String(), "replaced"))
	case op < 180:
		m.server.Compact()
	case op < 190:
		m.server.Tick()
	case op < 205:
		m.cut(op)
	case op < 225:
		m.behave(op)
	case op < 240:
		synctest.Wait()
	default:
		time.Sleep(time.Duration(op-239) * 7 * time.Second)
	}
}

func (m *modelRun) cut(op byte) {
	switch op % 4 {
	case 0:
		m.server.Cut(nil)
	case 1:
		m.server.Cut(io.ErrUnexpectedEOF)
	case 2:
		m.server.Cut(fakesource.Expired())
	case 3:
		m.server.Cut(fakesource.Status(500, "InternalError"))
	}
}

func (m *modelRun) behave(op byte) {
	var calls int
	often := func(err error) error { // fails two of three times
		if calls++; calls%3 != 0 {
			return err
		}
		return nil
	}
	b := fakesource.Behaviour{DropOnCut: op%2 == 0}
	switch op % 6 {
	case 0:
		b.Streaming = fakesource.Rejected
	case 1:
		b.Streaming = fakesource.Ignored
	case 2:
		b.OnWatch = func(*request.WatchOptions) error { return often(fakesource.Status(403, "Forbidden")) }
	case 3:
		b.OnList = func(*request.ListOptions) error { return often(fakesource.Status(429, "")) }
	case 4:
		b.OnItem = func(p wire.Packed) (wire.Packed, error) { return p, often(io.ErrUnexpectedEOF) }
	case 5:
		b.Bookmarks = 20 * time.Second
	}
	m.server.Behave(b)
}

// check compares the server, the store and the subscribers.
func (m *modelRun) check() {
	m.t.Helper()
	want := m.server.Objects()
	got := make(map[core.ObjectRef]wire.Head)
	for obj, err := range m.store.All(nil) {
		if err != nil {
			m.t.Fatal(err)
		}
		got[core.RefOf(obj)] = wire.Head{Ref: core.RefOf(obj), UID: obj.UID, ResourceVersion: obj.ResourceVersion}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Errorf("store (-server +store):\n%s", diff)
	}
	if m.store.Len() != len(want) {
		m.t.Errorf("Len() = %d, want %d", m.store.Len(), len(want))
	}
	compareDecoded(m.t, m.store, m.decoded)
	for i, f := range m.folders {
		f.mu.Lock()
		if diff := cmp.Diff(want, f.state); diff != "" {
			m.t.Errorf("subscriber %d (-server +subscriber):\n%s", i, diff)
		}
		if !f.synced {
			m.t.Errorf("subscriber %d received no Bookmark", i)
		}
		f.mu.Unlock()
	}
}

// follow starts a subscriber that pauses after each change.
func (m *modelRun) follow(pace time.Duration) {
	f := &folder{t: m.t, state: make(map[core.ObjectRef]wire.Head)}
	m.folders = append(m.folders, f)
	ctx, cancel := context.WithCancel(m.t.Context())
	m.t.Cleanup(cancel)
	go func() {
		for c, err := range m.store.Subscribe(ctx) {
			if err != nil {
				return
			}
			f.take(c)
			time.Sleep(pace)
		}
	}()
}

// receive starts a receiver of all changes.
func (m *modelRun) receive() {
	f := &folder{t: m.t, state: make(map[core.ObjectRef]wire.Head)}
	m.folders = append(m.folders, f)
	ctx, cancel := context.WithCancel(m.t.Context())
	m.t.Cleanup(cancel)
	go func() { _ = m.store.Follow(ctx, f.take) }() // the cause of ctx
}

// folder applies changes to a map of objects.
type folder struct {
	t      *testing.T
	mu     sync.Mutex // guards the fields below
	state  map[core.ObjectRef]wire.Head
	synced bool
}

// take checks that a change is consistent with the previous ones.
func (f *folder) take(c reflector.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Type == core.Bookmark && c.Ref == (core.ObjectRef{}) {
		if f.synced {
			f.t.Error("a second Bookmark")
		}
		f.synced = true
		return
	}
	if c.Initial && (f.synced || c.Type != core.Added) {
		f.t.Errorf("%s of %s is initial", c.Type, c.Ref)
	}
	known, was := f.state[c.Ref]
	old, updated := headOf(f.t, c.Old), headOf(f.t, c.New)
	switch c.Type {
	case core.Added:
		if was || c.Old.Exists() {
			f.t.Errorf("added %s, which already existed", c.Ref)
		}
	case core.Modified:
		if was && old != known || !was && old.UID == updated.UID || updated == old {
			f.t.Errorf("modified %s from %v to %v, which was %v", c.Ref, old, updated, known)
		}
	case core.Bookmark:
		f.t.Error("a Bookmark with an object")
	case core.Deleted:
		if was && old != known || c.New.Exists() || !c.Old.Exists() {
			f.t.Errorf("deleted %s from %v, which was %v", c.Ref, old, known)
		}
		delete(f.state, c.Ref)
		return
	}
	if updated.Ref != c.Ref {
		f.t.Errorf("change of %s holds %s", c.Ref, updated.Ref)
	}
	f.state[c.Ref] = updated
}

func headOf(t *testing.T, s reflector.State) wire.Head {
	t.Helper()
	if !s.Exists() {
		return wire.Head{}
	}
	head, err := s.Head()
	if err != nil {
		t.Error(err)
	}
	return head
}
