// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"

	"github.com/kube-go/sdk/core/wire"
)

// View is the part of objects that a request asks for, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources.
type View uint8

// The views.
const (
	ViewObject   View = iota // the whole objects
	ViewMetadata             // PartialObjectMetadata: only the metadata, for any kind
	ViewTable                // Table: columns for people, as kubectl prints them; JSON only
)

// parameters returns the parameters of a media type for the view, for one object or a list.
func (v View) parameters(list bool) string {
	as := ""
	switch {
	case v == ViewMetadata && list:
		as = "PartialObjectMetadataList"
	case v == ViewMetadata:
		as = "PartialObjectMetadata"
	case v == ViewTable:
		as = "Table"
	default:
		return ""
	}
	return ";as=" + as + ";v=v1;g=meta.k8s.io"
}

// checkWrite refuses a view that is only for reads.
func (t Target) checkWrite() error {
	if t.View == ViewTable {
		return invalid("view", "tables are for get, list and watch; leave it out, or ask for metadata")
	}
	return nil
}

// accept lists the media types for one object, the wanted one first.
func (t Target) accept() string { return t.acceptView(t.View.parameters(false)) }

// acceptList lists the media types for a list, the wanted one first.
func (t Target) acceptList() string { return t.acceptView(t.View.parameters(true)) }

func (t Target) acceptView(view string) string {
	if t.Encoding == wire.JSON || t.View == ViewTable {
		return wire.MediaTypeJSON + view
	}
	return t.Encoding.MediaType() + view + "," + wire.MediaTypeJSON + view
}

// acceptStream lists the media types for a watch, the wanted one first.
func (t Target) acceptStream() string {
	stream := ";stream=watch"
	if t.View != ViewObject {
		stream += t.View.parameters(false)
	}
	if t.Encoding == wire.JSON || t.View == ViewTable {
		return wire.MediaTypeJSON + stream + "," + wire.MediaTypeJSON + t.View.parameters(false)
	}
	return t.Encoding.MediaType() + stream + "," + wire.MediaTypeJSON + stream + "," +
		wire.MediaTypeJSON + t.View.parameters(false)
}

// omitManagedFields lists the media types of an Accept header first with the parameter that omits the managed fields,
// see https://kep.k8s.io/5958. API servers ignore parameters that they do not know. The media types without it are for
// other servers, which may refuse it.
func omitManagedFields(accept string) string {
	const drop = ";drop=metadata.managedFields"
	return strings.ReplaceAll(accept, ",", drop+",") + drop + "," + accept
}
