// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Condition checks whether an object has reached the wanted state. It returns nil if it has, and otherwise an error
// that says what is missing, such as "phase is Pending". The object is never nil, and the condition may keep it. An
// error marked by [core.Terminal] ends the wait.
type Condition[K any] func(obj *K) error

// Exists returns a condition that holds for every existing object.
func Exists[K any]() Condition[K] {
	return func(*K) error { return nil }
}

// StatusCondition returns a condition that holds if the status condition of the given type, such as Ready, has the
// given status, such as [metav1.ConditionTrue], and is not outdated. Like kubectl wait, it ignores the case of the type
// and of the status. A status condition is outdated if its observedGeneration, or without one that of the status, is
// less than the generation of the object. K must declare status.conditions or be unstructured.Unstructured.
func StatusCondition[K any](conditionType string, status metav1.ConditionStatus) Condition[K] {
	return func(obj *K) error {
		s, err := readSubject(obj, conditionsPath)
		if err != nil {
			return err
		}
		return s.check(conditionType, status)
	}
}

// JSONPath returns a condition that holds if the path leads to the value, or to any value if that is empty. Path and
// value are those of kubectl wait --for=jsonpath:
//
//	wait.JSONPath[corev1.Pod]("{.status.phase}", "Running")
//	wait.JSONPath[corev1.Service]("{.status.loadBalancer.ingress[0].ip}", "")
//	wait.JSONPath[Document](`{.status.conditions[?(@.type=="Ready")].reason}`, "Rendered")
//
// Numbers and booleans are compared in their decimal and JSON form, such as 3 and true. White space around a value is
// ignored. A path has fields, with a backslash before each dot of a name or as ['quoted'] names; indexes and slices, of
// which negative numbers count from the end; filters with ==, !=, <, <=, > or >= and a quoted string, a number or a
// boolean, or with only a field; [*] for all items and .* for all fields or items; unions such as [0,2]; and one .. for
// a value and all values in it. No filter selects an item without the field, not even with !=. Unlike in kubectl, an
// index that is out of range leads to no value instead of an error, and {range} does not exist.
//
// A path that can't be parsed, that matches several values, or that K does not declare, is an error that ends the wait;
// so is a value that is compared with an object or a list. [Await] returns it once the object exists. The part after
// .., .* or a union is not checked against K.
func JSONPath[K any](path, value string) Condition[K] {
	steps, invalid := parsePath(path)
	if invalid != nil {
		invalid = core.Terminal(fmt.Errorf("JSON path %q: %w", path, invalid))
	}
	return func(obj *K) error {
		if invalid != nil {
			return invalid
		}
		var doc any
		if err := convert(obj, &doc); err != nil {
			return core.Terminal(fmt.Errorf("read %s: %w", path, err))
		}
		found := find(steps, doc, nil)
		switch {
		case len(found) == 0 && !declares[K](steps):
			return undeclared[K](path)
		case len(found) == 0:
			return fmt.Errorf("%s does not exist", path)
		case len(found) > 1:
			return core.Terminal(fmt.Errorf("%s matches %d values: want a path to one", path, len(found)))
		case value == "":
			return nil
		}
		switch found[0].(type) {
		case map[string]any, []any:
			return core.Terminal(fmt.Errorf("%s is an object or a list: want a path to a string, a number or a boolean", path))
		}
		if seen := textOf(found[0]); strings.TrimSpace(seen) != strings.TrimSpace(value) {
			return fmt.Errorf("%s is %q, want %q", path, seen, value)
		}
		return nil
	}
}

// undeclared returns the error of a type that has no field at the path.
func undeclared[K any](path string) error {
	return core.Terminal(fmt.Errorf("the type %T declares no %s: wait with a type that does, or with unstructured.Unstructured",
		*new(K), path))
}

// conditionsPath is the path of the conditions of most kinds.
const conditionsPath = "status.conditions"

// subject declares the fields that all kinds with conditions have in common.
type subject struct {
	Metadata struct {
		Generation        generation   `json:"generation"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration generation  `json:"observedGeneration"`
		Conditions         []condition `json:"conditions"`
	} `json:"status"`

	data          []byte // the JSON of the object
	hasConditions bool   // objects of the kind have conditions once their controller has seen them
}

// readSubject reads an object of any type from its JSON, because types declare the same fields differently: conditions
// as metav1.Condition, as another struct, or as maps. A type that does not declare the fields at the paths is an error,
// since it would never meet a condition, or always.
func readSubject[K any](obj *K, paths ...string) (*subject, error) {
	if err := lacks[K](paths...); err != nil {
		return nil, err
	}
	s := new(subject)
	var err error
	if s.data, err = wire.MarshalJSON(obj); err == nil {
		err = wire.UnmarshalJSON(s.data, s)
	}
	if err != nil {
		return nil, core.Terminal(fmt.Errorf("read the conditions: %w", err))
	}
	return s, nil
}

// lacks returns an error if K does not declare a field.
func lacks[K any](paths ...string) error {
	if _, all := any((*K)(nil)).(*unstructured.Unstructured); all {
		return nil
	}
	for _, path := range paths {
		if steps, err := parsePath(path); err != nil || !declares[K](steps) {
			return undeclared[K](path)
		}
	}
	return nil
}

// condition declares the fields that the conditions of all kinds share.
type condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message"`
	ObservedGeneration generation             `json:"observedGeneration"`
}

// generation is a generation of an object, or 0 if it is unknown. Some kinds declare it as a string, such as the
// Rollout of Argo.
type generation int64

// UnmarshalJSON implements json.Unmarshaler. A value that is not an integer counts as unknown.
func (g *generation) UnmarshalJSON(data []byte) error {
	n, _ := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 64)
	*g = generation(n)
	return nil
}

func convert(from, to any) error {
	data, err := wire.MarshalJSON(from)
	if err != nil {
		return err
	}
	return wire.UnmarshalJSON(data, to)
}

// find returns the first condition of a type in any case, as kubectl wait does, or nil.
func (s *subject) find(conditionType string) *condition {
	for i := range s.Status.Conditions {
		if strings.EqualFold(s.Status.Conditions[i].Type, conditionType) {
			return &s.Status.Conditions[i]
		}
	}
	return nil
}

// isTrue reports whether the condition has the status True and is not outdated.
func (s *subject) isTrue(conditionType string) bool {
	return s.check(conditionType, metav1.ConditionTrue) == nil
}

// observed returns the generation that the condition is about, or 0 if that is unknown.
func (s *subject) observed(c *condition) generation {
	return cmp.Or(c.ObservedGeneration, s.Status.ObservedGeneration)
}

// check returns nil if the condition has the status and is not outdated, and otherwise an error that describes its
// state.
func (s *subject) check(conditionType string, status metav1.ConditionStatus) error {
	found := s.find(conditionType)
	if found == nil {
		return fmt.Errorf("condition %s is missing", conditionType)
	}
	switch observed := s.observed(found); {
	case observed != 0 && observed < s.Metadata.Generation:
		return fmt.Errorf("condition %s was observed of generation %d, but the object has generation %d",
			conditionType, observed, s.Metadata.Generation)
	case !strings.EqualFold(string(found.Status), string(status)):
		return found.unlike()
	}
	return nil
}

// unlike returns an error with the status, the reason and the message of the condition.
func (c *condition) unlike() error {
	parts := []string{fmt.Sprintf("condition %s is %s", c.Type, c.Status)}
	for _, more := range []string{c.Reason, c.Message} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return errors.New(strings.Join(parts, ": "))
}
