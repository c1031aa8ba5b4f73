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

// testLogs promises that a log is read as far as is asked, line by line, with times.
func testLogs(t *testing.T, pods *kube.API[corev1.Pod]) {
	read := func(o *kube.LogOptions, most int) (texts []string, times []time.Time) {
		t.Helper()
		for line, err := range podVerbs(pods).LogLines(limit(t), "talker", o) {
			if err != nil {
				t.Fatal(err)
			}
			texts, times = append(texts, line.Text), append(times, line.Time)
			if len(texts) == most {
				break
			}
		}
		return texts, times
	}
	const enough = 20
	texts, times := read(&kube.LogOptions{Container: "lines", Follow: true, Timestamps: true}, enough)
	for i := range enough {
		if want := fmt.Sprintf("line %d", i+1); texts[i] != want || i > 0 && !times[i].After(times[i-1]) {
			t.Errorf("line %d = %q at %v, want %q, after the one before", i, texts[i], times[i], want)
		}
	}
	second := times[enough-1].Truncate(time.Second) // which is as exact as servers are
	if texts, times = read(&kube.LogOptions{Container: "lines", SinceTime: second, Timestamps: true}, 1); times[0].Before(second) || times[0].Sub(second) > time.Second {
		t.Errorf("the log since %v begins with %q at %v", second, texts, times)
	}
	if texts, times = read(&kube.LogOptions{Container: "lines", TailLines: new(int64(3))}, 0); len(texts) != 3 || !times[0].IsZero() {
		t.Errorf("the last three lines = %q at %v", texts, times)
	}
	if texts, _ = read(&kube.LogOptions{Container: "lines", LimitBytes: 8}, 0); !slices.Equal(texts, []string{"line 1", "l"}) {
		t.Errorf("eight bytes = %q", texts)
	}
	for _, err := range podVerbs(pods).LogLines(limit(t), "talker", &kube.LogOptions{Container: "none"}) {
		if !errors.Is(err, core.ErrBadRequest) {
			t.Errorf("the log of no container: %v", err)
		}
	}
	if _, err := podVerbs(pods).Logs(limit(t), "none", nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("the log of no pod: %v", err)
	}
}

// testLogsOfMany promises that the logs of many pods come in one order, also of pods that come later.
func testLogsOfMany(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	node := nodeOf(t, c)
	speaker := func(name string) *corev1.Pod {
		pod := &corev1.Pod{Spec: podSpec(node)}
		pod.Name, pod.Labels = name, map[string]string{"app": "speaker"}
		pod.Spec.Containers[0].Args = []string{"lines", "1000000", "100ms"}
		return pod
	}
	startPod(t, pods, speaker("first"))
	// A line is held back for a quarter of a second while an older one may come. A node that is busy may be later than that.
	// A pod is found some time after it has begun to write; what it has written until then is late.
	const patience = 3 * time.Second
	seen := map[string]int{}
	var last time.Time
	inOrder := map[string]bool{"first": true} // whether a pod's lines have caught up with those of others
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
			t.Errorf("%q of %s comes %v after a younger line", line.Text, line.Pod, last.Sub(line.Time))
		}
		if seen["first"] == 5 && seen["second"] == 0 {
			if _, err := pods.Create(limit(t), speaker("second"), nil); err != nil {
				t.Fatal(err)
			}
		}
		if want := fmt.Sprintf("line %d", seen[line.Pod.Name]); line.Text != want || line.Container != "main" {
			t.Fatalf("line = %+v, want %s of main", line, want)
		}
		if seen["second"] == 10 {
			break
		}
	}
	n := 0
	last = time.Time{}
	for line, err := range kube.MergeLogs(limit(t), pods, &kube.MergeLogsOptions{LabelSelector: "app=speaker", Log: kube.LogOptions{Timestamps: true}}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; line.Time.Before(last) {
			t.Errorf("%q of %s comes too late", line.Text, line.Pod)
		}
		last = line.Time
	}
	if n < seen["first"]+seen["second"] {
		t.Errorf("%d lines, there were %v before", n, seen)
	}
}
