// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// deflated compresses with one of the samples as the dictionary.
type deflated struct{ dictionary []byte }

func deflate(samples [][]byte) (reflector.Codec, error) {
	return deflated{bytes.Clone(samples[0])}, nil
}

func (d deflated) Compress(dst, data []byte) []byte {
	buf := bytes.NewBuffer(dst)
	w, _ := flate.NewWriterDict(buf, flate.BestSpeed, d.dictionary)
	_, _ = w.Write(data)
	_ = w.Close()
	return buf.Bytes()
}

func (d deflated) Decompress(dst, data []byte) ([]byte, error) {
	plain, err := io.ReadAll(flate.NewReaderDict(bytes.NewReader(data), d.dictionary))
	return append(dst, plain...), err
}

// many puts 300 objects.
func many(server *fakesource.Server) {
	for i := range 300 {
		obj := configMap(fmt.Sprintf("prod/%03d", i), "first")
		obj.Data["text"] = strings.Repeat("all work and no play ", 20)
		server.Put(obj)
	}
}

// value checks the value of the object prod/007.
func value(t *testing.T, store *reflector.Store[corev1.ConfigMap], want string) {
	t.Helper()
	const name = "prod/007"
	obj, err := store.Get(ref(name))
	if err != nil || obj.Data["value"] != want || len(obj.Data["text"]) != 420 {
		t.Errorf("Get(%s) = %v, %v; want %s", name, obj, err, want)
	}
	state := store.State(ref(name))
	if head, err := state.Head(); err != nil || head.Ref != ref(name) {
		t.Errorf("State(%s) = %q", name, state.Packed().Bytes())
	}
}

func TestCompressedObjectsAreReadAsTheyWereSent(t *testing.T) {
	for _, tt := range []struct {
		name     string
		encoding wire.Encoding
		codec    func([][]byte) (reflector.Codec, error)
	}{
		{"JSON", wire.JSON, nil},
		{"protobuf", wire.Protobuf, nil},
		{"JSON, another codec", wire.JSON, deflate},
		{"protobuf, another codec", wire.Protobuf, deflate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, tt.encoding)
				many(server)
				r := reflector.New(server, &reflector.Options{Compression: tt.codec})
				store := reflector.StoreOf[corev1.ConfigMap](r)
				index := reflector.IndexBy(store, func(obj *corev1.ConfigMap) []string { return []string{obj.Data["value"]} })
				runUntilEnd(t, r)
				sub := subscribe(t, store)
				for range 301 {
					if _, err, _ := sub.next(); err != nil {
						t.Fatal(err)
					}
				}
				value(t, store, "first")
				changed := configMap("prod/007", "second")
				changed.Data["text"] = strings.Repeat("all work and no play ", 20)
				server.Put(changed)
				server.Delete(ref("prod/008"))
				synctest.Wait()
				value(t, store, "second")
				sub.want("MODIFIED prod/007 uid-8=first uid-8=second", "DELETED prod/008 uid-9=first -")
				if got := names(t, index.All("second")); !slices.Equal(got, []string{"prod/007"}) {
					t.Errorf("the index has %v", got)
				}
				selected := names(t, store.All(&reflector.SelectOptions{LabelSelector: "value=second"}))
				if !slices.Equal(selected, []string{"prod/007"}) {
					t.Errorf("the selection has %v", selected)
				}

				server.Compact() // a new list must find the objects unchanged
				server.Cut(errors.New("cut"))
				time.Sleep(time.Minute)
				synctest.Wait()
				sub.wantNothing()
			})
		})
	}
}

func TestCompressionThatFailsIsReportedAndLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		many(server)
		var reported []string
		calls := 0
		r := reflector.New(server, &reflector.Options{
			Watch: watcher.Options{OnError: func(err error) { reported = append(reported, err.Error()) }},
			Compression: func(samples [][]byte) (reflector.Codec, error) {
				calls++
				return nil, fmt.Errorf("%d samples are not enough", len(samples))
			},
		})
		store := reflector.StoreOf[corev1.ConfigMap](r)
		runUntilEnd(t, r)
		value(t, store, "first")
		if want := "compress configmaps: 256 samples are not enough"; calls != 1 || !slices.Equal(reported, []string{want}) {
			t.Errorf("%d calls, and the errors %q; want %q", calls, reported, want)
		}
	})
}

func TestFormThatChangesGetsItsOwnCodec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		many(server)
		var codecs int
		r := reflector.New(server, &reflector.Options{Compression: func(samples [][]byte) (reflector.Codec, error) {
			codecs++
			return deflate(samples)
		}})
		lean := reflector.StoreOf[metav1.PartialObjectMetadata](r)
		runUntilEnd(t, r)
		store := reflector.StoreOf[corev1.ConfigMap](r)
		time.Sleep(time.Second)
		synctest.Wait()
		value(t, store, "first")
		if obj, err := lean.Get(ref("prod/007")); err != nil || obj.Labels["value"] != "first" {
			t.Errorf("Get() = %v, %v", obj, err)
		}
		if codecs != 2 {
			t.Errorf("%d codecs were made, want 2", codecs)
		}
	})
}

func TestTableThatGrowsAfterItsListIsCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON)
		codecs := 0
		r := reflector.New(server, &reflector.Options{Compression: func(samples [][]byte) (reflector.Codec, error) {
			codecs++
			return deflate(samples)
		}})
		store := reflector.StoreOf[corev1.ConfigMap](r)
		runUntilEnd(t, r)
		many(server)
		synctest.Wait()
		value(t, store, "first")
		if codecs != 1 {
			t.Errorf("%d codecs were made, want 1", codecs)
		}
	})
}

func TestLoopReadsItsSnapshotAfterAReset(t *testing.T) {
	for _, tt := range []struct {
		name string
		runs bool // again before the loop continues, which makes another codec
	}{{"that discarded the codec", false}, {"that was followed by another run", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, wire.JSON)
				many(server)
				r, store := reflect(server)
				stop := runUntilEnd(t, r)
				read := 0
				for obj, err := range store.All(nil) {
					if read++; read == 1 {
						_ = stop()
						if !r.Reset() {
							t.Fatal("Reset has not discarded the objects")
						}
						for i := range 300 {
							other := configMap(fmt.Sprintf("prod/%03d", i), "second")
							other.Data["text"] = strings.Repeat("the quick brown fox jumps over it ", 20)
							server.Put(other)
						}
						if tt.runs {
							runUntilEnd(t, r)
						}
					}
					if err != nil {
						t.Fatal(err)
					}
					if obj.Data["value"] != "first" || obj.Data["text"] != strings.Repeat("all work and no play ", 20) {
						t.Fatalf("All yields the state %v", obj.Data)
					}
				}
				if read != 300 {
					t.Errorf("All yields %d objects, want 300", read)
				}
			})
		})
	}
}
