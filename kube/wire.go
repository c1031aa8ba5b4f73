// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"io"
	"iter"

	"github.com/kube-go/sdk/core/wire"
)

// Objects out of files, and what is wrong with them.
type (
	// Document is an object out of a stream of YAML or JSON, see [wire.Document].
	Document = wire.Document
	// DocumentError says which document is wrong, and in which line, see [wire.DocumentError].
	DocumentError = wire.DocumentError
	// StrictError lists what an object has that its type does not have, see [wire.StrictError].
	StrictError = wire.StrictError
	// Limits bound what is read, see [wire.Limits].
	Limits = wire.Limits
	// TooLargeError says that more was to be read than the limits allow, see [wire.TooLargeError].
	TooLargeError = wire.TooLargeError
	// Encoding is a way to write an object as bytes, for [API.PreferEncoding], see [wire.Encoding].
	Encoding = wire.Encoding
)

// The encodings.
const (
	EncodingJSON     = wire.JSON
	EncodingProtobuf = wire.Protobuf
)

// Documents reads the objects of a stream of YAML or JSON documents, such as a file for kubectl apply, see
// [wire.Documents].
func Documents(r io.Reader, limits *Limits) iter.Seq2[Document, error] {
	return wire.Documents(r, limits)
}

// UnmarshalStrict decodes an object and reports every name that would be lost, see [wire.UnmarshalStrict].
func UnmarshalStrict(body []byte, contentType string, obj Object) error {
	return wire.UnmarshalStrict(body, contentType, obj)
}
