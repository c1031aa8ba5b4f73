// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
)

// Encoding is a way to write an object as bytes.
type Encoding uint8

// The encodings.
const (
	JSON Encoding = iota
	Protobuf
	// CBOR is what JSON says in fewer bytes: https://kep.k8s.io/4222. Servers have it behind feature gates.
	CBOR
)

// The media types of the encodings. Who asks for a watch stream adds a stream parameter to them.
const (
	MediaTypeJSON     = "application/json"
	MediaTypeProtobuf = "application/vnd.kubernetes.protobuf"
	MediaTypeCBOR     = "application/cbor"

	mediaTypeCBORSequence = "application/cbor-seq" // of the answer to who asks for a watch stream in CBOR
)

// MediaTypeApply is the media type of a server-side apply, whose body is in JSON, which is YAML too.
const MediaTypeApply = "application/apply-patch+yaml"

// MediaType returns the encoding's media type.
func (e Encoding) MediaType() string {
	switch e {
	case Protobuf:
		return MediaTypeProtobuf
	case CBOR:
		return MediaTypeCBOR
	default:
		return MediaTypeJSON
	}
}

// String returns "json", "protobuf" or "cbor".
func (e Encoding) String() string {
	switch e {
	case Protobuf:
		return "protobuf"
	case CBOR:
		return "cbor"
	default:
		return "json"
	}
}

// EncodingOf returns the encoding that a Content-Type header names. An empty header means JSON.
func EncodingOf(contentType string) (Encoding, error) {
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "", MediaTypeJSON:
		return JSON, nil
	case MediaTypeProtobuf:
		return Protobuf, nil
	case MediaTypeCBOR, mediaTypeCBORSequence:
		return CBOR, nil
	}
	return 0, fmt.Errorf("content type %.200q: want %s, %s or %s; is this the address of a Kubernetes API server?",
		contentType, MediaTypeJSON, MediaTypeProtobuf, MediaTypeCBOR)
}
