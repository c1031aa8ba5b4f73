// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

// seeds is the number of random worlds: go test -run … -args -seeds=500
var seeds = flag.Uint64("seeds", 12, "the number of random worlds")

// wantedPages is the number of pages that a document of [library] wants: 1 or 2, depending on its text.
func wantedPages(text string) int { return 1 + int(text[0]-'0')%2 }

// library is a controller, another client that writes the same objects, and a server whose watches are slow and break.
// The controller copies the text of a document to the status of the document and to the labels of its pages. It creates
// and deletes pages until the document has as many as it wants.
type library struct {
	*world
	t          *testing.T
	controller *controller.Controller[document]

	mu      sync.Mutex // guards the fields below
	rand    *rand.Rand
	names   int            // for new pages
	created map[string]int // by runs, per document
	deleted map[string]int
	missing map[string]int // the pages that somebody else has deleted, or made a document want
	surplus map[string]int
	texts   map[string]string
	runs    int
}

// roll returns a number from 0 to n-1.
func (l *library) roll(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rand.IntN(n)
}

// count increments a number of a document.
func (l *library) count(m map[string]int, document string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m[document]++
}

// write records that somebody else writes the text of a document.
func (l *library) write(document, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := wantedPages(text)
	if old, ok := l.texts[document]; ok {
		n -= wantedPages(old)
	}
	l.texts[document] = text
	l.missing[document] += max(n, 0)
	l.surplus[document] += max(-n, 0)
}

// newPage returns a page of a document with a name that was never used.
func (l *library) newPage(document, text string) *page {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names++
	p := pageOf(fmt.Sprintf("prod/%s-%d", document, l.names), owner(documents.APIVersion(), "Document", document, true))
	p.Labels = map[string]string{"text": text}
	return p
}

// of returns the pages of a document that the cache has, by name.
func (l *library) of(document string) ([]*page, error) {
	var list []*page
	for p, err := range viewOf[page](l.world).Store().All(nil) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(p.Name, document+"-") {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *page) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// reconcile makes one pass, with pauses and failures in between.
func (l *library) reconcile(ctx context.Context, d *document) (controller.Action, error) {
	l.mu.Lock()
	l.runs++
	l.mu.Unlock()
	if err := l.number(ctx, d); err != nil {
		return controller.Action{}, err
	}
	list, err := l.of(d.Name)
	if err != nil {
		return controller.Action{}, err
	}
	for _, p := range list {
		if p.Labels["text"] == d.Text {
			continue
		}
		if err := l.label(ctx, p, d.Text); err != nil && !errors.Is(err, core.ErrNotFound) {
			return controller.Action{}, err
		}
	}
	return controller.AwaitChange(), l.status(ctx, d)
}

// number creates and deletes pages.
func (l *library) number(ctx context.Context, d *document) error {
	list, err := l.of(d.Name)
	if err != nil {
		return err
	}
	api := clusterWide[page](l.world).In("prod")
	wanted := wantedPages(d.Text)
	for range wanted - len(list) {
		if _, err := api.Create(ctx, l.newPage(d.Name, d.Text), nil); err != nil {
			return err
		}
		l.count(l.created, d.Name)
		if err := l.strike(); err != nil {
			return err
		}
	}
	for _, p := range list[min(wanted, len(list)):] {
		if err := api.Delete(ctx, p.Name, nil); err != nil {
			return err
		}
		l.count(l.deleted, d.Name)
		if err := l.strike(); err != nil {
			return err
		}
	}
	return nil
}

// label writes the text of a page in one of several ways.
func (l *library) label(ctx context.Context, p *page, text string) error {
	api := clusterWide[page](l.world).In("prod")
	p.Labels = map[string]string{"text": text}
	var err error
	if l.roll(2) == 0 {
		_, err = api.Update(ctx, p, nil)
	} else {
		_, err = api.Patch(ctx, p.Name, request.MergePatch(fmt.Appendf(nil, `{"metadata":{"labels":{"text":%q}}}`, text)), nil)
	}
	return errors.Join(err, l.strike())
}

// status writes the status of a document in one of several ways, and makes writes that change nothing.
func (l *library) status(ctx context.Context, d *document) error {
	api := clusterWide[document](l.world).In("prod")
	same := request.MergePatch(fmt.Appendf(nil, `{"status":%q}`, d.Text))
	if d.Status == d.Text {
		if l.roll(4) == 1 {
			_, err := api.Patch(ctx, d.Name, same, nil)
			return err
		}
		return nil
	}
	var err error
	switch l.roll(4) {
	case 0, 1:
		d.Status = d.Text
		_, err = api.Update(ctx, d, nil)
	case 2:
		_, err = api.Patch(ctx, d.Name, same, nil)
	case 3: // from the newest state, which may have changes by somebody else
		_, err = api.Modify(ctx, d.Name, func(now *document) error {
			now.Status = d.Text
			return nil
		}, nil)
	}
	if err == nil && l.roll(3) == 1 {
		_, err = api.Patch(ctx, d.Name, same, nil) // changes nothing, or what somebody else has written
	}
	return errors.Join(err, l.strike())
}

// strike waits or fails, or does nothing.
func (l *library) strike() error {
	switch l.roll(12) {
	case 1:
		return errNo
	case 2, 3, 4, 5:
		<-time.After(time.Duration(l.roll(300)) * time.Millisecond)
	}
	return nil
}

// disturb is one write by somebody else, or one fault.
func (l *library) disturb() {
	ctx := context.Background()
	name, text := fmt.Sprint("doc", l.roll(2)), fmt.Sprint(l.roll(4))
	docs, api := clusterWide[document](l.world).In("prod"), clusterWide[page](l.world).In("prod")
	var list []string // the pages of the document
	for r := range l.Kind(pages).Objects() {
		if strings.HasPrefix(r.Name, name+"-") {
			list = append(list, r.Name)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }) // the newest last
	switch l.roll(12) {
	case 0, 1, 2:
		l.write(name, text)
		_, _ = docs.Patch(ctx, name, request.MergePatch(fmt.Appendf(nil, `{"text":%q}`, text)), nil)
	case 3:
		_, _ = docs.Patch(ctx, name, request.MergePatch(fmt.Appendf(nil, `{"status":%q}`, text)), nil)
	case 4:
		l.Delete(documents, ref("prod/"+name))
		l.write(name, text)
		l.Put(documents, doc("prod/"+name, text))
	case 5:
		if _, err := api.Create(ctx, l.newPage(name, text), nil); err == nil {
			l.count(l.surplus, name)
		}
	case 6, 7, 8:
		if len(list) > 0 && api.Delete(ctx, list[max(0, len(list)-1-l.roll(3))], nil) == nil {
			l.count(l.missing, name)
		}
	case 9:
		if len(list) > 0 {
			merge := request.MergePatch(fmt.Appendf(nil, `{"metadata":{"labels":{"text":%q}}}`, text))
			_, _ = api.Patch(ctx, list[l.roll(len(list))], merge, nil)
		}
	case 10:
		l.Lag(time.Duration(l.roll(100)) * time.Millisecond)
	case 11:
		res := []core.Resource{documents, pages}[l.roll(2)]
		l.Kind(res).Cut(errNo)
		if l.roll(2) == 0 {
			l.Kind(res).Compact()
		}
	}
}

// disconnect may disconnect the watches of a kind, until the returned function is called. The next watch is resumed, or
// the objects are listed.
func (l *library) disconnect() (connect func()) {
	n := l.roll(4)
	if n > 1 {
		return func() {}
	}
	res := []core.Resource{documents, pages}[n]
	again := disconnect(l.world, res)
	return func() {
		if l.roll(2) == 0 {
			l.Kind(res).Compact()
		}
		again()
	}
}

// check compares the objects of the server with what the controller should have made of them.
func (l *library) check() {
	api := clusterWide[page](l.world).In("prod")
	all, err := api.List(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range 2 {
		name := fmt.Sprint("doc", i)
		d, err := clusterWide[document](l.world).In("prod").Get(l.t.Context(), name, nil)
		if err != nil {
			l.t.Fatal(err)
		}
		if d.Status != d.Text {
			l.t.Errorf("%s has the text %q and the status %q", name, d.Text, d.Status)
		}
		count := 0
		for _, p := range all.Items {
			if !strings.HasPrefix(p.Name, name+"-") {
				continue
			}
			count++
			if got := p.Labels["text"]; got != d.Text {
				l.t.Errorf("%s of %s has the text %q, want %q", p.Name, name, got, d.Text)
			}
		}
		if want := wantedPages(d.Text); count != want {
			l.t.Errorf("%s has %d pages, want %d", name, count, want)
		}
		if n, most := l.created[name], l.missing[name]; n > most {
			l.t.Errorf("runs have created %d pages of %s, want at most %d", n, name, most)
		}
		if n, most := l.deleted[name], l.surplus[name]; n > most {
			l.t.Errorf("runs have deleted %d pages of %s, want at most %d", n, name, most)
		}
	}
	s := l.controller.Metrics()
	if a := s.Applier; a.Ready+a.Running+a.Held+a.Delayed+s.Mapping > 0 {
		l.t.Errorf("work is left: %+v", s)
	}
}

// TestNoForeignChangeIsLostAndNoPageIsWrittenTwice lets a controller and somebody else write the same objects in random
// order, over slow and broken watches. At the end, the controller has reacted to each change by somebody else, although
// it ignores its own ones in half of the worlds. It has created and deleted no page because of an outdated cache.
func TestNoForeignChangeIsLostAndNoPageIsWrittenTwice(t *testing.T) {
	var runs [2]int
	for seed := range *seeds {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &library{
					world: newWorld(t), t: t, rand: rand.New(rand.NewPCG(seed/2, 1)),
					created: make(map[string]int), deleted: make(map[string]int),
					missing: make(map[string]int), surplus: make(map[string]int), texts: make(map[string]string),
				}
				l.controller = controller.New(controller.For[document](l.cache), &controller.Options{
					Logger: slog.New(slog.DiscardHandler), IgnoreOwnWrites: seed%2 == 1, HoldTimeout: time.Hour,
					Retry: &applier.Backoff{MaxBackoff: time.Second},
				}).Owns(controller.Source[page](l.cache))
				for i := range 2 {
					l.write(fmt.Sprint("doc", i), "0")
					l.Put(documents, doc(fmt.Sprint("prod/doc", i), "0"))
				}
				start(t, l.controller, l.reconcile)
				for range 60 {
					connect := l.disconnect()
					for range 1 + l.roll(3) { // few: a later write causes a run that may make up for a lost change
						l.disturb()
						<-time.After(time.Duration(l.roll(100)) * time.Millisecond)
					}
					connect()
					after(3 * time.Hour)
					l.check()
				}
				runs[seed%2] += l.runs
			})
		})
		if !ok {
			return
		}
	}
	if runs[1] >= runs[0] {
		t.Errorf("%d runs with IgnoreOwnWrites, %d without", runs[1], runs[0])
	}
}
