// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Suspension is why a machine does nothing for an object, and until when. It is the JSON value of the annotation
// "NAME.suspend" of the object, where NAME is the name of the machine:
//
//	example.com/database.suspend: '{"reason": "migration", "by": "jane", "whenDeleted": "Wait"}'
type Suspension struct {
	// Reason is why the object is suspended. Required.
	Reason string `json:"reason"`

	// By is the name of the person or program that suspends the object. Required.
	By string `json:"by"`

	// Until is when the suspension ends. Default: when the annotation is removed.
	Until *metav1.Time `json:"until,omitempty"`

	// WhenDeleted decides what happens if the suspended object is deleted. Required, since neither policy is always safe.
	WhenDeleted DeletionPolicy `json:"whenDeleted"`
}

// DeletionPolicy decides what happens if a suspended object is deleted.
type DeletionPolicy string

const (
	// Wait keeps the deleted object until the suspension ends. For this, the machine adds its finalizer to the suspended
	// object. One that is deleted before the machine has done so is not kept, unless it had this finalizer before.
	Wait DeletionPolicy = "Wait"
	// Proceed deletes the object as if it were not suspended.
	Proceed DeletionPolicy = "Proceed"
)

// Suspend suspends an object for the machine with the name. Write the object to the server afterwards. It returns an
// error if a required field of s is missing, or if WhenDeleted is invalid.
func Suspend(obj metav1.Object, name string, s Suspension) error {
	if err := s.check(); err != nil {
		return err
	}
	value, err := json.Marshal(s)
	if err != nil {
		return err
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[annotation(name)] = string(value)
	obj.SetAnnotations(annotations)
	return nil
}

// Resume ends the suspension of an object for the machine with the name. Write the object to the server afterwards.
func Resume(obj metav1.Object, name string) {
	annotations := obj.GetAnnotations()
	delete(annotations, annotation(name))
	obj.SetAnnotations(annotations)
}

// SuspensionOf returns the suspension of an object for the machine with the name, or nil for an object without one. The
// suspension may be over.
//
// Errors: a value that is not exactly the JSON of a Suspension.
func SuspensionOf(obj metav1.Object, name string) (*Suspension, error) {
	value, ok := obj.GetAnnotations()[annotation(name)]
	if !ok {
		return nil, nil
	}
	var s Suspension
	err := s.parse(value)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", annotation(name), err)
	}
	return &s, nil
}

// parse reads a JSON object whose fields have the exact names, each at most once. A Decoder alone also accepts REASON,
// and the last of two reasons.
func (s *Suspension) parse(value string) error {
	fields := map[any]any{"reason": &s.Reason, "by": &s.By, "until": &s.Until, "whenDeleted": &s.WhenDeleted}
	dec := json.NewDecoder(strings.NewReader(value))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(errors.New("the value is not a JSON object"), err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		into, ok := fields[name]
		if !ok {
			return fmt.Errorf("the field %q is unknown or repeated: want reason, by, until and whenDeleted", name)
		}
		delete(fields, name)
		if err := dec.Decode(into); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, more := dec.Token(); !errors.Is(more, io.EOF) {
		return errors.New("there is more after the value")
	}
	return nil
}

func annotation(name string) string { return name + ".suspend" }

func (s *Suspension) check() error {
	switch {
	case s.Reason == "":
		return errors.New("reason is missing")
	case s.By == "":
		return errors.New("by is missing")
	case s.WhenDeleted != Wait && s.WhenDeleted != Proceed:
		return fmt.Errorf("whenDeleted is %q, want Wait or Proceed", s.WhenDeleted)
	}
	return nil
}
