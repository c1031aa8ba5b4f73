// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// output writes one response.
type output struct {
	server     *Server
	w          http.ResponseWriter
	ctx        context.Context //nolint:containedctx // of the request
	collection *Collection
	form       form

	buffer  *bufio.Writer // nil before the header
	scratch []byte
}

// begin sends the header, unless it was sent already.
func (o *output) begin(watch bool) {
	if o.buffer != nil {
		return
	}
	media := jsonType
	if o.form.protobuf {
		media = protobufType
		if watch {
			media += ";stream=watch"
		}
	}
	o.w.Header().Set("Content-Type", media)
	o.w.WriteHeader(http.StatusOK)
	o.buffer = bufio.NewWriterSize(o.w, 64<<10)
}

func (o *output) flush() error {
	if err := o.buffer.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}

// pace waits after each 100 objects.
func (o *output) pace(i int) error {
	if o.server.pace == 0 || i%100 != 99 {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	select {
	case <-time.After(o.server.pace):
		return nil
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}

func (o *output) list(meta listMeta, items [][]byte) error {
	o.begin(false)
	head, tail, before := o.form.list(o.collection.kind(o.form), meta, items)
	_, _ = o.buffer.Write(head) // Flush returns the error
	for i, item := range items {
		_, _ = o.buffer.Write(before(i))
		_, _ = o.buffer.Write(item)
		if err := o.pace(i); err != nil {
			return err
		}
	}
	if o.form.protobuf { // the last fields of runtime.Unknown: contentEncoding and contentType
		tail = appendBytes(appendBytes(nil, 3, ""), 4, "")
	}
	_, _ = o.buffer.Write(tail)
	return o.flush()
}

// initial sends the existing objects, and a bookmark if the client has requested the end of them.
func (o *output) initial(all [][]byte, version int, bookmark bool) error {
	o.begin(true)
	for i, object := range all {
		o.event(core.Added, object)
		if err := o.pace(i); err != nil {
			return err
		}
	}
	if !bookmark {
		return nil
	}
	kind := o.collection.kind(o.form)
	end := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.Itoa(version),
			Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		},
	}
	object, err := form{protobuf: o.form.protobuf}.encode(end) // as any kind: only the metadata is set
	if err != nil {
		return fmt.Errorf("encode a bookmark: %w", err)
	}
	o.event(core.Bookmark, object)
	return nil
}

func (o *output) change(obj Object) error {
	object, err := o.form.encode(obj)
	if err != nil {
		return fmt.Errorf("encode a change: %w", err)
	}
	o.event(core.Modified, object)
	return nil
}

func (o *output) event(event core.EventType, object []byte) {
	o.scratch = o.form.appendEvent(o.scratch[:0], event, o.collection.kind(o.form), object)
	_, _ = o.buffer.Write(o.scratch) // Flush returns the error
}
