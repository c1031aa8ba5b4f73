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

// Condition checks whether an object has reached the wanted state. It returns nil if it has, and otherwise an error
// that says what is missing, such as "phase is Pending". The object is never nil, and the condition may keep it. An
// error marked by [Never] ends the wait.
type Condition[K any] func(obj *K) error

// Never marks a condition's error as final: the object will never meet the condition, whatever happens to it. Never
// returns nil if err is nil.
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

// Exists returns a condition that holds for every existing object.
func Exists[K any]() Condition[K] {
	return func(*K) error { return nil }
}

// StatusCondition returns a condition that holds if the status condition of the given type, such as Ready, has the
// given status, such as [metav1.ConditionTrue], and is not outdated. A status condition is outdated if its
// observedGeneration, or without one that of the status, is less than the generation of the object. K must declare
// status.conditions or be unstructured.Unstructured.
func StatusCondition[K any](conditionType string, status metav1.ConditionStatus) Condition[K] {
	return func(obj *K) error {
		c, err := readConditions(obj)
		if err != nil {
			return err
		}
		return c.check(conditionType, status)
	}
}

// Established returns a condition that holds if a CustomResourceDefinition is served. K is any type for
// CustomResourceDefinitions.
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

// conditioned declares the fields of an object that matter for its conditions.
type conditioned struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Status struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		Conditions         []condition `json:"conditions"`
	} `json:"status"`
}

// condition declares the fields that the conditions of all kinds share.
type condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason"`
	Message            string                 `json:"message"`
	ObservedGeneration int64                  `json:"observedGeneration"`
}

// readConditions reads the conditions of an object of any type from its JSON, because types declare them differently:
// as metav1.Condition, as another struct, or as maps.
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
		return true // the type declares conditions of another shape
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

// check returns nil if the condition has the status and is not outdated, and otherwise an error that describes its
// state.
func (c *conditioned) check(conditionType string, status metav1.ConditionStatus) error {
	found := c.find(conditionType)
	if found == nil {
		return fmt.Errorf("condition %s is missing", conditionType)
	}
	observed := found.ObservedGeneration
	if observed == 0 {
		observed = c.Status.ObservedGeneration
	}
	switch {
	case observed != 0 && observed < c.Metadata.Generation:
		return fmt.Errorf("condition %s was observed of generation %d, but the object has generation %d",
			conditionType, observed, c.Metadata.Generation)
	case found.Status != status:
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
