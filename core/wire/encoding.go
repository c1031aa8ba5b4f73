// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
)

// Encoding is the encoding of an object.
type Encoding uint8

// The encodings.
const (
	JSON Encoding = iota
	Protobuf
)

// The media types of the encodings. A request for a watch adds a stream parameter to them.
const (
	MediaTypeJSON     = "application/json"
	MediaTypeProtobuf = "application/vnd.kubernetes.protobuf"
)

// MediaTypeApply is the media type of a server-side apply. The body is JSON, which is valid YAML.
const MediaTypeApply = "application/apply-patch+yaml"

// MediaType returns the encoding's media type.
func (e Encoding) MediaType() string {
	if e == Protobuf {
		return MediaTypeProtobuf
	}
	return MediaTypeJSON
}

// String returns "json" or "protobuf".
func (e Encoding) String() string {
	if e == Protobuf {
		return "protobuf"
	}
	return "json"
}

// EncodingOf returns the encoding that a Content-Type header names. An empty header means JSON.
func EncodingOf(contentType string) (Encoding, error) {
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "", MediaTypeJSON:
		return JSON, nil
	case MediaTypeProtobuf:
		return Protobuf, nil
	}
	return 0, fmt.Errorf("content type %.200q: want %s or %s; is this the address of a Kubernetes API server?",
		contentType, MediaTypeJSON, MediaTypeProtobuf)
}
