// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

// initialPages is the number of pages that exist before the controller of a model begins.
const initialPages = 40

// TestMappingModel checks the calls of a function for Map that is slow and fails, while objects change.
func TestMappingModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mappingModel{
					t: t, world: newWorld(t), rand: rand.New(rand.NewPCG(seed, 1)),
					current: make(map[string]*state), busy: make(map[string]bool),
				}
				m.check()
			})
		})
	}
}

// state is a state of a page. It is about a document of its own.
type state struct {
	page, document string
	mapped         time.Time // the end of the last successful call
	replaced       time.Time // when the next state or the deletion followed
	ran            time.Time // the begin of the last run of the document
}

// mappingModel is pages, all of their states, and what the functions of a controller have seen of them.
type mappingModel struct {
	*world
	t    *testing.T
	rand *rand.Rand

	mu            sync.Mutex        // guards the fields below
	current       map[string]*state // of the pages that exist
	all           []*state
	busy          map[string]bool // pages with a call
	live, initial int             // calls
	over          bool            // no more calls fail
}

func (m *mappingModel) check() {
	for i := range initialPages {
		m.put(fmt.Sprint("prod/", i))
	}
	c := controller.New(controller.For[document](m.cache), &controller.Options{Logger: m.log.logger()}).
		Watches(controller.Source[page](m.cache).Map(m.of))
	start(m.t, c, m.reconcile)
	for range 300 {
		m.step()
	}
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
	after(24 * time.Hour)
	if n := c.Metrics().Mapping; n != 0 {
		m.t.Errorf("%d pages wait", n)
	}
	for _, s := range m.all {
		m.checkState(s)
	}
}

// checkState checks that a state was mapped, and again after the next change, since runs may have read it. The document
// of a state must have run after each call.
func (m *mappingModel) checkState(s *state) {
	switch {
	case s.mapped.IsZero() || s.mapped.Before(s.replaced):
		m.t.Errorf("%s of %s was not mapped at %v", s.document, s.page, s.replaced)
	case s.ran.Before(s.mapped):
		m.t.Errorf("%s ran at %v, but %s was mapped at %v", s.document, s.ran, s.page, s.mapped)
	}
}

func (m *mappingModel) step() {
	m.mu.Lock()
	name, pause := fmt.Sprint("prod/", m.rand.IntN(initialPages+20)), time.Duration(m.rand.IntN(300))*time.Millisecond
	op := m.rand.IntN(8)
	m.mu.Unlock()
	switch op {
	case 0, 1, 2, 3:
		m.put(name)
	case 4:
		m.remove(name)
	case 5, 6:
		after(0)
	case 7:
		after(pause)
	}
}

// put writes a page, and creates the document that it is about.
func (m *mappingModel) put(name string) {
	m.mu.Lock()
	s := &state{page: ref(name).Name, document: "d" + strconv.Itoa(len(m.all))}
	m.replace(s.page)
	m.current[s.page] = s
	m.all = append(m.all, s)
	m.mu.Unlock()
	m.Put(documents, doc("prod/"+s.document, "1"))
	p := pageOf(name)
	p.Of = []string{s.document}
	m.Put(pages, p)
}

func (m *mappingModel) remove(name string) {
	m.mu.Lock()
	m.replace(ref(name).Name)
	m.mu.Unlock()
	m.Delete(pages, ref(name))
}

// replace records that a page has left its current state.
func (m *mappingModel) replace(page string) {
	if s := m.current[page]; s != nil {
		s.replaced = time.Now()
		delete(m.current, page)
	}
}

func (m *mappingModel) find(document string) *state {
	n, _ := strconv.Atoi(document[1:])
	return m.all[n]
}

func (m *mappingModel) of(ctx context.Context, p *page) ([]core.ObjectRef, error) {
	run, _ := controller.RunOf(ctx)
	defer m.begin(p, run.Priority == applier.Low)()
	m.mu.Lock()
	took, fails := time.Duration(m.rand.IntN(300))*time.Millisecond, m.rand.IntN(4) == 0 && !m.over
	m.mu.Unlock()
	<-time.After(took)
	if fails {
		return nil, errNo
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(p.Of[0]).mapped = time.Now()
	return of(ctx, p)
}

// begin records the begin of a call, and returns a function for its end.
func (m *mappingModel) begin(p *page, initial bool) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[p.Name] {
		m.t.Errorf("two calls for %s overlap", p.Name)
	}
	count := &m.live
	if initial {
		count = &m.initial
	}
	*count++
	if m.initial > 4 || m.live+m.initial > 8 {
		m.t.Errorf("%d calls, %d of them for initial objects", m.live+m.initial, m.initial)
	}
	m.busy[p.Name] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		*count--
		m.busy[p.Name] = false
	}
}

func (m *mappingModel) reconcile(_ context.Context, d *document) (controller.Action, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(d.Name).ran = time.Now()
	return controller.AwaitChange(), nil
}
