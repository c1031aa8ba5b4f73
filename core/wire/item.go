// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

// ItemError says which object of a list or a watch can't be decoded. The others are not touched by it.
type ItemError struct {
	// Head is as much of the object's identity as could be read.
	Head Head
	// Err is why.
	Err error
}

// Error names the object.
func (e *ItemError) Error() string {
	name := e.Head.Ref.String()
	if name == "" {
		return "an object without a name: " + e.Err.Error()
	}
	return name + ": " + e.Err.Error()
}

// Unwrap returns why.
func (e *ItemError) Unwrap() error { return e.Err }

// ItemError returns the error of an object that could not be decoded, for those who go on without it.
func (p Packed) ItemError(err error) *ItemError {
	head, _ := p.readHead()
	return &ItemError{Head: head, Err: err}
}
