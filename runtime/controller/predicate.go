// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Predicate selects modifications of objects, see [Primary.Where] and [Secondary.Where]. Run returns an error for the
// zero Predicate.
//
// Changes of one object that happen in quick succession may be one modification. For such a modification, only
// [GenerationChanged] and [ResourceVersionChanged] can suppress a run: to the others, the first and the last state may
// seem equal, but a run may have read a state between them.
type Predicate struct {
	passes func(before, after wire.Packed) (bool, error)
	check  func(core.Resource) error // returns why the predicate can't be used for a kind; nil for any kind
	merges bool                      // it holds for several changes, as one, if it holds for any of them
	views  []func(of feed) feed      // return the views whose fields passes reads; metadata is always there
}

// Where returns the kind with predicates: a modification causes a run only if all of them hold. Everything else always
// passes: initial, added and deleted objects, objects that another one of the same name has replaced, and the beginning
// of a deletion, which sets the deletion timestamp. A modification for which a predicate fails passes, too; the failure
// is logged. Predicates concern changes of the object itself only: an object runs for other reasons, too.
func (p Primary[K]) Where(predicates ...Predicate) Primary[K] {
	p.inputs, p.filter = widen(p.inputs, predicates), p.filter.with(predicates)
	return p
}

// Where returns the kind with predicates for its modifications, see [Primary.Where].
func (s Secondary[K]) Where(predicates ...Predicate) Secondary[K] {
	s.inputs, s.filter = widen(s.inputs, predicates), s.filter.with(predicates)
	return s
}

// AnyOf returns a predicate that holds if at least one of the predicates does.
func AnyOf(predicates ...Predicate) Predicate {
	var views []func(feed) feed
	for _, p := range predicates {
		views = append(views, p.views...)
	}
	return Predicate{
		views:  views,
		merges: !slices.ContainsFunc(predicates, func(p Predicate) bool { return !p.merges }),
		passes: func(before, after wire.Packed) (bool, error) {
			var errs error
			for _, p := range predicates {
				ok, err := p.passes(before, after)
				if ok {
					return true, nil
				}
				errs = errors.Join(errs, err)
			}
			return false, errs
		},
		check: func(res core.Resource) error {
			if len(predicates) == 0 {
				return errors.New("AnyOf has no predicate: pass one or more")
			}
			return checkAll(predicates, res)
		},
	}
}

// PredicateOf returns a predicate for objects of type K, which may be any Go type of the kind. It decodes both states.
// f must not depend on anything other than its arguments, which it may change. It must be fast: until it returns, its
// source delivers no other change, and Run and Engage do not return. A slow predicate does not delay other sources.
// Run returns an error for a nil f.
//
// If the views of the source read another Go type, the cache also holds what K needs, as if a view of K existed, see
// [reflector.StoreOf]: a struct with the fields that f reads needs the least memory.
func PredicateOf[K any, P core.ObjectPtr[K]](f func(before, after *K) bool) Predicate {
	if f == nil {
		return Predicate{}
	}
	res, unknown := core.ResourceOf[K, P]()
	view := func(of feed) feed {
		selection := of.Selection()
		return cache.OfResource[K, P](of.Cache(), of.Resource(), &selection)
	}
	return Predicate{
		views: []func(feed) feed{view},
		passes: func(before, after wire.Packed) (bool, error) {
			was, is := new(K), new(K)
			err := errors.Join(decode(reflector.StateOf(before), P(was), res), decode(reflector.StateOf(after), P(is), res))
			if err != nil {
				return false, err
			}
			return f(was, is), nil
		},
		check: func(of core.Resource) error {
			if unknown == nil && (of.Group != res.Group || of.Kind != res.Kind) {
				return fmt.Errorf("a predicate is of %s: pass one of %s", res, of)
			}
			return nil // K is a type for several kinds, or the right one
		},
	}
}

// GenerationChanged holds if metadata.generation has changed, which it does with every change of the spec, but not with
// one of the status or the metadata. Many built-in kinds, such as ConfigMap, have no generation: their modifications
// pass.
func GenerationChanged() Predicate {
	p := metadataPredicate(func(before, after *metav1.ObjectMeta) bool {
		return after.Generation == 0 || before.Generation != after.Generation
	})
	p.merges = true // a generation only increases
	return p
}

// FinalizersChanged holds if metadata.finalizers has changed.
func FinalizersChanged() Predicate {
	return metadataPredicate(func(before, after *metav1.ObjectMeta) bool {
		return !slices.Equal(before.Finalizers, after.Finalizers)
	})
}

// LabelsChanged holds if metadata.labels has changed.
func LabelsChanged() Predicate { return mapPredicate(wire.Packed.Labels) }

// AnnotationsChanged holds if metadata.annotations has changed.
func AnnotationsChanged() Predicate { return mapPredicate(wire.Packed.Annotations) }

// ResourceVersionChanged holds if the resource version has changed. This is always the case unless a source repeats an
// object.
func ResourceVersionChanged() Predicate {
	return Predicate{merges: true, passes: func(before, after wire.Packed) (bool, error) {
		was, err := before.Head()
		if err != nil {
			return false, err
		}
		is, err := after.Head()
		return was.ResourceVersion != is.ResourceVersion, err
	}}
}

func metadataPredicate(changed func(before, after *metav1.ObjectMeta) bool) Predicate {
	return Predicate{passes: func(before, after wire.Packed) (bool, error) {
		was, err := before.Metadata()
		if err != nil {
			return false, err
		}
		is, err := after.Metadata()
		if err != nil {
			return false, err
		}
		return changed(was, is), nil
	}}
}

func mapPredicate(read func(wire.Packed) (map[string]string, error)) Predicate {
	return Predicate{passes: func(before, after wire.Packed) (bool, error) {
		was, err := read(before)
		if err != nil {
			return false, err
		}
		is, err := read(after)
		return !maps.Equal(was, is), err
	}}
}

func checkAll(predicates []Predicate, res core.Resource) error {
	for _, p := range predicates {
		if p.passes == nil {
			return errors.New("a predicate has no function: pass one to PredicateOf")
		}
		if p.check == nil {
			continue
		}
		if err := p.check(res); err != nil {
			return err
		}
	}
	return nil
}

// filter is the predicates of a source. Its functions are linked only by programs that use Where.
type filter struct {
	predicates []Predicate
	passes     func(predicates []Predicate, c reflector.Change) (bool, error)
	check      func(predicates []Predicate, res core.Resource) error
}

// with returns a filter with more predicates. The nil filter has none.
func (f *filter) with(predicates []Predicate) *filter {
	next := &filter{passes: passes, check: checkAll}
	if f != nil {
		next.predicates = f.predicates
	}
	next.predicates = slices.Concat(next.predicates, predicates)
	return next
}

// passes reports whether a change passes the predicates of the source.
func (f *memberFeed) passes(ctx context.Context, c *reflector.Change, logger *slog.Logger) bool {
	filter := f.source.filter
	if filter == nil || c.Type != core.Modified {
		return true
	}
	ok, err := filter.passes(filter.predicates, *c)
	if err != nil {
		logger.LogAttrs(ctx, slog.LevelError, "a predicate has failed",
			describe(f.feed.Resource().Kind, Key{f.feed.Cluster(), c.Ref}, err)...)
	}
	return ok || err != nil
}

// passes reports whether all predicates hold for a modification, or whether it always passes.
func passes(predicates []Predicate, c reflector.Change) (bool, error) {
	before, after := c.Old.Packed(), c.New.Packed()
	for _, p := range predicates {
		if c.Merged && !p.merges {
			continue // it may hold for one of the changes
		}
		var ok bool
		var err error
		try(&err, func() { ok, err = p.passes(before, after) })
		if err != nil {
			return false, err
		}
		if !ok {
			return mustPass(before, after)
		}
	}
	return true, nil
}

// mustPass reports whether another object has replaced the old one, or its deletion has begun.
func mustPass(before, after wire.Packed) (bool, error) {
	was, err := before.Metadata()
	if err != nil {
		return false, err
	}
	is, err := after.Metadata()
	if err != nil {
		return false, err
	}
	return was.UID != is.UID || was.DeletionTimestamp == nil && is.DeletionTimestamp != nil, nil
}
