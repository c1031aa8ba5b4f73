// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// encoded returns the file of a snapshot.
func encoded(t testing.TB, s *snapshot) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := s.encode(&file, nil); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func newSnapshot() *snapshot {
	object := func(e wire.Encoding, data string) wire.Packed { return wire.NewPacked(e, []byte(data)) }
	return &snapshot{
		identity: [32]byte{1, 2, 3}, taken: time.Unix(1_700_000_000, 0), version: 42,
		objects: []wire.Packed{
			object(wire.JSON, `{"metadata":{"namespace":"prod","name":"a","uid":"1"}}`),
			object(wire.Protobuf, "\x0a\x06\x0a\x01b\x2a\x012"),
		},
	}
}

func sameSnapshot(a, b *snapshot) bool {
	return a.identity == b.identity && a.taken.Equal(b.taken) && a.version == b.version &&
		slices.EqualFunc(a.objects, b.objects, func(a, b wire.Packed) bool {
			return a.Encoding() == b.Encoding() && bytes.Equal(a.Bytes(), b.Bytes())
		})
}

// sealed returns data with its checksum.
func sealed(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

func TestSnapshotIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []*snapshot{newSnapshot(), {taken: time.Unix(0, 0)}} {
		got, err := parseSnapshot(encoded(t, want))
		if err != nil || !sameSnapshot(got, want) {
			t.Errorf("parseSnapshot() = %v, %v; want %v", got, err, want)
		}
	}
}

func TestDamagedSnapshotIsNotRead(t *testing.T) {
	data := encoded(t, newSnapshot())
	for n := range data {
		if s, err := parseSnapshot(data[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are read as %v", n, len(data), s)
		}
		other := bytes.Clone(data)
		other[n] ^= 1
		if s, err := parseSnapshot(other); err == nil {
			t.Errorf("after a change of byte %d, it is read as %v", n, s)
		}
	}
	if _, err := parseSnapshot(append(data, 0)); err == nil {
		t.Error("it is read with another byte at its end")
	}
	old := bytes.Clone(data)
	old[len(snapshotMagic)-1]++
	if _, err := parseSnapshot(old); err != errNotSnapshot {
		t.Errorf("another format: %v, want %v", err, errNotSnapshot)
	}
}

// TestSnapshotWithWrongLengthsIsNotRead checks lengths that no program writes, with a valid checksum.
func TestSnapshotWithWrongLengthsIsNotRead(t *testing.T) {
	s := newSnapshot()
	data := encoded(t, s)
	data = data[:len(data)-snapshotSum]
	count, first := snapshotHeader-4, snapshotHeader
	for _, tt := range []struct {
		name   string
		change func([]byte) []byte
	}{
		{"more objects than bytes", func(d []byte) []byte { binary.LittleEndian.PutUint32(d[count:], 1<<31); return d }},
		{"one more object", func(d []byte) []byte { d[count]++; return d }},
		{"one object less", func(d []byte) []byte { d[count]--; return d }},
		{"an object after the end", func(d []byte) []byte { binary.LittleEndian.PutUint32(d[first:], 1<<20); return d }},
		{"an object that is too large", func(d []byte) []byte {
			binary.LittleEndian.PutUint32(d[first:], largestObject+1)
			return d
		}},
		{"another encoding", func(d []byte) []byte { d[first+4] = 2; return d }},
		{"a byte after the objects", func(d []byte) []byte { return append(d, 0) }},
		{"half of an item", func(d []byte) []byte {
			d[count]++
			return append(d, 0, 0)
		}},
	} {
		if got, err := parseSnapshot(sealed(tt.change(bytes.Clone(data)))); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, errDamaged)
		}
	}
	s.objects = append(s.objects, s.objects[0])
	if _, err := s.byRef(); err == nil {
		t.Error("an object that occurs twice is accepted")
	}
	for _, object := range []string{`{"metadata":{"name":"a"}}`, `{"metadata":{"uid":"a"}}`, `{`, ``} {
		s.objects = []wire.Packed{wire.NewPacked(wire.JSON, []byte(object))}
		if _, err := s.byRef(); err == nil {
			t.Errorf("the object %q is accepted", object)
		}
	}
}

func TestSnapshotThatCannotBeWrittenLeavesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pods.snapshot")
	s := newSnapshot()
	if err := s.write(path, nil); err != nil {
		t.Fatal(err)
	}
	large := newSnapshot()
	large.objects = append(large.objects, wire.NewPacked(wire.JSON, make([]byte, largestObject+1)))
	if err := large.write(path, nil); err == nil {
		t.Error("an object that is too large was written")
	}
	if got, err := readSnapshot(path); err != nil || !sameSnapshot(got, s) {
		t.Errorf("after a failed write: %v, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v, want only the file", entries, err)
	}
	s.version++
	if err := s.write(path, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := readSnapshot(path); err != nil || !sameSnapshot(got, s) {
		t.Errorf("after another write: %v, %v", got, err)
	}
}

func TestFilesThatNoProgramWritesAreRemoved(t *testing.T) {
	const (
		own  = "pods-0123456789abcdef.snapshot"
		pods = "pods-fedcba9876543210.snapshot"
		hour = oldestSnapshot + time.Minute
		day  = unusedSnapshot + time.Minute
	)
	content := string(encoded(t, newSnapshot()))
	for name, test := range map[string]struct {
		file, content string
		age           time.Duration
		removed       bool
	}{
		"a file of a day ago":                   {pods, content, day, true},
		"a file of another format":              {pods, "kubesnp\xff and more", day, true},
		"a file of an hour ago":                 {pods, content, hour, false},
		"a file of the future":                  {pods, content, -day, false},
		"an incomplete file of an hour ago":     {pods + ".17.tmp", content[:20], hour, true},
		"an empty file of an hour ago":          {pods + ".17.tmp", "", hour, true},
		"an incomplete file of this write":      {own + ".17.tmp", content[:20], hour, true},
		"an incomplete file that is written":    {pods + ".17.tmp", content[:20], time.Minute, false},
		"an empty file that is not incomplete":  {pods, "", day, false},
		"another content":                       {pods, "another content", day, false},
		"another content in an incomplete file": {pods + ".17.tmp", "another content", day, false},
		"a name without a hash":                 {"pods.snapshot", content, day, false},
		"a name with a short hash":              {"pods-0123.snapshot", content, day, false},
		"a name with another hash":              {"pods-0123456789abcdeg.snapshot", content, day, false},
		"a name without a resource":             {"-0123456789abcdef.snapshot", content, day, false},
		"a name with another end":               {pods + ".old", content, day, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, test.file)
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			then := time.Now().Add(-test.age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
			if err := newSnapshot().write(filepath.Join(dir, own), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(path); (err != nil) != test.removed {
				t.Errorf("Lstat() = %v, want removed: %v", err, test.removed)
			}
		})
	}
}

func FuzzParseSnapshot(f *testing.F) {
	data := encoded(f, newSnapshot())
	f.Add(data[:len(data)-snapshotSum])
	f.Add([]byte(snapshotMagic))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parseSnapshot(data)
		s, err := parseSnapshot(sealed(data)) // which a fuzzer does not find
		if err != nil {
			return
		}
		_, _ = s.byRef()
		if again := encoded(t, s); !bytes.Equal(again, sealed(data)) {
			t.Errorf("%q is written as %q", sealed(data), again)
		}
	})
}

// secretSource is a source of secrets whose watches end with their contexts.
type secretSource struct{ watcher.Source }

func (secretSource) Resource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true}
}

func (secretSource) Watch(
	ctx context.Context, _ *request.WatchOptions,
) (iter.Seq2[wire.Event, error], error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestSnapshotOfSecretsIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	var reported []error
	r := New(secretSource{}, &Options{SnapshotDir: dir, Watch: watcher.Options{
		OnError: func(err error) { reported = append(reported, err) },
	}})
	StoreOf[metav1.PartialObjectMetadata](r)
	path, identity := r.file(r.need)
	run := func() {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := r.Run(ctx); err != context.Canceled || len(reported) > 0 {
			t.Errorf("Run = %v, with the errors %v", err, reported)
		}
	}
	run() // without a file
	s := newSnapshot()
	s.identity = identity
	if err := s.write(path, nil); err != nil {
		t.Fatal(err)
	}
	run()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Run, the file still exists: %v", err)
	}
}
