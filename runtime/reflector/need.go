// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"reflect"
	"slices"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/watcher"
)

// need is the form of the objects that the readers of a table need. It depends only on their Go types.
type need struct {
	metadata bool           // nothing but the metadata
	protobuf bool           // all of them can decode protobuf
	types    []reflect.Type // of the readers
}

// needOf returns what a reader of objects of type K needs.
func needOf[K any]() need {
	metadata := kinds.IsMetadata[K]()
	return need{
		metadata: metadata,
		protobuf: metadata || client.EncodingOf(reflect.TypeFor[K]()) == wire.Protobuf,
		types:    []reflect.Type{reflect.TypeFor[K]()},
	}
}

// union returns what the readers of both need.
func (n need) union(o need) need {
	return need{
		metadata: n.metadata && o.metadata,
		protobuf: n.protobuf && o.protobuf,
		types:    slices.Concat(n.types, o.types),
	}
}

// covers reports whether objects that satisfy n also satisfy o.
func (n need) covers(o need) bool {
	if n.metadata && !o.metadata || n.protobuf && !o.protobuf {
		return false
	}
	return n.fields().Covers(o.fields())
}

// fields returns the fields that the readers decode.
func (n need) fields() *wire.Projection {
	if len(n.types) == 0 {
		return nil
	}
	all := wire.ProjectionOf(n.types[0])
	for _, t := range n.types[1:] {
		all = all.Union(wire.ProjectionOf(t))
	}
	return all
}

// feed is a source that can send its objects in another form.
type feed interface {
	Metadata() *client.Feed
	PreferEncoding(e wire.Encoding) *client.Feed
}

// source returns the source with the objects in the needed form, if it can send them in another one.
func (n need) source(src watcher.Source) watcher.Source {
	if s, ok := src.(remoteSource); ok {
		return s.Form(n.metadata)
	}
	f, ok := src.(feed)
	switch {
	case ok && n.metadata:
		return f.Metadata()
	case ok && !n.protobuf:
		return f.PreferEncoding(wire.JSON)
	}
	return src
}
