// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core/wire"
)

// repeating reads a head, then the given number of bodies, then a tail, without storing them.
type repeating struct {
	head, body, tail []byte
	times            int
	at               *bytes.Reader
}

func (r *repeating) Read(p []byte) (int, error) {
	for r.at == nil || r.at.Len() == 0 {
		switch {
		case r.at == nil:
			r.at = bytes.NewReader(r.head)
		case r.times > 0:
			r.times--
			r.at.Reset(r.body)
		case r.times == 0:
			r.times--
			r.at.Reset(r.tail)
		default:
			return 0, io.EOF
		}
	}
	return r.at.Read(p)
}

// podStream returns the body of a list of the given number of equal pods.
func podStream(t testing.TB, encoding wire.Encoding, items int) io.Reader {
	t.Helper()
	whole, other := listBody(t, encoding, 2), listBody(t, encoding, 3)
	size := len(other) - len(whole) // the size of an item and its separator, except for lengths
	if encoding == wire.JSON {
		start := bytes.Index(whole, []byte(`"items":[`)) + len(`"items":[`)
		item := whole[start : start+size]
		tail := append(bytes.TrimSuffix(bytes.Clone(item), []byte(",")), whole[start+2*size-1:]...)
		return &repeating{head: whole[:start], body: item, times: items - 1, tail: tail}
	}
	message := podProtobuf(t)
	item := append(appendVarint([]byte{0x12}, len(message)), message...)
	list := appendVarint([]byte{0x12}, items*len(item))
	head := append([]byte("k8s\x00\x0a\x0d\x0a\x02v1\x12\x07PodList"), list...)
	return &repeating{head: head, body: item, times: items}
}

func appendVarint(dst []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// live returns the number of reachable bytes.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Reading a list of 10 000 pods must use no memory beyond the items that the caller keeps: less than two pointers per
// item.
func TestReadingALongListUsesOnlyTheMemoryOfKeptItems(t *testing.T) {
	const items, samples = 10_000, 20
	for encoding := range allEncodings() {
		t.Run(encoding.String()+", no items are kept", func(t *testing.T) {
			readAll(t, podStream(t, encoding, 10), encoding, func(_ int, p wire.Packed) error {
				_, err := p.Head() // fills the caches of types
				return err
			})
			before, peak := live(), uint64(0)
			read := readAll(t, podStream(t, encoding, items), encoding, func(n int, p wire.Packed) error {
				if n%(items/samples) == 0 {
					peak = max(peak, live())
				}
				_, err := p.Head()
				return err
			})
			if used := int64(peak - before); read != items || used >= 16*items {
				t.Errorf("%d items took %d bytes at their peak, want %d in less than 16 bytes each", read, used, items)
			}
		})
	}
	t.Run("decoded pods are kept", func(t *testing.T) {
		kept := make([]*corev1.Pod, 0, items/10)
		before, peak := live(), uint64(0)
		readAll(t, podStream(t, wire.Protobuf, items/10), wire.Protobuf, func(n int, p wire.Packed) error {
			pod := new(corev1.Pod)
			kept = append(kept, pod)
			if n%(items/10/samples) == 0 {
				peak = max(peak, live())
			}
			return p.Decode(pod)
		})
		checkPeak(t, before, max(peak, live()), live())
		runtime.KeepAlive(kept)
	})
	t.Run("packed pods are kept", func(t *testing.T) {
		kept := make([]wire.Packed, 0, items)
		before, peak := live(), uint64(0)
		readAll(t, podStream(t, wire.Protobuf, items), wire.Protobuf, func(n int, p wire.Packed) error {
			compact, err := p.Compact()
			kept = append(kept, compact)
			if n%(items/samples) == 0 {
				peak = max(peak, live())
			}
			return err
		})
		checkPeak(t, before, max(peak, live()), live())
		runtime.KeepAlive(kept)
	})
}

func readAll(t *testing.T, r io.Reader, encoding wire.Encoding, each func(n int, p wire.Packed) error) (n int) {
	t.Helper()
	_, err := wire.ReadList(r, encoding.MediaType(), nil, func(p wire.Packed) error {
		n++
		return each(n, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkPeak compares the peak with the memory of the kept items.
func checkPeak(t *testing.T, before, peak, after uint64) {
	t.Helper()
	kept, used := float64(after)-float64(before), float64(peak)-float64(before)
	if kept < 5<<20 || used > 1.2*kept {
		t.Errorf("%.1f MB at the peak for %.1f MB of kept items, want at most 1.2 times as much", used/1e6, kept/1e6)
	}
	t.Logf("%.1f MB at the peak for %.1f MB of kept items", used/1e6, kept/1e6)
}

// Garbage counts as well, because the heap grows with it between two collections.
func TestReadingAListMakesLittleGarbage(t *testing.T) {
	const items = 5000
	for encoding := range allEncodings() {
		stream := podStream(t, encoding, items)
		before := allocated()
		readAll(t, stream, encoding, func(int, wire.Packed) error { return nil })
		if used := allocated() - before; used > 300<<10 {
			t.Errorf("%s: reading %d items allocated %d bytes, want a reused buffer", encoding, items, used)
		}
	}
}
