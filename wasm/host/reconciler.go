// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/reflector"
)

// dynamic is a view of objects without a Go type.
type dynamic = cache.View[unstructured.Unstructured]

// reconciled is the object of a run. Only its metadata is decoded.
type reconciled struct {
	metav1.PartialObjectMetadata

	data []byte // the object in JSON, with its apiVersion and kind
}

// readReconciled returns the object of a run.
func readReconciled(object wire.Packed, res core.Resource) (*reconciled, error) {
	data, err := encode[unstructured.Unstructured](object, res)
	if err != nil {
		return nil, err
	}
	obj := &reconciled{data: data}
	return obj, wire.UnmarshalJSON(data, &obj.PartialObjectMetadata)
}

// input is a watch of a controller.
type input struct {
	*abi.Watch
	*dynamic

	shared *sharedWatch
}

// ready reports whether the objects are those of the current run.
func (in input) ready() bool {
	ended, stop := context.WithCancel(context.Background())
	stop()
	return in.Store().Ready(ended) == nil
}

// reconciler runs the controllers of a guest with the profile of that name.
type reconciler struct {
	guest  *guest
	logger *slog.Logger // for records that the guest causes
	events *events.Recorder
	stop   context.CancelFunc
	ended  sync.WaitGroup
	places chan struct{} // has a token for each run of all controllers
	done   []func(bool)  // end the use of the shared watches

	mu    sync.Mutex     // guards the fields below
	idle  []idleInstance // oldest first
	timer *time.Timer    // discards idle instances

	// resources are those of the objects that the guest has applied or deleted, until the server does not serve one.
	resources map[schema.GroupVersionKind]core.Resource
}

// idleInstance is an instance that is not used.
type idleInstance struct {
	*instance

	since time.Time
}

// maxInstances is the maximum number of instances of a reconciler, and of its runs. The messages and objects of a run
// are in the memory of the host.
const maxInstances = 8

// maxChanges is the maximum number of objects that one result applies, deletes and reports events about.
const maxChanges = 1000

// startReconciler starts the controllers of a guest. The instance that has described them is the first to be used. No
// controller runs if one of them is invalid: the caller holds a token of the host, which the runs could wait for.
func (g *guest) startReconciler(first *instance) (*reconciler, error) {
	if len(g.description.Controllers) == 0 {
		return nil, fmt.Errorf("%s: controllers is empty", abi.Describe)
	}
	ctx, stop := context.WithCancel(g.host.ctx)
	r := &reconciler{guest: g, stop: stop, places: make(chan struct{}, maxInstances)}
	r.resources = make(map[schema.GroupVersionKind]core.Resource)
	r.logger = g.limitedLogger()
	r.events = events.NewRecorder(g.client, &events.Options{
		Controller: reporterOf(g.module.Name), Logger: r.logger, StopTimeout: stopTime,
	})
	starts := []func(){func() {
		if err := r.events.Run(ctx); ctx.Err() == nil {
			g.logger.LogAttrs(ctx, slog.LevelError, "module can't write events", slog.Any("err", err))
		}
	}}
	for n, c := range g.description.Controllers {
		inputs, run, err := r.controller(c)
		if err != nil {
			r.end(err)
			return nil, fmt.Errorf("%s: controller %q: %w", abi.Describe, c.Name, err)
		}
		starts = append(starts, func() {
			block := func(err error) { g.block(n, c.Name, err) }
			if err := r.authorized(ctx, block, inputs, run); ctx.Err() == nil {
				g.broken(fmt.Errorf("controller %q: %w", c.Name, err))
			}
		})
	}
	r.put(first)
	for _, start := range starts {
		r.ended.Go(start)
	}
	return r, nil
}

// watchesOf returns the watches of a controller.
func watchesOf(c *abi.Controller) []abi.Watch { return append(slices.Clone(c.Owns), c.For) }

// authorized runs a controller whenever the module may read the objects of its watches. When that changes, it calls
// block with the reason, or with nil.
func (r *reconciler) authorized(
	ctx context.Context, block func(error), inputs []input, run func(context.Context) error,
) error {
	for {
		err := r.guarded(ctx, block, inputs, run)
		refused, ok := errors.AsType[*abi.Error](err)
		if !ok || ctx.Err() != nil {
			return err
		}
		for _, in := range inputs {
			in.shared.cache.Discard() // what no other module uses
		}
		block(err)
		wait := reauthorize
		if refused.Code == abi.OverLimit { // each attempt lists the objects again
			wait = maxBackOff
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// reauthorize is the time after which a controller that may not read its objects tries again.
const reauthorize = 10 * time.Second

// guarded runs a controller until the module may no longer read the objects of its watches, or exceeds its memory for
// them. It returns the first error of these. The controller stays blocked until all objects are ready: until then, the
// attempt may fail like the one before.
func (r *reconciler) guarded(
	ctx context.Context, block func(error), inputs []input, run func(context.Context) error,
) error {
	g := r.guest
	ctx, stop := context.WithCancelCause(ctx)
	var guards sync.WaitGroup
	defer guards.Wait()
	defer stop(nil)
	for _, in := range inputs {
		err := g.authorize(ctx, in.Watch)
		if err == nil {
			err = g.host.kinds.check(ctx, in.Watch)
		}
		if health := in.Health(); err == nil && errors.Is(health, core.ErrForbidden) { // other modules have begun the watch
			err = g.refused(ctx, in.Watch, health)
		}
		if err == nil {
			guards.Go(func() {
				if err := g.guard(ctx, in.Watch); err != nil {
					stop(err)
				}
			})
			err = g.payWatch(ctx, in.shared)
		}
		if err != nil {
			stop(err) // unless ctx has ended before, which may be why
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in.shared.running.Add(1)
		defer in.shared.running.Add(-1)
		use := g.quota.claim(in.shared, nil, stop)
		defer use.end()
		defer in.Observe(sizes(use.resize))() // if the objects exceed the limit, this ends ctx
		guards.Go(func() {
			if err := g.noticeRefusal(ctx, in.Watch, in.ready, in.Health); err != nil {
				stop(err)
			}
		})
	}
	guards.Go(func() {
		for _, in := range inputs {
			if in.Store().Ready(ctx) != nil {
				return
			}
		}
		block(nil)
	})
	return run(ctx)
}

// end stops the controllers and discards the instances. It waits for the runs.
func (r *reconciler) end(cause error) {
	r.stop()
	r.ended.Wait()
	for _, done := range r.done {
		done(true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	for _, i := range r.idle {
		i.end(cause)
	}
	r.idle, r.timer = nil, nil
}

// controller returns the watches of a controller, and a function that runs it.
func (r *reconciler) controller(c abi.Controller) ([]input, func(context.Context) error, error) {
	primary, err := r.input(&c.For)
	if err != nil {
		return nil, nil, fmt.Errorf("for: %w", err)
	}
	ctl := controller.New(controller.ForView(primary.dynamic), &controller.Options{
		Name: c.Name, Logger: r.logger, StopTimeout: stopTime,
	})
	inputs, owned := []input{primary}, make([]*dynamic, len(c.Owns))
	for n, w := range c.Owns {
		in, err := r.input(&w)
		if err != nil {
			return nil, nil, fmt.Errorf("owns: %w", err)
		}
		inputs, owned[n] = append(inputs, in), in.dynamic
		ctl.Owns(controller.SourceView(in.dynamic))
	}
	return inputs, func(life context.Context) error {
		return ctl.RunPacked(life, func(ctx context.Context, object wire.Packed) (controller.Action, error) {
			action, err := r.reconcile(ctx, life, &c, primary.dynamic, owned, object)
			switch {
			case errors.Is(err, errSkipped):
				return controller.AwaitChange(), nil
			case err != nil:
				return action, shorten(err)
			}
			return action, nil
		})
	}, nil
}

// input returns a watch of a controller, with the view of its objects.
func (r *reconciler) input(w *abi.Watch) (input, error) {
	if w.Projection != abi.ProjectionFull || w.KeysOnly {
		return input{}, errors.New("projection and keysOnly are not supported for controllers")
	}
	if err := checkWatch(w); err != nil {
		return input{}, err
	}
	shared, done := r.guest.host.watches.use(*w)
	r.done = append(r.done, done)
	view := cache.OfResource[unstructured.Unstructured](shared.cache, resourceOf(w), selectionOf(w))
	return input{w, view, shared}, nil
}

// errSkipped is why a run returns that has not called the guest: its controller has ended, or its object was deleted. A
// controller that starts again begins with all objects.
var errSkipped = errors.New("the controller has ended, or the object was deleted")

// reconcile calls the guest for an object, and does what it returns. A run that waits needs no memory for its object.
// The context of a run ends some time after life, which is that of its controller, so that it can write what the guest
// has returned. A run that still waits for its call when life ends, or when its object is deleted, returns errSkipped.
func (r *reconciler) reconcile(
	ctx, life context.Context, c *abi.Controller, primary *dynamic, owned []*dynamic, object wire.Packed,
) (controller.Action, error) {
	waits, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(life, func() { stop(errSkipped) })()
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-waits.Done():
		return controller.Action{}, context.Cause(waits)
	}
	obj, out, err := r.call(ctx, waits, c, primary, owned, object)
	if err != nil {
		return controller.Action{}, err
	}
	if err := r.perform(ctx, c, obj, out); err != nil {
		return controller.Action{}, err
	}
	switch wait := max(out.Requeue, 0); {
	case out.Error != "":
		return controller.Action{}, errors.New(out.Error)
	case wait > 0:
		return controller.RequeueAfter(millis(wait)), nil
	case c.Every > 0:
		return controller.RequeueAfter(millis(c.Every)), nil
	}
	return controller.AwaitChange(), nil
}

// requestOf returns the message about an object for the guest. It is limited: otherwise the guest would not have the
// memory for it, and count as failed.
func requestOf(c *abi.Controller, owned []*dynamic, obj *reconciled) ([]byte, error) {
	in := abi.ReconcileRequest{Controller: c.Name, Namespace: obj.Namespace, Name: obj.Name, Object: obj.data}
	tooLarge := func(bytes int) error {
		return fmt.Errorf("%s %s and %d objects that it owns have %d bytes or more, and a message has at most %d: make "+
			"them fewer or smaller", obj.Kind, core.RefOf(obj), len(in.Owned), bytes, abi.MaxMessage)
	}
	size := len(in.Object)
	for _, v := range owned {
		refs, err := v.Store().Refs(&reflector.SelectOptions{Owner: obj.UID})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(refs, compareRefs)
		for _, ref := range refs {
			state := v.State(ref)
			if !state.Exists() { // it was deleted meanwhile
				continue
			}
			data, err := encode[unstructured.Unstructured](state.Packed(), v.Resource())
			if err != nil {
				return nil, err
			}
			in.Owned = append(in.Owned, data)
			if size += len(data); size > abi.MaxMessage {
				return nil, tooLarge(size)
			}
		}
	}
	message := marshal(&in)
	if len(message) > abi.MaxMessage {
		return nil, tooLarge(len(message))
	}
	return message, nil
}

// current returns the state of an object after its run has waited, which can take as long as a burst of CPU time. It
// returns errSkipped if the object does not exist any more. Another object with its name has a run of its own.
func current(primary *dynamic, object wire.Packed) (wire.Packed, error) {
	before, err := object.Head()
	if err != nil {
		return wire.Packed{}, core.Terminal(err)
	}
	state := primary.State(before.Ref)
	if !state.Exists() {
		return wire.Packed{}, errSkipped
	}
	now, err := state.Head()
	switch {
	case err != nil:
		return wire.Packed{}, core.Terminal(err)
	case now.UID != before.UID:
		return wire.Packed{}, errSkipped
	}
	return state.Packed(), nil
}

// call calls the guest for the current state of an object when it may run, and returns the object and the response. It
// waits until the context waits ends.
func (r *reconciler) call(
	ctx, waits context.Context, c *abi.Controller, primary *dynamic, owned []*dynamic, object wire.Packed,
) (*reconciled, *abi.ReconcileResponse, error) {
	h := r.guest.host
	r.guest.throttleCPU(waits)
	if err := h.acquireFor(waits); err != nil {
		return nil, nil, err
	}
	defer h.release()
	switch {
	case waits.Err() != nil: // acquireFor may have returned a token anyway
		return nil, nil, context.Cause(waits)
	case r.guest.ends(): // the controller is about to
		return nil, nil, errSkipped
	}
	obj, message, err := r.prepare(c, primary, owned, object)
	if err != nil {
		return nil, nil, err
	}
	out, err := r.ask(ctx, message)
	return obj, out, err
}

// prepare returns the current state of an object, and the message about it. The module pays for the time.
func (r *reconciler) prepare(
	c *abi.Controller, primary *dynamic, owned []*dynamic, object wire.Packed,
) (*reconciled, []byte, error) {
	defer r.guest.charge()()
	object, err := current(primary, object)
	if err != nil {
		return nil, nil, err
	}
	obj, err := readReconciled(object, resourceOf(&c.For))
	if err != nil {
		return nil, nil, core.Terminal(err)
	}
	message, err := requestOf(c, owned, obj)
	return obj, message, err
}

// ask calls the guest in an instance that nobody else uses. An instance that fails, also while it is initialized, is
// discarded. If it has not returned when ctx ends, it is discarded, too, but the guest has not failed. The caller holds
// a token of the host.
func (r *reconciler) ask(ctx context.Context, message []byte) (*abi.ReconcileResponse, error) {
	i, err := r.take()
	if err != nil {
		if r.guest.ctx.Err() == nil { // otherwise the error is its cause
			r.guest.trapped(err)
		}
		return nil, err
	}
	var out *abi.ReconcileResponse
	returned := context.AfterFunc(ctx, func() { i.stop(context.Cause(ctx)) })
	data, _, err := i.perform(&export{Name: abi.Reconcile, Message: message})
	if !returned() {
		cause := context.Cause(ctx)
		i.end(cause)
		return nil, cause
	}
	if err == nil {
		out, err = r.readResponse(data)
	}
	if err != nil {
		i.end(err)
		r.guest.trapped(err)
		return nil, err
	}
	r.guest.healthy()
	r.put(i)
	return out, nil
}

// readResponse decodes the result of a call. The module pays for the time.
func (r *reconciler) readResponse(data []byte) (*abi.ReconcileResponse, error) {
	defer r.guest.charge()()
	out := new(abi.ReconcileResponse)
	err := checkLists(data)
	if err == nil {
		err = wire.UnmarshalJSON(data, out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the result: %w", abi.Reconcile, err)
	}
	return out, nil
}

// checkLists returns an error if the lists of a response have more than maxChanges elements together. Decoded, an
// element needs many times as much memory as it has bytes. Other errors are those of the decoder.
func checkLists(response []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(response), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for elements := 0; d.PeekKind() == '"'; {
		if _, err := d.ReadToken(); err != nil {
			return nil
		}
		if d.PeekKind() != '[' {
			if d.SkipValue() != nil {
				return nil
			}
			continue
		}
		_, _ = d.ReadToken() // the beginning of the list
		for ; d.PeekKind() != ']'; elements++ {
			if elements == maxChanges {
				return fmt.Errorf("it has more than %d objects and events", maxChanges)
			}
			if d.SkipValue() != nil {
				return nil
			}
		}
		_, _ = d.ReadToken() // its end
	}
	return nil
}

// take returns an instance that is not used.
func (r *reconciler) take() (*instance, error) {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		i := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return i.instance, nil
	}
	r.mu.Unlock()
	return r.guest.newInstance()
}

// put keeps an instance for the next call.
func (r *reconciler) put(i *instance) {
	i.park()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, idleInstance{i, time.Now()})
	if after := r.guest.host.options.IdleAfter; r.timer == nil && after > 0 {
		r.timer = time.AfterFunc(after, r.sweep)
	}
}

// sweep discards the instances that were idle for a while. A new one costs little, because it starts from an image.
func (r *reconciler) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil {
		return // the reconciler has ended
	}
	after := r.guest.host.options.IdleAfter
	for len(r.idle) > 0 && time.Since(r.idle[0].since) >= after {
		r.idle[0].end(errIdle)
		r.idle = r.idle[1:]
	}
	r.timer = nil
	if len(r.idle) > 0 {
		r.timer = time.AfterFunc(max(0, after-time.Since(r.idle[0].since)), r.sweep)
	}
}

// trapped records that a call has failed, unless the error is one of the host. The controller repeats it later; after
// too many failures in succession, the module is quarantined.
func (g *guest) trapped(err error) {
	if IsHostError(err) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stats.Failures++
	g.lifecycle.failures++
	g.lifecycle.err = shorten(err)
	if g.lifecycle.failures >= g.lifecycle.maxFailures && g.lifecycle.quarantine(time.Now()) {
		g.logger.LogAttrs(context.Background(), slog.LevelError, "module is quarantined",
			slog.Any("err", g.lifecycle.err), slog.Int("failures", g.lifecycle.failures))
		g.schedule()
	}
}

// block records why a controller does not run, or that it runs if err is nil. The module goes on. Its description may
// have several controllers with the same name.
func (g *guest) block(number int, name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		delete(g.blocked, number)
		return
	}
	err = shorten(err)
	if g.blocked == nil {
		g.blocked = make(map[int]error)
	}
	g.blocked[number], g.lifecycle.err = fmt.Errorf("controller %q: %w", name, err), err
	g.logger.LogAttrs(context.Background(), slog.LevelWarn, "controller is not running", slog.Any("err", err))
}

// healthy records that a call has succeeded.
func (g *guest) healthy() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.failures = 0
}

// broken records that the controllers can't run. The start of the module may not have ended yet.
func (g *guest) broken(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.err = shorten(err)
	if g.lifecycle.quarantine(time.Now()) {
		g.logger.LogAttrs(context.Background(), slog.LevelError, "module is quarantined", slog.Any("err", g.lifecycle.err))
		g.schedule()
	}
}

// perform applies, deletes and records what a guest has returned.
func (r *reconciler) perform(
	ctx context.Context, c *abi.Controller, obj *reconciled, out *abi.ReconcileResponse,
) error {
	apply := &request.ApplyOptions{FieldManager: managerOf(r.guest.module.Name), Force: true}
	for _, data := range out.Apply {
		if err := r.apply(ctx, c, obj, data, apply); err != nil {
			return err
		}
	}
	for _, ref := range out.Delete {
		res, err := r.resource(ctx, ref.APIVersion, ref.Kind)
		if err != nil {
			return fmt.Errorf("delete: %w", err)
		}
		api := client.Dynamic(r.guest.client, res).In(ref.Namespace)
		err = api.Delete(ctx, ref.Name, &request.DeleteOptions{UID: types.UID(ref.UID)})
		if r.forget(res, err) || err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
	}
	if err := r.status(ctx, c, obj, out.Status, apply); err != nil {
		return err
	}
	for _, e := range out.Events {
		switch typ := events.Type(e.Type); {
		case typ != "" && typ != events.Normal && typ != events.Warning:
			return fmt.Errorf("event: type is %.100q, want %s or %s", e.Type, events.Normal, events.Warning)
		case e.Reason == "":
			return errors.New("event: reason is empty")
		}
		r.events.Event(obj, events.Event{Type: events.Type(e.Type), Reason: e.Reason, Note: e.Message})
	}
	return nil
}

// maxManager is the maximum length of a field manager in bytes.
const maxManager = 128

// managerOf returns the field manager of a module. That of a long name has a hash in place of its end.
func managerOf(module string) string {
	manager := "wasm-" + module
	if len(manager) <= maxManager {
		return manager
	}
	hash := hashOf(module)
	return strings.ToValidUTF8(manager[:maxManager-len(hash)], "") + hash
}

// maxReporter is the maximum length of the name of a reporting controller in bytes.
const maxReporter = 63

// reporterOf returns the name of the reporting controller in the events of a module: its name, if that is a qualified
// name. Otherwise invalid bytes are replaced, the end is cut off, and a hash of the name follows.
func reporterOf(module string) string {
	if len(validation.IsQualifiedName(module)) == 0 {
		return module
	}
	valid := []byte("wasm-" + module)
	for n, b := range valid {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.':
		default:
			valid[n] = '-'
		}
	}
	hash := hashOf(module)
	return string(valid[:min(len(valid), maxReporter-len(hash))]) + hash
}

// hashOf returns the end of a name that is made from the name of a module.
func hashOf(module string) string { return fmt.Sprintf("-%x", sha256.Sum256([]byte(module)))[:17] }

// apply applies an object. If its kind is one that the controller owns, the reconciled object becomes its owner, unless
// it is the applied object.
func (r *reconciler) apply(
	ctx context.Context, c *abi.Controller, owner *reconciled, data jsontext.Value, o *request.ApplyOptions,
) error {
	obj, err := readApplied(data)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	res, err := r.resource(ctx, obj.APIVersion, obj.Kind)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	itself := res.Group == c.For.Group && res.Kind == c.For.Kind && core.RefOf(obj) == core.RefOf(owner)
	for _, w := range c.Owns {
		if w.Group == res.Group && w.Kind == res.Kind && obj.OwnerReferences == nil && !itself {
			if ns := owner.Namespace; ns != "" && ns != obj.Namespace {
				return fmt.Errorf("apply: %s %s can't be owned by %s %s, which is in a namespace and owns only objects of the "+
					"same namespace, because servers delete others: leave the kind out of owns", obj.Kind,
					core.RefOf(obj), owner.Kind, core.RefOf(owner))
			}
			if err := obj.own(metav1.OwnerReference{
				APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID,
				Controller: new(true), BlockOwnerDeletion: new(true),
			}); err != nil {
				return fmt.Errorf("apply: %w", err)
			}
			break
		}
	}
	_, err = client.Of[applied](r.guest.client, res).Apply(ctx, obj, o)
	r.forget(res, err)
	return err
}

// isMissing reports whether an optional field has no value. Some encoders write null for it.
func isMissing(field jsontext.Value) bool { return len(field) == 0 || field.Kind() == 'n' }

// status writes the status of the reconciled object, unless it has it already.
func (r *reconciler) status(
	ctx context.Context, c *abi.Controller, obj *reconciled, data jsontext.Value, o *request.ApplyOptions,
) error {
	if isMissing(data) {
		return nil
	}
	if data.Kind() != '{' {
		return errors.New("status: want an object")
	}
	var has struct {
		Status jsontext.Value `json:"status"`
	}
	if err := wire.UnmarshalJSON(obj.data, &has); err != nil {
		return err
	}
	if decodedBytes(data)+decodedBytes(has.Status) <= maxCompared {
		var before, after any
		if err := wire.UnmarshalJSON(data, &after); err != nil {
			return fmt.Errorf("status: %w", err)
		}
		if len(has.Status) > 0 {
			if err := wire.UnmarshalJSON(has.Status, &before); err != nil {
				return err
			}
		}
		if reflect.DeepEqual(before, after) {
			return nil
		}
	}
	_, err := client.Of[applied](r.guest.client, resourceOf(&c.For)).Status().Apply(ctx, newStatus(obj, data), o)
	return err
}

// resource returns the resource of a kind.
func (r *reconciler) resource(ctx context.Context, apiVersion, kind string) (core.Resource, error) {
	for _, c := range r.guest.description.Controllers {
		for _, w := range watchesOf(&c) {
			if res := resourceOf(&w); res.APIVersion() == apiVersion && res.Kind == kind {
				return res, nil
			}
		}
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return core.Resource{}, err
	}
	gvk := gv.WithKind(kind)
	r.mu.Lock()
	res, found := r.resources[gvk]
	r.mu.Unlock()
	if found {
		return res, nil
	}
	d, err := discovery.Discover(ctx, r.guest.client, &discovery.Options{Cache: r.guest.host.discovered})
	if err != nil {
		return core.Resource{}, err
	}
	if res, err = d.ForKind(gvk); err != nil {
		return core.Resource{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resources[gvk] = res
	return res, nil
}

// forget forgets a resource that was discovered if the error of a request is that the server does not serve it, such as
// after its definition has got another plural, and reports whether it has. The next run discovers it again.
func (r *reconciler) forget(res core.Resource, err error) bool {
	if _, ok := errors.AsType[*client.NotServedError](err); !ok {
		return false
	}
	gvk := res.GroupVersionKind()
	r.mu.Lock()
	defer r.mu.Unlock()
	_, found := r.resources[gvk]
	delete(r.resources, gvk)
	return found
}
