// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/wire"
)

// query is a parsed selection of objects.
type query struct {
	namespace string
	owner     types.UID
	labels    labels.Selector
}

// filter reports whether a candidate is selected. A nil filter selects all of them.
type filter func(wire.Packed) bool

// collector receives about n candidates, and a filter for them. It is called while the caller holds the table's mu.
type collector func(n int, candidates iter.Seq[*entry], selects filter)

// find calls take with the smallest set of candidates that an index has, and a filter for them. The filter selects an
// object that can't be checked, so that its reader reports the error.
func (t *table) find(q query, take collector) {
	requirements, selectable := q.labels.Requirements()
	t.prepareIndexes(q.owner != "", len(requirements) > 0)
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !selectable {
		take(0, union(nil), nil)
		return
	}
	n, entries, known := t.candidates(q, requirements)
	take(n, entries, q.filter(known))
}

// prepareIndexes creates the indexes of owners and labels when they are first needed.
func (t *table) prepareIndexes(owners, byLabels bool) {
	t.mu.RLock()
	owners, byLabels = owners && t.owners == nil, byLabels && t.labels == nil
	t.mu.RUnlock()
	if !owners && !byLabels {
		return
	}
	t.creating.Lock()
	defer t.creating.Unlock()
	if owners && t.owners == nil {
		x := newIndex(func(p wire.Packed) []types.UID {
			uids, _ := p.Owners() // the object was read before, so its metadata is valid
			return uids
		})
		t.addIndex(x, 0)
		t.mu.Lock()
		t.owners = x
		t.mu.Unlock()
	}
	if byLabels && t.labels == nil {
		x := newLabelIndex()
		t.addIndex(x, 0)
		t.mu.Lock()
		t.labels = x
		t.mu.Unlock()
	}
}

// part is the part of a query that the candidates satisfy.
type part uint8

const (
	byNamespace part = iota
	byOwner
	byLabel // the only requirement of the label selector
	byOneOf // one of several requirements
)

// candidates returns the smallest set of entries that satisfies a part of the query, and about how many they are. The
// caller holds t.mu.
func (t *table) candidates(q query, requirements labels.Requirements) (int, iter.Seq[*entry], part) {
	satisfied, size := byNamespace, t.count
	if q.namespace != "" {
		size = len(t.objects[q.namespace])
	}
	var sets []*set
	except := false // the candidates are all objects but those of the sets
	if q.owner != "" {
		if s := t.owners.entries(q.owner); s.len() < size {
			satisfied, size, sets = byOwner, s.len(), []*set{s}
		}
	}
	for i := range requirements {
		found, n, others, ok := t.labels.find(&requirements[i])
		if others {
			n = max(0, t.count-n)
		}
		if ok && n < size {
			satisfied, size, sets, except = byOneOf, n, found, others
			if len(requirements) == 1 {
				satisfied = byLabel
			}
		}
	}
	entries := t.entries(q.namespace)
	switch {
	case except:
		entries = t.without(entries, sets)
	case satisfied != byNamespace:
		entries = union(sets)
	}
	return size, entries, satisfied
}

// union returns the entries of sets.
func union(sets []*set) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, s := range sets {
			for e := range s.entries() {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// without returns the entries that are in none of the sets, which have no common entries. The caller holds t.mu.
func (t *table) without(entries iter.Seq[*entry], sets []*set) iter.Seq[*entry] {
	n := 0
	for _, s := range sets {
		n += s.len()
	}
	return func(yield func(*entry) bool) {
		if n == t.count {
			return
		}
		in := make(map[*entry]struct{}, n)
		for e := range union(sets) {
			in[e] = struct{}{}
		}
		for e := range entries {
			if _, ok := in[e]; !ok && !yield(e) {
				return
			}
		}
	}
}

// filter returns a filter for objects that satisfy a part of the query, nil if they satisfy all of it.
func (q *query) filter(known part) filter {
	if (q.namespace == "" || known == byNamespace) && (q.owner == "" || known == byOwner) &&
		(q.labels.Empty() || known == byLabel) {
		return nil
	}
	return func(object wire.Packed) bool {
		ok, err := q.matches(object, known)
		return ok || err != nil
	}
}

// matches reports whether an object satisfies the query, of which it is known to satisfy a part.
func (q *query) matches(object wire.Packed, known part) (bool, error) {
	if q.namespace != "" && known != byNamespace {
		if head, err := object.Head(); err != nil || head.Ref.Namespace != q.namespace {
			return false, err
		}
	}
	if q.owner != "" && known != byOwner {
		if owners, err := object.Owners(); err != nil || !slices.Contains(owners, q.owner) {
			return false, err
		}
	}
	if q.labels.Empty() || known == byLabel {
		return true, nil
	}
	has, err := object.Labels()
	return err == nil && q.labels.Matches(labels.Set(has)), err
}

// labelIndex is the index by labels: the sets of entries by key and value.
type labelIndex struct {
	byKey map[string]map[string]*set
	next  map[string]string
	pairs int // of an entry and one of its labels
	sets  int // of a key and one of its values
}

func (x *labelIndex) size() int64 { return labelBytes*int64(x.pairs) + labelSetBytes*int64(x.sets) }

func newLabelIndex() *labelIndex {
	return &labelIndex{byKey: make(map[string]map[string]*set)}
}

func (x *labelIndex) prepare(_ *entry, _, object wire.Packed) {
	x.next, _ = object.Labels() // the object was read before, so its metadata is valid
}

func (x *labelIndex) update(e *entry, old wire.Packed, gone bool) {
	next := x.next
	if gone {
		next = nil
	}
	before, _ := old.Labels()
	x.pairs += len(next) - len(before)
	for key, value := range before {
		if now, ok := next[key]; ok && now == value {
			continue
		}
		if s := x.byKey[key][value]; s != nil && s.remove(e) {
			delete(x.byKey[key], value)
			x.sets--
			if len(x.byKey[key]) == 0 {
				delete(x.byKey, key)
			}
		}
	}
	for key, value := range next {
		values := x.byKey[key]
		if values == nil {
			values = make(map[string]*set)
			x.byKey[key] = values
		}
		if values[value] == nil {
			values[value] = new(set)
			x.sets++
		}
		values[value].add(e)
	}
}

func (x *labelIndex) reset() {
	x.byKey = make(map[string]map[string]*set)
	x.pairs, x.sets = 0, 0
}

// find returns the sets whose entries satisfy a requirement, or if others is true, those whose entries do not, and the
// number of entries. It returns false for a requirement that compares values.
func (x *labelIndex) find(r *labels.Requirement) (sets []*set, n int, others, ok bool) {
	values, op := x.byKey[r.Key()], r.Operator()
	others = op == selection.NotEquals || op == selection.NotIn || op == selection.DoesNotExist
	switch op {
	case selection.Equals, selection.DoubleEquals, selection.In, selection.NotEquals, selection.NotIn:
		for value := range r.Values() {
			if s := values[value]; s != nil {
				sets = append(sets, s)
				n += s.len()
			}
		}
	case selection.Exists, selection.DoesNotExist:
		for _, s := range values {
			sets = append(sets, s)
			n += s.len()
		}
	default:
		return nil, 0, false, false
	}
	return sets, n, others, true
}
