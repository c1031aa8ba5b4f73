// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/logs"
)

// at returns the time of a line, the given number of seconds after the first.
func at(seconds int) string {
	return time.Date(2026, 1, 1, 0, 0, seconds, 5, time.UTC).Format(time.RFC3339Nano)
}

func podsOf(t *testing.T, s *httptest.Server) *client.API[corev1.Pod] {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: s.URL}, Retry: &middleware.RetryOptions{Attempts: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return client.Namespaced[corev1.Pod](c, "prod")
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// fail sends a Status, as an API server does.
func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: message,
	})
}

// logServer is a server with pods that have logs.
type logServer struct {
	mu      sync.Mutex // guards the fields below
	pods    []corev1.Pod
	logs    map[string]string // by "pod/container"
	asked   []string
	changed chan corev1.Pod // events for the watch
}

// running is a pod with containers that have started.
func running(name string, containers ...string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: "u"}}
	for _, c := range containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c, ContainerID: "id-" + c})
	}
	return pod
}

func (l *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	q := r.URL.Query()
	switch {
	case q.Has("sendInitialEvents"):
		fail(w, 422, "Invalid", "sendInitialEvents is forbidden")
	case q.Has("watch"):
		l.watch(w, r)
	case parts[len(parts)-1] == "pods":
		l.mu.Lock()
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: l.pods}
		l.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&list) // the client may have gone
	default:
		l.log(w, r, parts[len(parts)-2]+"/"+q.Get("container"))
	}
}

func (l *logServer) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case pod := <-l.changed:
			if pod.Name == "outdated" {
				_, _ = io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Gone"}}`)
				return
			}
			pod.APIVersion, pod.Kind = "v1", "Pod"
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": pod})
			w.(http.Flusher).Flush()
			if pod.Name == "breaks" {
				panic(http.ErrAbortHandler)
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (l *logServer) log(w http.ResponseWriter, r *http.Request, which string) {
	l.mu.Lock()
	text, ok := l.logs[which]
	l.asked = append(l.asked, which+"?"+r.URL.Query().Get("sinceTime"))
	before := 0 // the number of earlier requests for the log
	for _, asked := range l.asked[:len(l.asked)-1] {
		if strings.HasPrefix(asked, which+"?") {
			before++
		}
	}
	l.mu.Unlock()
	if !ok {
		fail(w, 404, "NotFound", "gone")
		return
	}
	if text == "forbidden" {
		fail(w, 403, "Forbidden", "it is forbidden")
		return
	}
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
	if strings.HasPrefix(which, "breaks/") && before == 0 {
		panic(http.ErrAbortHandler)
	}
}

func TestLinesOfAllContainersAreOrdered(t *testing.T) {
	l := &logServer{
		pods: []corev1.Pod{running("a", "main", "side"), running("b", "main"), running("gone", "main"), {ObjectMeta: metav1.ObjectMeta{Name: "waiting"}}},
		logs: map[string]string{
			"a/main": at(1) + " 1\n" + at(4) + " 4\n",
			"a/side": at(2) + " 2\n",
			"b/main": at(3) + " 3\n" + at(5) + " 5\n",
		},
	}
	s := serve(t, l.ServeHTTP)
	var got []string
	for line, err := range logs.Merge(t.Context(), podsOf(t, s), &logs.Options{LabelSelector: "app=web"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s/%s %s %v", line.Pod.Name, line.Container, line.Text, line.Time.IsZero()))
	}
	if want := "a/main 1 true,a/side 2 true,b/main 3 true,a/main 4 true,b/main 5 true"; strings.Join(got, ",") != want {
		t.Errorf("lines = %s, want %s", strings.Join(got, ","), want)
	}
	for line, err := range logs.Merge(t.Context(), podsOf(t, s), &logs.Options{Log: request.LogOptions{Container: "side", Timestamps: true}}) {
		if err != nil || line.Text != "2" || line.Time.IsZero() {
			t.Errorf("the logs of one container = %+v, %v", line, err)
		}
		break
	}
}

// TestFollowJoinsNewPodsAndResumes checks that new pods are included, and that a broken log or watch is resumed.
func TestFollowJoinsNewPodsAndResumes(t *testing.T) {
	l := &logServer{
		pods:    []corev1.Pod{running("breaks", "main")},
		logs:    map[string]string{"breaks/main": at(1) + " 1\n" + at(2) + " 2\n", "later/main": at(3) + " 3\n"},
		changed: make(chan corev1.Pod),
	}
	s := serve(t, l.ServeHTTP)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	go func() {
		l.changed <- running("breaks", "main") // the watch, too
		l.changed <- running("outdated")       // the watch ends
		l.changed <- running("later", "main")
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cause := errors.New("enough")
	var got []string
	var last error
	for line, err := range logs.Merge(ctx, podsOf(t, s), &logs.Options{Log: request.LogOptions{Follow: true, TailLines: new(int64(10))}}) {
		if last = err; err != nil {
			break
		}
		if got = append(got, line.Text); line.Text == "2" {
			l.mu.Lock()
			l.logs["breaks/main"] = at(1) + " 1\n" + at(2) + " 2\n" + at(9) + " 9\n"
			l.mu.Unlock()
		}
		if len(got) == 4 {
			cancel(cause)
		}
	}
	slices.Sort(got) // the log and the watch are resumed at the same time
	if want := "1,2,3,9"; strings.Join(got, ",") != want || !errors.Is(last, cause) {
		t.Errorf("lines = %v, %v, want %s and %v", got, last, want, cause)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if want := "breaks/main?2026-01-01T00:00:01Z"; !slices.Contains(l.asked, want) {
		t.Errorf("requests = %v, want %s", l.asked, want)
	}
}

// TestFollowEndsWithItsContext checks that the sequence ends with the cause of its context, in whatever order its
// goroutines end.
func TestFollowEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	watched := make(chan struct{})
	l := &logServer{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			watched <- struct{}{}
			<-r.Context().Done()
			return
		}
		l.ServeHTTP(w, r)
	})
	for range 300 {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-watched
			cancel(cause)
		}()
		var last error
		for _, err := range logs.Merge(ctx, podsOf(t, s), &logs.Options{Log: request.LogOptions{Follow: true}}) {
			last = err
		}
		if !errors.Is(last, cause) {
			t.Fatalf("Merge ended with %v, want %v", last, cause)
		}
	}
}

func TestErrorsOfLogsAreReported(t *testing.T) {
	l := &logServer{
		pods: []corev1.Pod{running("a", "main"), running("b", "main"), running("c", "main")},
		logs: map[string]string{"a/main": at(1) + " 1\n", "b/main": "forbidden", "c/main": at(2) + " 2\n"},
	}
	s := serve(t, l.ServeHTTP)
	pods := podsOf(t, s)
	var last error
	for _, err := range logs.Merge(t.Context(), pods, nil) {
		last = err
	}
	if !errors.Is(last, core.ErrForbidden) || !strings.Contains(last.Error(), "container main of pod prod/b") {
		t.Errorf("without OnError the sequence ends with %v, want the error of b", last)
	}
	var mu sync.Mutex // guards told
	told := map[string]error{}
	n := 0
	for _, err := range logs.Merge(t.Context(), pods, &logs.Options{MaxLogs: 2, OnError: func(pod core.ObjectRef, _ string, err error) {
		mu.Lock()
		defer mu.Unlock()
		told[pod.Name] = err
	}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 || !errors.Is(told["b"], core.ErrForbidden) || told["c"] == nil || !strings.Contains(told["c"].Error(), "MaxLogs") {
		t.Errorf("%d lines, errors %v; want the line of a and the errors of b and c", n, told)
	}
}

func TestInvalidOptions(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for _, err := range logs.Merge(t.Context(), podsOf(t, s), &logs.Options{MaxLogs: -1}) {
		if err == nil || !strings.Contains(err.Error(), "MaxLogs: is negative") {
			t.Errorf("error = %v, want it to name MaxLogs", err)
		}
	}
}
