// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Options are the options of [New]. Nil means the defaults.
type Options struct {
	// Views are caches with declared objects. An object that a view holds is read from it. All others are read from the
	// server, once in each pass, and so is an object whose view has not observed the last apply.
	//
	// A view need not have all fields, see [reflector.StoreOf]: one of metadata is enough to find out that nothing has
	// changed. An object is read from the server if its view lacks fields that are needed: once for each new version, and
	// in addition for each [Pass.Get] and for each call of [Declaration.Ready]. Default: none.
	Views []View
}

// View is a cache of the objects of one kind. Each [cache.View] is a View. It must run while the [Applier] is used.
type View interface {
	// Server returns the URL of the server. Views of other servers are ignored.
	Server() string
	// Resource returns the resource of the kind.
	Resource() core.Resource
	// State returns an object. The zero State means that the cache does not have it.
	State(ref core.ObjectRef) reflector.State
}

// Applier applies and deletes the objects that other objects declare. It is safe for concurrent use.
type Applier struct {
	client  *client.Client
	manager string
	mark    string // the name of the annotation of objects without an owner reference
	invalid error  // why nothing can work
	views   map[schema.GroupKind][]View
	mapper  *discovery.Mapper

	kinds sync.Map // core.Resource by schema.GroupKind, of kinds that were declared or looked up
	memos memos
}

// New returns an applier. The manager is a name that is qualified by a domain, such as "example.com/database", and
// unique among the controllers of the cluster: it is the field manager of all writes. It has at most 128 characters,
// and at most 57 after the slash. Each method of the passes returns the error of an invalid manager, or of a nil client
// or view.
func New(c *client.Client, manager string, o *Options) *Applier {
	a := &Applier{
		client: c, manager: manager, mark: manager + ownerSuffix,
		views: make(map[schema.GroupKind][]View), mapper: discovery.NewMapper(c, nil),
	}
	if c == nil {
		a.invalid = errors.New("the client is nil: pass one of client.New")
		return a
	}
	a.invalid = checkManager(manager)
	if o == nil {
		return a
	}
	for i, v := range o.Views {
		if isNil(v) {
			a.invalid = errors.Join(a.invalid, fmt.Errorf("view %d of %d is nil: pass one of cache.Of", i+1, len(o.Views)))
			continue
		}
		if v.Server() != c.Server() {
			continue
		}
		res := v.Resource()
		gk := res.GroupVersionKind().GroupKind()
		a.views[gk] = append(a.views[gk], v)
		a.kinds.Store(gk, res)
	}
	return a
}

// maxManager is the maximum length of a field manager.
const maxManager = 128

func checkManager(manager string) error {
	qualified := strings.Contains(manager, "/") && len(validation.IsQualifiedName(manager+ownerSuffix)) == 0
	if qualified && len(manager) <= maxManager {
		return nil
	}
	return fmt.Errorf("the manager %q is not a name that is qualified by a domain, such as example.com/database, "+
		"of at most %d characters, with at most 57 after the slash", manager, maxManager)
}

// OwnersOf returns a function for Map of a source of a controller, so that an object without an owner reference starts
// a run of its owner when it changes. The function returns the owner that the annotation of an applier with this
// manager names, if the object has one. K is the kind of the declared objects:
//
//	kube.Source[rbacv1.ClusterRole](cache).Map(inventory.OwnersOf[rbacv1.ClusterRole]("example.com/database"))
func OwnersOf[K any, P core.ObjectPtr[K]](manager string) func(context.Context, *K) ([]core.ObjectRef, error) {
	invalid := checkManager(manager)
	mark := manager + ownerSuffix
	return func(_ context.Context, obj *K) ([]core.ObjectRef, error) {
		value := P(obj).GetAnnotations()[mark]
		if invalid != nil || !isMark(mark, value) {
			return nil, invalid
		}
		namespace, name, found := strings.Cut(value[:strings.LastIndex(value, "/")], "/")
		if !found {
			namespace, name = "", namespace
		}
		return []core.ObjectRef{{Namespace: namespace, Name: name}}, nil
	}
}

// Begin returns a pass over an owner. Items is the stored inventory. Record stores a new one, and fails if the owner
// has changed since it was read; [Pass.Apply] calls it before it creates the first object, and before it applies one
// that is not in the inventory. The owner must come from the server.
func (a *Applier) Begin(
	owner core.Object, items []machine.Item, record func(context.Context, []machine.Item) error,
) *Pass {
	p := a.begin(owner, items)
	p.world, p.record = &server{applier: a}, record
	if record == nil {
		p.invalid = errors.Join(p.invalid, errors.New("record is nil: pass a function that stores the inventory"))
	}
	return p
}

// Plan returns a pass that writes nothing and that assumes the success of what it would write. After its other methods,
// [Pass.Actions] returns what they would have done. An object that the pass would write counts as ready, and one that
// it would delete as deleted. The owner need not exist.
func (a *Applier) Plan(owner core.Object, items []machine.Item) *Pass {
	if owner.GetUID() == "" {
		owner = copyOf(owner)
		owner.SetUID(plannedUID)
	}
	p := a.begin(owner, items)
	p.plan = &plan{world: &server{applier: a, dryRun: true}, written: make(map[key]map[string]any)}
	p.world = p.plan
	p.record = func(context.Context, []machine.Item) error { return nil }
	return p
}

// owner is the object that declares the others.
type owner struct {
	reference metav1.OwnerReference
	namespace string
	mark      string // the name of the annotation
}

func (a *Applier) ownerOf(obj core.Object) (owner, error) {
	ref, err := core.ControllerRef(obj)
	return owner{ref, obj.GetNamespace(), a.mark}, err
}

// controls reports whether an object in a namespace, or a cluster-scoped one, can have an owner reference to the owner.
func (o *owner) controls(namespace string) bool { return o.namespace == "" || o.namespace == namespace }

// name is the value of the annotation without the UID.
func (o *owner) name() string {
	return core.ObjectRef{Namespace: o.namespace, Name: o.reference.Name}.String() + "/"
}

// value is the value of the annotation.
func (o *owner) value() string { return o.name() + string(o.reference.UID) }

// whose returns whom an object belongs to, and a description of an owner that is not o.
func (o *owner) whose(meta metav1.Object) (whose, string) {
	controller, value := metav1.GetControllerOf(meta), meta.GetAnnotations()[o.mark]
	name := value[:strings.LastIndex(value, "/")+1]
	switch {
	case controller != nil && controller.UID == o.reference.UID, value == o.value():
		return ours, ""
	case controller != nil:
		return others, fmt.Sprintf("%s %s", controller.Kind, controller.Name)
	case name == o.name():
		return formers, "an earlier object of the name " + strings.TrimSuffix(name, "/")
	case value != "":
		return others, "the owner " + cmp.Or(strings.TrimSuffix(name, "/"), value)
	}
	for key, value := range meta.GetAnnotations() {
		if isMark(key, value) {
			name := value[:strings.LastIndex(value, "/")]
			return others, fmt.Sprintf("the owner %s of %s", name, strings.TrimSuffix(key, ownerSuffix))
		}
	}
	return nobodys, ""
}

// isMark reports whether an annotation is the mark of an applier.
func isMark(key, value string) bool {
	uid := value[strings.LastIndex(value, "/")+1:]
	return strings.HasSuffix(key, ownerSuffix) && strings.Contains(key, "/") && len(uid) == len(plannedUID) && uid != value
}

// ownerSuffix ends the name of the annotation of an applier.
const ownerSuffix = ".owner"

// key identifies an object, whatever version of its kind is used.
type key struct {
	kind schema.GroupKind
	ref  core.ObjectRef
}

func keyOf(item *machine.Item) key {
	return key{schema.GroupKind{Group: item.Group, Kind: item.Kind}, core.ObjectRef{Namespace: item.Namespace, Name: item.Name}}
}

// String returns "Deployment prod/web".
func (k key) String() string { return k.kind.Kind + " " + k.ref.String() }

// resource returns the resource of a kind, or a [*discovery.UnknownResourceError] if the server does not have it in any
// version.
func (a *Applier) resource(ctx context.Context, gvk schema.GroupVersionKind) (core.Resource, error) {
	if known, ok := a.kinds.Load(gvk.GroupKind()); ok {
		return known.(core.Resource), nil
	}
	res, err := a.mapper.ForKind(ctx, gvk)
	if _, unknown := errors.AsType[*discovery.UnknownResourceError](err); unknown {
		var d *discovery.Discovery
		if d, err = a.mapper.Discovery(ctx); err == nil { // without another wait
			res, err = d.ForKind(gvk.GroupKind().WithVersion(""))
		}
	}
	if err == nil {
		a.kinds.Store(gvk.GroupKind(), res)
	}
	return res, err
}

// forget makes the next call of resource look up a kind again.
func (a *Applier) forget(ctx context.Context, kind schema.GroupKind) error {
	a.kinds.Delete(kind)
	_, err := a.mapper.Refresh(ctx)
	return err
}
