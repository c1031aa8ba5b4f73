// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package zstd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/kube-go/sdk/contrib/zstd"
	"github.com/kube-go/sdk/kube"
)

// The function is the value of the option.
var _ = kube.CacheOptions{Compression: zstd.New}

// object returns the JSON of an object that resembles the others.
func object(i int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	return fmt.Appendf(nil, `{"metadata":{"name":"web-%x","namespace":"team-%d","uid":"%016x-%016x","labels":{"app":"web",`+
		`"pod-template-hash":"7c5ddbdf54"}},"spec":{"nodeName":"node-%d","containers":[{"name":"web","image":"registry.example.com`+
		`/shop/web:2.14.1","terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}]},"status":{`+
		`"phase":"Running","podIP":"10.%d.%d.%d"}}`,
		r.Uint32(), i%20, r.Uint64(), r.Uint64(), r.IntN(200), r.IntN(256), r.IntN(256), r.IntN(256))
}

func samples() (all [][]byte) {
	for i := range 256 {
		all = append(all, object(i))
	}
	return all
}

func TestObjectsBecomeMuchSmallerAndStayTheSame(t *testing.T) {
	codec, err := zstd.New(samples())
	if err != nil {
		t.Fatal(err)
	}
	before, after := 0, 0
	for i := range 1000 {
		data := object(1000 + i)
		small := codec.Compress([]byte("kept"), data)
		if !bytes.HasPrefix(small, []byte("kept")) || !bytes.Equal(small, codec.Compress([]byte("kept"), data)) {
			t.Fatal("Compress() does not append the same result each time")
		}
		plain, err := codec.Decompress([]byte("kept"), small[4:])
		if err != nil || string(plain) != "kept"+string(data) {
			t.Fatalf("Decompress() = %q, %v; want %q", plain, err, data)
		}
		before += len(data)
		after += len(small) - 4
	}
	if after > before/3 {
		t.Errorf("the objects have %d of %d bytes, want at most a third", after, before)
	}
}

// TestOneLargeSampleDoesNotFillTheDictionary checks that the ordinary objects of a kind become as small as without a
// large one among the samples.
func TestOneLargeSampleDoesNotFillTheDictionary(t *testing.T) {
	size := func(samples [][]byte) (n int) {
		codec, err := zstd.New(samples)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			n += len(codec.Compress(nil, object(1000+i)))
		}
		return n
	}
	large := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large)
	want := size(samples())
	for _, at := range []int{0, 128, 255} {
		all := samples()
		all[at] = large
		if got := size(all); got > want*11/10 {
			t.Errorf("the objects have %d bytes with a large sample at %d, want %d as without it", got, at, want)
		}
	}
}

// TestLargeObjectsCanBeRead checks an object of the largest size that a client reads by default.
func TestLargeObjectsCanBeRead(t *testing.T) {
	codec, err := zstd.New(samples())
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	if plain, err := codec.Decompress(nil, codec.Compress(nil, data)); err != nil || !bytes.Equal(plain, data) {
		t.Errorf("Decompress() = %d bytes, %v; want %d", len(plain), err, len(data))
	}
}

func TestUnusualSamplesAreNoError(t *testing.T) {
	for name, all := range map[string][][]byte{
		"none":      nil,
		"empty":     {{}, {}},
		"tiny":      {[]byte("{}")},
		"very long": {bytes.Repeat([]byte(strings.Repeat("x", 1000)), 3000)},
	} {
		codec, err := zstd.New(all)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, data := range [][]byte{nil, []byte("{}"), object(1), bytes.Repeat(object(2), 5000)} {
			if plain, err := codec.Decompress(nil, codec.Compress(nil, data)); err != nil || !bytes.Equal(plain, data) {
				t.Errorf("%s: Decompress() = %d bytes, %v; want %d", name, len(plain), err, len(data))
			}
		}
	}
}

func TestGarbageIsAnError(t *testing.T) {
	codec, err := zstd.New(samples())
	if err != nil {
		t.Fatal(err)
	}
	small := codec.Compress(nil, object(1))
	for i := range small {
		broken := bytes.Clone(small[:i])
		if plain, err := codec.Decompress(nil, broken); err == nil && len(plain) > 0 {
			t.Errorf("Decompress() of the first %d bytes = %q", i, plain)
		}
	}
}

func TestCodecIsSafeForConcurrentUse(t *testing.T) {
	codec, err := zstd.New(samples())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 200 {
				data := object(worker*1000 + i)
				if plain, err := codec.Decompress(nil, codec.Compress(nil, data)); err != nil || !bytes.Equal(plain, data) {
					t.Errorf("Decompress() = %q, %v", plain, err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCodec(b *testing.B) {
	codec, err := zstd.New(samples())
	if err != nil {
		b.Fatal(err)
	}
	data := object(1000)
	small := codec.Compress(nil, data)
	var buf []byte
	b.Run("compress", func(b *testing.B) {
		for b.Loop() {
			buf = codec.Compress(buf[:0], data)
		}
		b.ReportMetric(float64(len(data))/float64(len(buf)), "ratio")
	})
	b.Run("decompress", func(b *testing.B) {
		for b.Loop() {
			buf, _ = codec.Decompress(buf[:0], small)
		}
	})
}
