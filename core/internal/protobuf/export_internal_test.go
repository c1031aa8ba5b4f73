// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

// Stricter returns the errors of malformed data that generated code lets pass:
//
//   - tags of more than 32 bits and unknown fields that protobuf does not allow, which it skips,
//   - packed numbers and entries of maps that overrun their length, or in which a wire type is wrong, of which it makes
//     something else,
//   - quantities that take forever, and messages that nest too deep.
func Stricter() []error {
	return []error{errTag, errUnknown, errPacked, errPart, errExponent, errQuantity, errDepth}
}
