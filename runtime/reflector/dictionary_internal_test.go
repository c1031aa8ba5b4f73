// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// alike returns objects with a common structure, and with random and own text.
func alike(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	objects := make([][]byte, n)
	for i := range objects {
		objects[i] = fmt.Appendf(nil, `{"metadata":{"name":"web-%d","namespace":"prod","uid":"%016x",`+
			`"resourceVersion":"%d","labels":{"app.kubernetes.io/name":"web"}},`+
			`"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`,
			i, r.Uint64(), r.Uint32())
	}
	return objects
}

func dictionaryOf(t testing.TB, samples [][]byte) *dictionary {
	t.Helper()
	codec, err := newDictionary(samples)
	if err != nil {
		t.Fatal(err)
	}
	return codec.(*dictionary)
}

func roundTrip(t *testing.T, d *dictionary, data []byte) (compressed []byte) {
	t.Helper()
	compressed, ok := bytes.CutPrefix(d.Compress([]byte("before"), data), []byte("before"))
	plain, err := d.Decompress([]byte("before"), compressed)
	if want := "before" + string(data); !ok || err != nil || string(plain) != want {
		t.Fatalf("Decompress = %q, %v; want %q", plain, err, want)
	}
	return compressed
}

func TestDictionaryHalvesObjectsThatAreAlike(t *testing.T) {
	objects := alike(1000)
	d := dictionaryOf(t, objects[:fewestObjects])
	before, after := 0, 0
	for _, data := range objects {
		before, after = before+len(data), after+len(roundTrip(t, d, data))
	}
	t.Logf("%d bytes became %d, with a dictionary of %d", before, after, len(d.text))
	if after > before/2 {
		t.Errorf("%d bytes became %d, want at most half", before, after)
	}
	if len(d.text) > 5*len(objects[0]) {
		t.Errorf("the dictionary has %d bytes, and repeats itself", len(d.text))
	}
}

func TestDictionaryKeepsWhatItDoesNotHave(t *testing.T) {
	random := make([]byte, 1000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for name, samples := range map[string][][]byte{
		"no samples":      nil,
		"empty samples":   make([][]byte, 10),
		"short samples":   slices.Repeat([][]byte{[]byte("seven b")}, 10),
		"other samples":   alike(10),
		"one sample":      {random},
		"more than fits":  slices.Repeat([][]byte{bytes.Repeat([]byte("0123456789"), maxDictionary/10+1)}, 3),
		"the same sample": slices.Repeat([][]byte{random}, 300),
	} {
		t.Run(name, func(t *testing.T) {
			d := dictionaryOf(t, samples)
			if len(d.text) > maxDictionary {
				t.Errorf("the dictionary has %d bytes", len(d.text))
			}
			for n := range 20 {
				if got := roundTrip(t, d, random[:n]); len(got) > n+1 {
					t.Errorf("%d bytes became %d", n, len(got))
				}
			}
			if got := roundTrip(t, d, random); len(got) > len(random)+2 {
				t.Errorf("%d bytes became %d", len(random), len(got))
			}
		})
	}
}

// FuzzDictionary compresses any data, and decompresses it as if it were compressed.
func FuzzDictionary(f *testing.F) {
	objects := alike(300)
	d := dictionaryOf(f, objects[:fewestObjects])
	f.Add(objects[299])
	f.Add(d.Compress(nil, objects[299]))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, d, data)
		if plain, err := d.Decompress(nil, data); err == nil && len(data) > 0 && len(plain) > len(data)*len(d.text) {
			t.Errorf("%d bytes became %d", len(data), len(plain))
		}
	})
}

func BenchmarkDictionary(b *testing.B) {
	objects := alike(1000)
	d := dictionaryOf(b, objects[:fewestObjects])
	var buf []byte
	b.Run("Compress", func(b *testing.B) {
		b.SetBytes(int64(len(objects[0])))
		for i := 0; b.Loop(); i++ {
			buf = d.Compress(buf[:0], objects[i%len(objects)])
		}
	})
	b.Run("Decompress", func(b *testing.B) {
		small := d.Compress(nil, objects[0])
		b.SetBytes(int64(len(objects[0])))
		for b.Loop() {
			buf, _ = d.Decompress(buf[:0], small)
		}
	})
}
