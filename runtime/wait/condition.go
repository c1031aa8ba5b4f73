// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
)

// Condition says whether an object is as wanted: nil when it is, else an error that says what is missing, such as
// "phase is Pending". The object is there, and is the condition's to keep. An error marked by [Never] ends the wait.
type Condition[K any] func(obj *K) error

// Never marks a condition's error as final: whatever happens to the object, it will not become as wanted. A nil error
// stays nil.
func Never(err error) error {
	if err == nil {
		return nil
	}
	return &neverError{err}
}

type neverError struct{ err error }

func (e *neverError) Error() string { return e.err.Error() }
func (e *neverError) Unwrap() error { return e.err }

func isNever(err error) bool {
	_, ok := errors.AsType[*neverError](err)
	return ok
}

// Exists holds of every object that is there.
func Exists[K any]() Condition[K] {
	return func(*K) error { return nil }
}

// StatusCondition holds when the status condition of a type, such as Ready, has a status, such as
// [metav1.ConditionTrue], and is not outdated: it, or else the status as a whole, was observed of the object's present
// generation, as far as they say. It is for every K that declares status.conditions, and for
// unstructured.Unstructured.
func StatusCondition[K any](conditionType string, status metav1.ConditionStatus) Condition[K] {
	return func(obj *K) error {
		c, err := readConditions(obj)
		if err != nil {
			return err
		}
		return c.check(conditionType, status)
	}
}

// Established holds when a CustomResourceDefinition is served. K is any type for it.
func Established[K any]() Condition[K] {
	return func(crd *K) error {
		c, err := readConditions(crd)
		if err != nil {
			return err
		}
		err = c.check("Established", metav1.ConditionTrue)
		if names := c.find("NamesAccepted"); err != nil && names != nil && names.Status == metav1.ConditionFalse {
			return names.unlike()
		}
		return err
	}
}

// conditioned is the part of an object that holds its conditions.
type conditioned struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		Conditions         []condition `json:"conditions"`
	} `json:"status"`
}

// condition is what the conditions of all kinds have in common.
type condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message"`
	ObservedGeneration int64                  `json:"observedGeneration"`
}

// readConditions reads the conditions of an object of any type by way of its JSON, since types declare them as they
// like: with metav1.Condition, with a condition type of their own, or as maps.
func readConditions[K any](obj *K) (*conditioned, error) {
	c := new(conditioned)
	if err := convert(obj, c); err != nil {
		return nil, Never(fmt.Errorf("read status.conditions: %w", err))
	}
	if len(c.Status.Conditions) == 0 && !declaresConditions[K]() {
		return nil, Never(fmt.Errorf("the type %T declares no status.conditions", *obj))
	}
	return c, nil
}

// declaresConditions reports whether a condition survives being decoded into a K.
func declaresConditions[K any]() bool {
	const probe = `{"apiVersion":"v1","kind":"Probe","status":{"conditions":[{"type":"Probe","status":"True"}]}}`
	obj, c := new(K), new(conditioned)
	if err := wire.UnmarshalJSON([]byte(probe), obj); err != nil {
		return true // it has conditions of some kind
	}
	return convert(obj, c) != nil || len(c.Status.Conditions) > 0
}

func convert(from, to any) error {
	data, err := wire.MarshalJSON(from)
	if err != nil {
		return err
	}
	return wire.UnmarshalJSON(data, to)
}

func (c *conditioned) find(conditionType string) *condition {
	for i := range c.Status.Conditions {
		if c.Status.Conditions[i].Type == conditionType {
			return &c.Status.Conditions[i]
		}
	}
	return nil
}

// check returns nil when the condition has the status and is not outdated, else what is the case instead.
func (c *conditioned) check(conditionType string, status metav1.ConditionStatus) error {
	found := c.find(conditionType)
	if found == nil {
		return fmt.Errorf("there is no condition %s", conditionType)
	}
	observed := found.ObservedGeneration
	if observed == 0 {
		observed = c.Status.ObservedGeneration
	}
	switch {
	case observed != 0 && observed < c.Metadata.Generation:
		return fmt.Errorf("condition %s was observed of generation %d, the object is at %d", conditionType, observed, c.Metadata.Generation)
	case found.Status != status:
		return found.unlike()
	}
	return nil
}

// unlike says what the condition is.
func (c *condition) unlike() error {
	parts := []string{fmt.Sprintf("condition %s is %s", c.Type, c.Status)}
	for _, more := range []string{c.Reason, c.Message} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return errors.New(strings.Join(parts, ": "))
}
