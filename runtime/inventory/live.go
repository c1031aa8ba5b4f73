// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/reflector"
)

// world reads and writes the objects of a pass.
type world interface {
	// read returns an object, or nil if it does not exist. If fresh, the object is read from the server.
	read(ctx context.Context, t *target, fresh bool) (*object, error)
	// apply applies an object and returns its new state. With a UID, it must have that UID, and fields are taken over
	// from other managers.
	apply(ctx context.Context, t *target, content map[string]any, uid types.UID) (*object, error)
	// delete deletes the object that has the UID.
	delete(ctx context.Context, t *target, uid types.UID, foreground bool) error
}

// object is an existing object. It is decoded when that is needed.
type object struct {
	uid     types.UID
	version string // the resource version

	state  reflector.State // if it was read from a view
	meta   metav1.Object
	fields map[string]any
	has    *wire.Projection // what fields has at least; nil means all
}

// objectOf returns an object with the given fields.
func objectOf(fields map[string]any) *object {
	u := &unstructured.Unstructured{Object: fields}
	return &object{uid: u.GetUID(), version: u.GetResourceVersion(), meta: u, fields: fields}
}

// metadata returns the metadata of the object without its managed fields.
func (o *object) metadata() (metav1.Object, error) {
	if o.meta != nil {
		return o.meta, nil
	}
	meta, err := o.state.Packed().Metadata()
	if err == nil {
		o.meta = meta
	}
	return o.meta, err
}

// content returns the fields of the object, at least the wanted ones. It reads the object from the server if the view
// does not have them, or if it can't be decoded.
func (o *object) content(ctx context.Context, w world, t *target, want *wire.Projection) (map[string]any, error) {
	if o.fields != nil && o.has.Covers(want) {
		return o.fields, nil
	}
	if !o.state.Fields().Covers(want) {
		err := o.reload(ctx, w, t)
		return o.fields, err
	}
	u, packed := new(unstructured.Unstructured), o.state.Packed()
	switch {
	case packed.Encoding() == wire.JSON:
		if err := packed.Decode(u); err != nil {
			return nil, err
		}
	case t.sample != nil && wire.SupportsProtobuf(t.sample) && fieldsOf(t.sample).Covers(want):
		typed := reflect.New(reflect.TypeOf(t.sample).Elem()).Interface().(core.Object)
		if err := packed.Decode(typed); err != nil {
			return nil, err
		}
		data, err := wire.MarshalJSON(typed)
		if err == nil {
			err = wire.UnmarshalJSON(data, &u.Object)
		}
		if err != nil {
			return nil, err
		}
	default:
		err := o.reload(ctx, w, t)
		return o.fields, err
	}
	u.SetGroupVersionKind(t.gvk)
	o.fields, o.has = u.Object, want
	return o.fields, nil
}

// fieldsOf returns the fields of the Go type of an object; nil means all.
func fieldsOf(obj core.Object) *wire.Projection { return wire.ProjectionOf(reflect.TypeOf(obj).Elem()) }

// reload reads the object from the server.
func (o *object) reload(ctx context.Context, w world, t *target) error {
	now, err := w.read(ctx, t, true)
	if err != nil {
		return err
	}
	if now == nil || now.uid != o.uid {
		return fmt.Errorf("%v has been deleted: %w", t.key, core.ErrConflict)
	}
	*o = *now
	return nil
}

// server is the objects of the API server.
type server struct {
	applier *Applier
	dryRun  bool // applies are not stored
}

func (s *server) api(t *target) *client.API[unstructured.Unstructured] {
	api := client.Dynamic(s.applier.client, t.resource)
	if t.ref.Namespace != "" {
		api = api.In(t.ref.Namespace)
	}
	return api
}

// read implements world. An object that no view has is read from the server, since a view may be older.
func (s *server) read(ctx context.Context, t *target, fresh bool) (*object, error) {
	if !fresh {
		for _, v := range s.applier.views[t.kind] {
			if state := v.State(t.ref); state.Exists() {
				head, err := state.Head()
				return &object{uid: head.UID, version: head.ResourceVersion, state: state}, err
			}
		}
	}
	u, err := s.api(t).Get(ctx, t.ref.Name, nil)
	switch {
	case err != nil && s.absent(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return objectOf(u.Object), nil
}

// absent reports whether an error means that the object does not exist. In a dry run, its kind may not exist either.
func (s *server) absent(err error) bool {
	return apierr.NotFound(err) || s.dryRun && isNotFound(err)
}

// apply implements world.
func (s *server) apply(ctx context.Context, t *target, content map[string]any, uid types.UID) (*object, error) {
	u := copyOf(&unstructured.Unstructured{Object: content}).(*unstructured.Unstructured)
	if uid != "" {
		u.SetUID(uid)
	}
	o := &request.ApplyOptions{FieldManager: s.applier.manager, Force: uid != "", DryRun: s.dryRun}
	if uid == "" {
		// If the response is lost, a repeated request may find this object with fields of others, and foreign reports it.
		// The next pass finds the object by its mark.
		ctx = middleware.WithAttempts(ctx, 1)
	}
	stored, err := s.api(t).Apply(ctx, u, o)
	if err != nil {
		if isSecret(t.kind) {
			err = hideSecrets(content, err)
		}
		return nil, err
	}
	if uid == "" && s.foreign(stored) {
		return nil, s.release(ctx, t, stored)
	}
	return objectOf(stored.Object), nil
}

// foreign reports whether an object that was applied as a new one has fields of others. Then another client has created
// it since the pass has read that it does not exist.
func (s *server) foreign(stored *unstructured.Unstructured) bool {
	return slices.ContainsFunc(stored.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager != s.applier.manager
	})
}

// release removes the applied fields from an object that somebody else has created.
func (s *server) release(ctx context.Context, t *target, stored *unstructured.Unstructured) error {
	if s.dryRun {
		return createdByOthers(t)
	}
	u := new(unstructured.Unstructured)
	u.SetGroupVersionKind(t.gvk)
	u.SetName(t.ref.Name)
	u.SetNamespace(t.ref.Namespace)
	u.SetUID(stored.GetUID())
	if _, err := s.api(t).Apply(ctx, u, &request.ApplyOptions{FieldManager: s.applier.manager}); err != nil {
		return fmt.Errorf("%w, and its fields can't be released: %w", createdByOthers(t), err)
	}
	return createdByOthers(t)
}

func createdByOthers(t *target) error {
	return fmt.Errorf("%v was created by another client at the same time", t.key)
}

// delete implements world.
func (s *server) delete(ctx context.Context, t *target, uid types.UID, foreground bool) error {
	o := &request.DeleteOptions{UID: uid, Propagation: metav1.DeletePropagationBackground}
	if foreground {
		o.Propagation = metav1.DeletePropagationForeground
	}
	return s.api(t).Delete(ctx, t.ref.Name, o)
}

// memo is the known state of an object that was applied or found to be up to date.
type memo struct {
	sum     sum    // of the declaration
	hash    string // of what was applied
	uid     types.UID
	version string // the resource version
	shape   sum    // of the declared part of the object

	checked bool // by wait.Ready
	unready error
}

// isOf reports whether an object has the state of the memo.
func (m *memo) isOf(live *object) bool { return m.uid == live.uid && m.version == live.version }

// isAhead reports whether an object of a view is older than the state of the memo. Then its view has not observed that
// state, or the server no longer has it, such as after a restore of etcd. Versions that are not numbers have no order.
func (m *memo) isAhead(live *object) bool {
	order, err := resourceversion.CompareResourceVersion(live.version, m.version)
	return err == nil && order < 0
}

// maxMemos is the maximum number of memos. Each has a few hundred bytes.
const maxMemos = 1 << 16

// memos are the memos of an applier. It is safe for concurrent use.
type memos struct {
	mu  sync.Mutex // guards all
	all map[key]memo
}

func (m *memos) get(k key) (memo, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, ok := m.all[k]
	return one, ok
}

func (m *memos) set(k key, one memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = make(map[key]memo)
	}
	if _, ok := m.all[k]; !ok && len(m.all) >= maxMemos {
		for other := range m.all { // any
			delete(m.all, other)
			break
		}
	}
	m.all[k] = one
}

func (m *memos) remove(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, k)
}
