// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
)

// unchangedSource is a podSource whose pods do not change.
type unchangedSource struct{ *podSource }

func (s unchangedSource) List(
	_ context.Context, _ *request.ListOptions, each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	rest := int64(len(s.pods) - 1)
	return metav1.ListMeta{ResourceVersion: "9", Continue: "next", RemainingItemCount: &rest}, each(s.pods[0])
}

func (s unchangedSource) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	if o.SendInitialEvents {
		return s.podSource.Watch(ctx, o)
	}
	return func(func(wire.Event, error) bool) { <-ctx.Done() }, nil
}

// BenchmarkSnapshot measures the start of a reflector of 20,000 pods, from a list and from a snapshot, until it is
// ready, and the end, which writes the snapshot. The list needs no server: its pods are encoded already.
func BenchmarkSnapshot(b *testing.B) {
	source := unchangedSource{newPodSource(b, 20_000, wire.Protobuf)}
	dir := b.TempDir()
	for _, name := range []string{"list", "snapshot"} {
		b.Run(name, func(b *testing.B) {
			var end time.Duration
			for b.Loop() {
				if name == "list" {
					dir = b.TempDir()
				}
				r := reflector.New(source, &reflector.Options{SnapshotDir: dir})
				store := reflector.StoreOf[corev1.Pod](r)
				ctx, cancel := context.WithCancel(b.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				if err := store.Ready(ctx); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				began := time.Now()
				cancel()
				if err := <-ended; err == nil {
					b.Error("Run() = nil, want the cause")
				}
				end += time.Since(began)
				b.StartTimer()
			}
			b.ReportMetric(float64(end.Milliseconds())/float64(b.N), "ms/write")
			found, err := filepath.Glob(filepath.Join(dir, "*.snapshot"))
			if err != nil || len(found) != 1 {
				b.Fatalf("the directory has %q, %v; want one file", found, err)
			}
			info, err := os.Stat(found[0])
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size())/float64(len(source.pods)), "file-B/pod")
		})
	}
}
