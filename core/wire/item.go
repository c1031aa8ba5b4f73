// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

// ItemError reports one object of a list or watch that can't be decoded. It does not affect the other objects.
type ItemError struct {
	// Head is the identity of the object, as far as it can be read.
	Head Head
	// Err is the reason.
	Err error
}

// Error returns the name of the object and the reason.
func (e *ItemError) Error() string {
	name := e.Head.Ref.String()
	if name == "" {
		return "an object without a name: " + e.Err.Error()
	}
	return name + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *ItemError) Unwrap() error { return e.Err }

// ItemError returns an error for an object that can't be decoded, so that the caller can continue without the object.
func (p Packed) ItemError(err error) *ItemError {
	head, _ := p.readHead()
	return &ItemError{Head: head, Err: err}
}
