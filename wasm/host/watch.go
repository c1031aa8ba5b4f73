// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

// maxPrevious is the number of changed objects of a watch whose previous states a guest can read.
const maxPrevious = 1024

// objects are the objects of a shared watch, whatever the Go type of its view.
type objects struct {
	run     func(ctx context.Context) error
	current func(ctx context.Context) error // waits until no object is from a former run, or from before a refusal
	changes func(ctx context.Context, held *atomic.Int64) iter.Seq2[reflector.Delivery, error]
	observe func(o reflector.Observer) (stop func())
	health  func() error
	state   func(ref core.ObjectRef) reflector.State
	refs    func(namespace, labels string) ([]core.ObjectRef, error) // in their order
	encode  func(s reflector.State) ([]byte, error)                  // to JSON
}

// watch is the state of an OpWatch operation.
type watch struct {
	keysOnly bool
	waiting  atomic.Int64 // the memory of the changes that wait, in bytes
	kept     atomic.Int64 // the memory of previous, in bytes

	mu       sync.Mutex // guards the fields below
	objects  *objects   // nil until the module may read them
	synced   bool
	revoked  error                              // why the module may no longer read the objects
	previous map[core.ObjectRef]reflector.State // before the last change that was sent
	order    []core.ObjectRef                   // of previous, by their last change, oldest first
}

// resourceOf returns the resource of a watch.
func resourceOf(w *abi.Watch) core.Resource {
	return core.Resource{
		Group: w.Group, Version: w.Version, Kind: w.Kind, Plural: w.Resource, Namespaced: w.Namespaced,
	}
}

// selectionOf returns the selection of a watch.
func selectionOf(w *abi.Watch) *cache.Selection {
	return &cache.Selection{Namespace: w.Namespace, LabelSelector: w.LabelSelector, FieldSelector: w.FieldSelector}
}

// The maximum lengths of a selector, and of the other fields of a watch, in bytes. Longer names are invalid on servers.
const (
	maxSelector = 4096
	maxField    = 253
)

// checkWatch returns an error if a watch is invalid. It puts the selectors in a fixed form, so that equal watches are
// shared.
func checkWatch(w *abi.Watch) error {
	if len(w.LabelSelector) > maxSelector || len(w.FieldSelector) > maxSelector {
		return fmt.Errorf("a selector has more than %d bytes", maxSelector)
	}
	if max(len(w.Group), len(w.Version), len(w.Kind), len(w.Resource), len(w.Namespace)) > maxField {
		return fmt.Errorf("the group, version, kind, resource or namespace has more than %d bytes", maxField)
	}
	if w.Projection != abi.ProjectionFull && w.Projection != abi.ProjectionMetadata {
		return fmt.Errorf("projection is %q, want %q or none", w.Projection, abi.ProjectionMetadata)
	}
	selector, err := labels.Parse(w.LabelSelector)
	if err != nil {
		return err
	}
	if w.LabelSelector, err = canonicalLabels(selector); err != nil {
		return err
	}
	terms, err := fields.ParseSelector(w.FieldSelector)
	if err != nil {
		return err
	}
	if w.FieldSelector, err = canonicalFields(terms, w.Namespace); err != nil {
		return err
	}
	if w.Namespace != "" && !w.Namespaced {
		return fmt.Errorf("the namespace is %q, but %s are not namespaced", w.Namespace, w.Resource)
	}
	if ns := w.Namespace; ns == "." || ns == ".." || url.PathEscape(ns) != ns {
		return fmt.Errorf("the namespace is %.100q, which can't be part of a URL", ns)
	}
	return resourceOf(w).Validate()
}

// canonicalLabels returns a label selector with its terms in one order and one spelling.
func canonicalLabels(selector labels.Selector) (string, error) {
	all, _ := selector.Requirements() // every selector that was parsed is selectable
	terms := make([]string, 0, len(all))
	for _, r := range all {
		op, values := r.Operator(), r.Values().List()
		switch {
		case op == "==", op == "in" && len(values) == 1:
			op = "="
		case op == "notin" && len(values) == 1:
			op = "!="
		}
		term, err := labels.NewRequirement(r.Key(), op, values)
		if err != nil {
			return "", err
		}
		terms = append(terms, term.String())
	}
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), ","), nil
}

// canonicalFields returns a field selector with its terms in one order and one spelling, without a term for the
// namespace of the watch.
func canonicalFields(selector fields.Selector, namespace string) (string, error) {
	var terms []string
	for _, r := range selector.Requirements() {
		if namespace != "" && r.Field == "metadata.namespace" && r.Operator != "!=" {
			if r.Value != namespace {
				return "", fmt.Errorf("the field selector has the namespace %q, and the watch %q", r.Value, namespace)
			}
			continue
		}
		op := r.Operator
		if op == "==" {
			op = "="
		}
		terms = append(terms, r.Field+string(op)+fields.EscapeValue(r.Value))
	}
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), ","), nil
}

// view returns the objects that a watch selects, from its shared watch.
func (s *sharedWatch) view(w *abi.Watch) *objects {
	if w.Projection == abi.ProjectionMetadata {
		return objectsOf(cache.OfResource[metav1.PartialObjectMetadata](s.cache, resourceOf(w), selectionOf(w)))
	}
	return objectsOf(cache.OfResource[unstructured.Unstructured](s.cache, resourceOf(w), selectionOf(w)))
}

// sizes returns an observer that passes the sizes of the objects to resize.
func sizes(resize func(bytes int64)) reflector.Observer {
	return reflector.Observer{Seen: func(string) {}, Gone: func(wire.Packed) {}, Size: resize}
}

// objectsOf returns the objects of a view.
func objectsOf[K any, P core.ObjectPtr[K]](v *cache.View[K]) *objects {
	return &objects{
		run: v.Run,
		current: func(ctx context.Context) error {
			if v.Store().ResourceVersion() == "" { // no list was completed: the objects are sent as they arrive
				return nil
			}
			if err := v.Store().Ready(ctx); err != nil {
				return err
			}
			return awaitPermission(ctx, v.Health)
		},
		changes: v.Store().Deliver,
		observe: v.Observe,
		health:  v.Health,
		state:   v.State,
		refs: func(namespace, labels string) ([]core.ObjectRef, error) {
			refs, err := v.Store().Refs(&reflector.SelectOptions{Namespace: namespace, LabelSelector: labels})
			slices.SortFunc(refs, compareRefs)
			return refs, err
		},
		encode: func(s reflector.State) ([]byte, error) { return encode[K, P](s.Packed(), v.Resource()) },
	}
}

// awaitPermission waits until the server does not refuse a watch of the host: its objects may be old, and the host may
// not read them any more. If the server continues to refuse, noticeRefusal ends ctx.
func awaitPermission(ctx context.Context, health func() error) error {
	for errors.Is(health(), core.ErrForbidden) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	return nil
}

// encode returns an object of a view in JSON, with its apiVersion and kind.
func encode[K any, P core.ObjectPtr[K]](object wire.Packed, res core.Resource) ([]byte, error) {
	if object.Encoding() == wire.JSON {
		return withKind(object.Bytes(), res)
	}
	obj := P(new(K))
	if err := object.Decode(obj); err != nil {
		return nil, err
	}
	data, err := wire.MarshalJSON(obj)
	if err != nil {
		return nil, err
	}
	return withKind(data, res)
}

// withKind returns an object in JSON with its apiVersion and kind, which servers leave out in lists.
func withKind(object []byte, res core.Resource) ([]byte, error) {
	var has metav1.TypeMeta
	if err := wire.UnmarshalJSON(object, &has); err != nil {
		return nil, err
	}
	begin := bytes.IndexByte(object, '{') + 1
	if has.Kind != "" || begin == 0 {
		return object, nil
	}
	data := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q`, res.APIVersion(), res.Kind)
	if rest := bytes.TrimSpace(object[begin:]); len(rest) > 0 && rest[0] != '}' {
		data = append(data, ',')
	}
	return append(data, object[begin:]...), nil
}

func compareRefs(a, b core.ObjectRef) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// startWatch starts the watch of an operation.
func (op *operation) startWatch(message []byte) error {
	var w abi.Watch
	if err := wire.UnmarshalJSON(message, &w); err != nil {
		return abi.Invalid
	}
	if err := checkWatch(&w); err != nil {
		return abi.Invalid
	}
	op.watch = &watch{keysOnly: w.KeysOnly, previous: make(map[core.ObjectRef]reflector.State)}
	op.instance.guest.host.spawn(func() { op.runWatch(&w) }) // ends with the context of the operation, as of a request
	return nil
}

// runWatch sends the objects of a watch and their changes. Nothing is watched before the module may read the objects.
func (op *operation) runWatch(w *abi.Watch) {
	g := op.instance.guest
	err := g.quota.admit(*w, time.Now())
	if err == nil {
		err = g.authorize(op.ctx, w)
	}
	if err == nil {
		err = g.host.kinds.check(op.ctx, w)
	}
	if err != nil {
		op.fail(err)
		return
	}
	shared, done := g.host.watches.use(*w)
	op.watchShared(w, shared)
	exceeded, ok := errors.AsType[*abi.Error](context.Cause(op.ctx))
	ok = ok && exceeded.Code == abi.OverLimit
	done(!ok)
	if ok {
		g.logger.LogAttrs(context.WithoutCancel(op.ctx), slog.LevelWarn, "watch has ended", slog.String("resource", resourceOf(w).String()),
			slog.Any("err", exceeded))
	}
}

// watchShared sends the objects of a shared watch and their changes. When it returns, the module can't read them any
// more: they may be discarded.
func (op *operation) watchShared(w *abi.Watch, shared *sharedWatch) {
	g, view := op.instance.guest, shared.view(w)
	if err := g.payWatch(op.ctx, shared); err != nil {
		op.fail(err)
		return
	}
	shared.running.Add(1)
	defer shared.running.Add(-1)
	use := g.quota.claim(shared, op.watch.held, op.cancel)
	defer use.end()
	defer view.observe(sizes(use.resize))()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		if err := view.run(op.ctx); op.ctx.Err() == nil {
			op.cancel(&abi.Error{Code: abi.Invalid, Message: err.Error()})
		}
	})
	all.Go(func() {
		if err := g.noticeRefusal(op.ctx, w, op.watch.isReady, view.health); err != nil {
			op.cancel(err)
		}
	})
	all.Go(func() {
		if err := g.guard(op.ctx, w); err != nil {
			op.cancel(err)
		}
	})
	err := op.follow(view, use)
	op.cancel(err)
	op.fail(context.Cause(op.ctx)) // the first one
}

const (
	// refusedTime is the time for which the server must refuse a watch of the host that has its objects, so that it ends.
	// A server that has just started refuses, too, until it has read its roles; the watch is repeated at least once a
	// minute.
	refusedTime = 2 * time.Minute

	// refusedInterval is the time between two checks of a watch that has its objects.
	refusedInterval = 10 * time.Second
)

// noticeRefusal waits until the server does not allow the host to watch objects, and returns the error; nil if ctx ends
// before. The watch itself would try forever. If the objects are ready, the server must have refused for refusedTime.
func (g *guest) noticeRefusal(ctx context.Context, w *abi.Watch, ready func() bool, health func() error) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var since time.Time // of the refusal of a watch that has its objects
	for {
		select { // before the first check: while a former run ends, health is still its error
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		has, now := ready(), time.Now()
		if has {
			ticker.Reset(refusedInterval)
		}
		switch err := health(); {
		case !errors.Is(err, core.ErrForbidden):
			since = time.Time{}
		case !has, !since.IsZero() && now.Sub(since) >= refusedTime:
			return g.refused(ctx, w, err)
		case since.IsZero():
			since = now
		}
	}
}

// refused returns the error of a watch that the server refuses to the host, and records it. The message of the server
// is only logged, because it names the user of the host.
func (g *guest) refused(ctx context.Context, w *abi.Watch, err error) error {
	g.logger.LogAttrs(ctx, slog.LevelWarn, "host may not watch for the module", slog.Any("err", err))
	refused := &abi.Error{Code: abi.Forbidden, Message: fmt.Sprintf("the host may not list and watch %s %s: add the rule "+
		"to its role", resourceOf(w), whereOf(w))}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.err = refused
	return refused
}

// changeBytes is the memory for a change without its object, and for what encoding adds to an object.
const changeBytes = 2 << 10

// follow sends the changes of the watch. It returns an error. The memory for an object is reserved before it is
// encoded. If the shared watch begins again, its former objects are neither sent nor read before they are listed again:
// some may be deleted, and synced would say that they exist.
func (op *operation) follow(view *objects, use *claim) error {
	w := op.watch
	if err := view.current(op.ctx); err != nil {
		return err
	}
	w.begin(view)
	it := item{flags: abi.FlagSyncBegin}
	defer func() { op.instance.guest.budget.free(it.reserved) }()
	send := func() error {
		next := it
		it = item{}
		if !op.send(next) {
			return context.Cause(op.ctx)
		}
		return nil
	}
	for c, err := range view.changes(op.ctx, &w.waiting) {
		use.check()
		switch {
		case op.ctx.Err() != nil:
			return context.Cause(op.ctx)
		case err != nil:
			return err
		case c.Type == core.Bookmark:
			it.flags |= abi.FlagSynced
			w.markSynced()
		case c.Type == "":
			if !w.isReady() || !op.instance.wantsVersion() {
				continue
			}
			it.quiet = len(it.data) == 0
		default:
			if err := op.add(&it, view, c.Change, send); err != nil {
				return err
			}
		}
		if c.Seen != "" && w.isReady() {
			seen := appendChange(nil, abi.Change{Type: abi.ChangeSeen, ResourceVersion: c.Seen}, nil)
			if len(it.data)+len(seen) > abi.MaxMessage {
				if err := send(); err != nil {
					return err
				}
			}
			it.data = append(it.data, seen...)
		}
		// Until the watch is synced, an item has many objects; then it has one.
		if c.Initial && len(it.data) < abi.MaxChunk {
			continue
		}
		if err := send(); err != nil {
			return err
		}
	}
	return nil
}

// add adds a change to an item. If the item has no room for the change, or the budget no memory, add sends it first.
func (op *operation) add(it *item, view *objects, c reflector.Change, send func() error) (err error) {
	w, budget := op.watch, &op.instance.guest.budget
	need := int64(changeBytes)
	if c.New.Exists() && !w.keysOnly {
		need += int64(c.New.Size())
	}
	if len(it.data) == 0 || !budget.reserve(need) {
		if len(it.data) > 0 { // what has memory must not wait for more
			if err := send(); err != nil {
				return err
			}
		}
		if err := budget.wait(op.ctx, need); err != nil {
			return err
		}
	}
	it.reserved += need
	before := len(it.data)
	if it.data, err = w.append(view, it.data, c); err != nil {
		return err
	}
	size := int64(len(it.data) - before)
	budget.force(size - need)
	it.reserved += size - need
	if len(it.data) > abi.MaxMessage && before > 0 { // the change may fit into an item of its own
		next := item{data: it.data[before:], reserved: size}
		it.data, it.reserved = it.data[:before], it.reserved-size
		err := send()
		*it = next
		if err != nil {
			return err
		}
	}
	if len(it.data) > abi.MaxMessage {
		return &abi.Error{Code: abi.TooLarge, Message: fmt.Sprintf("object %s has %d bytes in JSON, and a message has "+
			"at most %d: leave it out with a selector, or set the projection %s or keysOnly",
			c.Ref, len(it.data), abi.MaxMessage, abi.ProjectionMetadata)}
	}
	return nil
}

// awaitsWrites is the time after a write during which a guest may wait for its version.
const awaitsWrites = 2 * time.Minute

// wantsVersion reports whether a guest receives a version without a change. An unloaded one stays so, unless it may
// wait for the version of its last write.
func (i *instance) wantsVersion() bool {
	g := i.guest
	g.mu.Lock()
	unloaded := g.unloaded
	g.mu.Unlock()
	return !unloaded || i.awaitsVersion()
}

// awaitsVersion reports whether a guest may wait for the version of its last write.
func (i *instance) awaitsVersion() bool {
	return time.Since(time.Unix(0, i.wrote.Load())) < awaitsWrites
}

// markSynced records that all objects are in the queue of the guest, or about to be.
func (w *watch) markSynced() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.synced = true
}

// append encodes a change. An object that was deleted and created again is two changes.
func (w *watch) append(view *objects, data []byte, c reflector.Change) ([]byte, error) {
	var old, now wire.Head
	var err error
	if c.Old.Exists() {
		if old, err = c.Old.Head(); err != nil {
			return data, err
		}
	}
	if !c.New.Exists() {
		w.remember(c)
		return appendChange(data, changeOf(abi.ChangeGone, c.Ref, old), nil), nil
	}
	if now, err = c.New.Head(); err != nil {
		return data, err
	}
	if c.Old.Exists() && old.UID != now.UID {
		data = appendChange(data, changeOf(abi.ChangeGone, c.Ref, old), nil)
	}
	w.remember(c)
	var object []byte
	if !w.keysOnly {
		if object, err = view.encode(c.New); err != nil {
			return data, err
		}
	}
	set := changeOf(abi.ChangeSet, c.Ref, now)
	set.Merged = c.Merged
	return appendChange(data, set, object), nil
}

// changeOf returns a change of an object with a state.
func changeOf(kind string, ref core.ObjectRef, state wire.Head) abi.Change {
	return abi.Change{
		Type: kind, Namespace: ref.Namespace, Name: ref.Name,
		UID: string(state.UID), ResourceVersion: state.ResourceVersion,
	}
}

// appendChange appends the length of a change, the change, the length of the object, and the object.
func appendChange(data []byte, c abi.Change, object []byte) []byte {
	return abi.AppendFrame(abi.AppendFrame(data, marshal(c)), object)
}

// remember keeps the state before a change.
func (w *watch) remember(c reflector.Change) {
	if !c.Old.Exists() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, ok := w.previous[c.Ref]; ok {
		w.kept.Add(int64(c.Old.Size() - old.Size()))
		at := slices.Index(w.order, c.Ref)
		w.order = append(slices.Delete(w.order, at, at+1), c.Ref)
	} else {
		w.kept.Add(int64(previousBytes + c.Old.Size()))
		w.order = append(w.order, c.Ref)
		if first := w.order[0]; len(w.order) > maxPrevious {
			w.kept.Add(-int64(previousBytes + w.previous[first].Size()))
			delete(w.previous, first)
			w.order = w.order[1:]
		}
	}
	w.previous[c.Ref] = c.Old
}

// previousBytes is the memory of a previous state besides the state.
const previousBytes = 160

// held returns the memory that only this watch needs, in bytes.
func (w *watch) held() int64 { return w.waiting.Load() + w.kept.Load() }

// find returns a state of an object: that with the version, or the newest.
func (w *watch) find(ref core.ObjectRef, version string) (reflector.State, error) {
	s := w.objects.state(ref)
	if version == "" || isVersion(s, version) {
		return s, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.previous[ref]; isVersion(old, version) {
		return old, nil
	}
	return s, nil
}

// isVersion reports whether an object exists and has a version.
func isVersion(s reflector.State, version string) bool {
	if !s.Exists() {
		return false
	}
	head, err := s.Head()
	return err == nil && head.ResourceVersion == version
}

// isReady reports whether all objects are in the queue of the guest.
func (w *watch) isReady() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.synced
}

// begin gives access to the objects.
func (w *watch) begin(view *objects) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects = view
}

// revoke ends the access to the objects. The first error remains, which the guest receives.
func (w *watch) revoke(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revoked == nil {
		w.revoked = codeOf(err)
	}
}

// watchOf returns the watch with an id.
func (i *instance) watchOf(id int64) (*watch, error) {
	op := i.operations[id]
	if op == nil || op.watch == nil {
		return nil, abi.NotFound
	}
	w := op.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.revoked != nil:
		return nil, w.revoked
	case w.objects == nil:
		return nil, abi.NotReady
	}
	return w, nil
}

// get returns an object of a watch.
func (i *instance) get(message []byte) ([]byte, error) {
	var g abi.Get
	if err := wire.UnmarshalJSON(message, &g); err != nil {
		return nil, abi.Invalid
	}
	w, err := i.watchOf(g.Watch)
	if err != nil {
		return nil, err
	}
	s, err := w.find(core.ObjectRef{Namespace: g.Namespace, Name: g.Name}, g.ResourceVersion)
	if _, ended := i.watchOf(g.Watch); ended != nil { // the objects may have been discarded meanwhile
		err = ended
	}
	switch {
	case err != nil:
		return nil, err
	case s.Exists():
		return w.objects.encode(s)
	case !w.isReady():
		return nil, abi.NotReady
	}
	return nil, abi.NotFound
}

// defaultPage is the number of objects on a page of a list.
const defaultPage = 500

// list returns a page of the objects of a watch.
func (i *instance) list(ctx context.Context, message []byte) ([]byte, error) {
	var l abi.List
	if err := wire.UnmarshalJSON(message, &l); err != nil || l.Limit < 0 || len(l.LabelSelector) > maxSelector {
		return nil, abi.Invalid
	}
	w, err := i.watchOf(l.Watch)
	switch {
	case err != nil:
		return nil, err
	case !w.isReady():
		return nil, abi.NotReady
	}
	indexed, rest, err := splitSelector(l.LabelSelector)
	if err != nil {
		return nil, abi.Invalid
	}
	refs, err := w.objects.refs(l.Namespace, indexed)
	if err != nil {
		if _, ended := i.watchOf(l.Watch); ended != nil { // the objects may have been discarded meanwhile
			return nil, ended
		}
		if errors.Is(err, reflector.ErrNotReady) {
			return nil, abi.NotReady
		}
		return nil, abi.Invalid
	}
	if l.Continue != "" {
		after := core.ParseObjectRef(l.Continue)
		n, found := slices.BinarySearchFunc(refs, after, compareRefs)
		if found {
			n++
		}
		refs = refs[n:]
	}
	page, err := w.page(ctx, refs, rest, cmp.Or(l.Limit, defaultPage))
	if _, ended := i.watchOf(l.Watch); ended != nil { // the objects may have been discarded meanwhile
		err = ended
	}
	if err != nil {
		return nil, err
	}
	return encodePage(page), nil
}

// encodePage encodes a page. Its objects have their JSON unchanged: the encoder would escape characters, so that they
// would need up to six times as many bytes.
func encodePage(page *abi.Page) []byte {
	const begin = `{"items":[`
	empty := marshal(&abi.Page{Items: []jsontext.Value{}, Continue: page.Continue})
	data := []byte(begin)
	for n, object := range page.Items {
		if n > 0 {
			data = append(data, ',')
		}
		data = append(data, object...)
	}
	return append(data, empty[len(begin):]...)
}

// indexedTerms is the number of terms of a label selector that the store evaluates, in one step that nothing can
// interrupt.
const indexedTerms = 4

// splitSelector returns the first terms of a label selector, and a selector with the others.
func splitSelector(text string) (indexed string, rest labels.Selector, err error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return "", nil, err
	}
	terms, _ := selector.Requirements() // every selector that was parsed is selectable
	n := min(len(terms), indexedTerms)
	return labels.NewSelector().Add(terms[:n]...).String(), labels.NewSelector().Add(terms[n:]...), nil
}

// page returns the first of the objects that a selector selects. The end of the call of the guest interrupts it.
func (w *watch) page(ctx context.Context, refs []core.ObjectRef, rest labels.Selector, limit int) (*abi.Page, error) {
	page := &abi.Page{Items: []jsontext.Value{}}
	size := 0
	var last core.ObjectRef // on the page
	for _, ref := range refs {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		state := w.objects.state(ref)
		if !state.Exists() {
			continue // it was deleted meanwhile
		}
		if !rest.Empty() {
			if has, err := state.Packed().Labels(); err != nil {
				return nil, err
			} else if !rest.Matches(labels.Set(has)) {
				continue
			}
		}
		object, err := w.objects.encode(state)
		if err != nil {
			return nil, err
		}
		if n := len(page.Items); n > 0 && (n == limit || size+len(object) > abi.MaxMessage/2) {
			page.Continue = last.String()
			break
		}
		page.Items = append(page.Items, object)
		last = ref
		size += len(object)
	}
	return page, nil
}
