// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

// Stricter has the errors of malformed data that generated code accepts:
//
//   - tags of more than 32 bits, and unknown fields that protobuf does not allow: generated code skips them,
//   - packed numbers and entries of maps that exceed their length or have a wrong wire type: generated code decodes
//     them to other values,
//   - quantities that take very long to parse, and messages that nest too deep.
func Stricter() []error {
	return []error{errTag, errUnknown, errPacked, errPart, errExponent, errQuantity, errDepth}
}
