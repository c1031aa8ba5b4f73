// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// testLogs checks that LogLines returns the lines that its options select, one by one, with their timestamps.
func testLogs(t *testing.T, pods *kube.API[corev1.Pod]) {
	read := func(o *kube.LogOptions, maxLines int) (texts []string, times []time.Time) {
		t.Helper()
		for line, err := range podVerbs(pods).LogLines(limit(t), "talker", o) {
			if err != nil {
				t.Fatal(err)
			}
			texts, times = append(texts, line.Text), append(times, line.Time)
			if len(texts) == maxLines {
				break
			}
		}
		return texts, times
	}
	const enough = 20
	texts, times := read(&kube.LogOptions{Container: "lines", Follow: true, Timestamps: true}, enough)
	for i := range enough {
		if want := fmt.Sprintf("line %d", i+1); texts[i] != want || i > 0 && !times[i].After(times[i-1]) {
			t.Errorf("line %d = %q at %v, want %q, later than the line before", i, texts[i], times[i], want)
		}
	}
	second := times[enough-1].Truncate(time.Second) // servers ignore fractions of a second
	texts, times = read(&kube.LogOptions{Container: "lines", SinceTime: second, Timestamps: true}, 1)
	if times[0].Before(second) || times[0].Sub(second) > time.Second {
		t.Errorf("the log since %v begins with %q at %v", second, texts, times)
	}
	texts, times = read(&kube.LogOptions{Container: "lines", TailLines: new(int64(3))}, 0)
	if len(texts) != 3 || !times[0].IsZero() {
		t.Errorf("the last three lines = %q at %v", texts, times)
	}
	texts, _ = read(&kube.LogOptions{Container: "lines", LimitBytes: 8}, 0)
	if !slices.Equal(texts, []string{"line 1", "l"}) {
		t.Errorf("the first eight bytes = %q", texts)
	}
	for _, err := range podVerbs(pods).LogLines(limit(t), "talker", &kube.LogOptions{Container: "none"}) {
		if !errors.Is(err, core.ErrBadRequest) {
			t.Errorf("the log of a missing container: %v, want ErrBadRequest", err)
		}
	}
	if _, err := podVerbs(pods).Logs(limit(t), "none", nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("the log of a missing pod: %v, want ErrNotFound", err)
	}
}

// testMergedLogs checks that the lines of several pods are merged by time, including those of pods that are created
// later.
func testMergedLogs(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	node := nodeOf(t, c)
	speaker := func(name string) *corev1.Pod {
		pod := &corev1.Pod{Spec: podSpec(node)}
		pod.Name, pod.Labels = name, map[string]string{"app": "speaker"}
		pod.Spec.Containers[0].Args = []string{"lines", "1000000", "100ms"}
		return pod
	}
	startPod(t, pods, speaker("first"))
	// MergeLogs holds a line back for a quarter of a second, in case an older one arrives. A busy node may deliver a line
	// later than that. MergeLogs finds a pod some time after it has started to write, so the lines written before that are
	// late.
	const patience = 3 * time.Second
	seen := map[string]int{}
	var last time.Time
	inOrder := map[string]bool{"first": true} // true once the lines of a pod have caught up with those of others
	for line, err := range kube.MergeLogs(limit(t), pods, &kube.MergeLogsOptions{
		LabelSelector: "app=speaker", Log: kube.LogOptions{Follow: true, Timestamps: true},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[line.Pod.Name]++
		switch {
		case !line.Time.Before(last):
			inOrder[line.Pod.Name] = true
			last = line.Time
		case inOrder[line.Pod.Name] && last.Sub(line.Time) > patience:
			t.Errorf("%q of %s arrives %v after a newer line", line.Text, line.Pod, last.Sub(line.Time))
		}
		if seen["first"] == 5 && seen["second"] == 0 {
			if _, err := pods.Create(limit(t), speaker("second"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if want := fmt.Sprintf("line %d", seen[line.Pod.Name]); line.Text != want || line.Container != "main" {
			t.Fatalf("line = %+v, want %q of the container main", line, want)
		}
		if seen["second"] == 10 {
			break
		}
	}
	n := 0
	last = time.Time{}
	for line, err := range kube.MergeLogs(limit(t), pods, &kube.MergeLogsOptions{
		LabelSelector: "app=speaker", Log: kube.LogOptions{Timestamps: true},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; line.Time.Before(last) {
			t.Errorf("%q of %s arrives after a newer line", line.Text, line.Pod)
		}
		last = line.Time
	}
	if n < seen["first"]+seen["second"] {
		t.Errorf("%d lines, want at least those that were followed: %v", n, seen)
	}
}
