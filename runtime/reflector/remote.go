// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// remoteSource is a source that embeds a [Remote].
type remoteSource interface {
	// Form returns the source with whole objects, or with metadata only.
	Form(metadata bool) watcher.Source

	attacher
}

type attacher interface{ attach(t *table) }

// keepsMetadata is a codec whose compressed objects are their metadata in JSON.
type keepsMetadata interface{ keepsMetadata() }

// Remote is embedded in sources whose objects are kept elsewhere, such as by the host of a guest. The objects of such a
// source are in JSON, and it sends the versions that the reader has observed as bookmarks: its changes need not be in
// the order of their versions. It must have a method Form, which returns the source of whole objects, or of metadata
// only.
//
// The reflector keeps the names, versions, labels, finalizers and owners of the objects, and reads an object again
// whenever it is used. Create one with [NewRemote].
type Remote struct {
	read func(dst []byte, ref core.ObjectRef, version string) ([]byte, error)
}

// NewRemote returns a Remote. The function read appends an object to dst, in JSON. The version is that of the wanted
// state. If that does not exist any more, read returns a newer one.
func NewRemote(read func(dst []byte, ref core.ObjectRef, version string) ([]byte, error)) *Remote {
	return &Remote{read}
}

func (r *Remote) attach(t *table) {
	t.compression = compression{codecs: []Codec{remoteCodec{r}}, past: pastCodec{remoteCodec{r}}}
}

// Delivery is an item of [Store.Deliver]: a change, a version, or both.
type Delivery struct {
	// Change is the change. It has no Type if there is only a version.
	Change

	// Seen is a version up to which all changes were delivered, including this one. It is empty if it is not known.
	Seen string
}

// Deliver yields what [Store.Subscribe] yields, for hosts that send the changes to a [Remote], with the versions that
// the store has observed. While the loop runs, held has the memory of the undelivered changes in bytes: an estimate,
// with the old states that only this loop still needs. It may be nil.
func (s *Store[K]) Deliver(ctx context.Context, held *atomic.Int64) iter.Seq2[Delivery, error] {
	return s.table().deliveries(ctx, s.form, held)
}

func (t *table) deliveries(ctx context.Context, form uint64, held *atomic.Int64) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		if err := t.awaitForm(ctx, form); err != nil {
			yield(Delivery{}, err)
			return
		}
		sub := t.subscribe(subscription{held: held})
		defer t.unsubscribe(sub)
		defer t.observe(Observer{Seen: func(string) { sub.alert() }, Gone: func(wire.Packed) {}})()
		last := ""
		for {
			if ctx.Err() != nil {
				yield(Delivery{}, context.Cause(ctx))
				return
			}
			change, ok, err := t.next(sub)
			d := Delivery{Change: change}
			if seen := t.delivered(sub); seen != "" && seen != last {
				d.Seen, last = seen, seen
			}
			switch {
			case (ok || d.Seen != "") && !yield(d, nil):
				return
			case ok || d.Seen != "":
			case err != nil:
				yield(Delivery{}, err)
				return
			default:
				select {
				case <-sub.alerted:
				case <-ctx.Done():
				}
			}
		}
	}
}

// delivered returns the version of the table if a subscription has no undelivered changes.
func (t *table) delivered(sub *subscription) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if sub.loading || len(sub.queue)+len(sub.changed) > 0 {
		return ""
	}
	return t.version
}

// Refs returns the selected objects without decoding them, in no particular order.
//
// Errors: [ErrNotReady].
func (s *Store[K]) Refs(o *SelectOptions) ([]core.ObjectRef, error) {
	c := &candidates[K]{store: s}
	err := s.table().selected(o, c.collect)
	if err == nil && !c.ready {
		err = s.unready()
	}
	if err != nil {
		return nil, err
	}
	refs := make([]core.ObjectRef, 0, len(c.kept))
	for i := range c.kept {
		object, selected := c.packed(i)
		if !selected {
			continue
		}
		head, err := object.Head()
		if err != nil {
			return nil, fmt.Errorf("select %s: %w", s.Resource(), err)
		}
		refs = append(refs, head.Ref)
	}
	return refs, nil
}

// remoteCodec is the codec of the newest states.
type remoteCodec struct{ *Remote }

func (remoteCodec) keepsMetadata() {}

// Compress appends the metadata that is kept, in JSON.
func (c remoteCodec) Compress(dst, data []byte) []byte {
	all, err := wire.NewPacked(wire.JSON, data).Metadata()
	if err != nil {
		return append(dst, invalid(err)...)
	}
	kept, err := wire.MarshalJSON(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: all.Name, Namespace: all.Namespace, UID: all.UID, ResourceVersion: all.ResourceVersion,
		Generation: all.Generation, DeletionTimestamp: all.DeletionTimestamp,
		Labels: all.Labels, OwnerReferences: all.OwnerReferences, Finalizers: all.Finalizers,
	}})
	if err != nil {
		return append(dst, invalid(err)...)
	}
	return append(dst, kept...)
}

// Decompress appends the object, which may be newer.
func (c remoteCodec) Decompress(dst, data []byte) ([]byte, error) {
	head, err := wire.NewPacked(wire.JSON, data).Head()
	if err != nil {
		return dst, err
	}
	dst, err = c.read(dst, head.Ref, head.ResourceVersion)
	if err != nil {
		return dst, fmt.Errorf("read %s: %w", head.Ref, err)
	}
	return dst, nil
}

// pastCodec is the codec of states that may not be the newest.
type pastCodec struct{ remoteCodec }

// Decompress appends exactly the wanted state. If it does not exist any more, the result has the kept metadata, but
// can't be decoded as an object: another state in its place would hide changes.
func (c pastCodec) Decompress(dst, data []byte) ([]byte, error) {
	full, err := c.remoteCodec.Decompress(dst, data)
	if err == nil && isState(full[len(dst):], data) {
		return full, nil
	}
	const lost = `,"this state of the object does not exist any more"`
	return append(append(dst, data[:max(0, len(data)-1)]...), lost...), nil
}

// isState reports whether an object has the UID and the version of the kept metadata.
func isState(object, kept []byte) bool {
	now, err := wire.NewPacked(wire.JSON, kept).Head()
	return err == nil && unchanged(wire.NewPacked(wire.JSON, object), now)
}
