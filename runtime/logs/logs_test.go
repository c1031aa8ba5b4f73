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
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		Config: &config.Config{Server: s.URL}, Retry: &middleware.RetryOptions{MaxAttempts: 1},
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
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: types.UID("u-" + name)}}
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
	breaks := strings.HasPrefix(which, "breaks/")
	if breaks && before > 0 {
		text += at(9) + " 9\n"
	}
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
	if breaks && before == 0 {
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
		if got = append(got, line.Text); len(got) == 4 {
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

// TestRestartedContainerIsReadOnce checks that no line is lost or repeated if the log of a container breaks while the
// container restarts. A log is requested by the name of the container, and the node sends that of the current run.
func TestRestartedContainerIsReadOnce(t *testing.T) {
	const next = " second\n"
	for _, tt := range []struct {
		name string
		// resumed handles the second request for the log. restart reports the next run to the watch.
		resumed func(w http.ResponseWriter, restart func())
		early   bool // the next run is reported before the log breaks
	}{
		{name: "before the log is resumed", early: true},
		{name: "while the node refuses the log", resumed: func(w http.ResponseWriter, restart func()) {
			restart()
			fail(w, 400, "BadRequest", `container "main" in pod "prod/web" is waiting to start: ContainerCreating`)
		}},
		{name: "before the watch reports it", resumed: func(w http.ResponseWriter, restart func()) {
			_, _ = io.WriteString(w, at(2)+next)
			w.(http.Flusher).Flush()
			restart()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // it waits for a second before a log is resumed
			second := running("web", "main")
			second.Status.ContainerStatuses[0].ContainerID = "second"
			l := &logServer{pods: []corev1.Pod{running("web", "main")}, changed: make(chan corev1.Pod)}
			var requests atomic.Int32
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/log") {
					l.ServeHTTP(w, r)
					return
				}
				switch n := requests.Add(1); {
				case n == 1:
					_, _ = io.WriteString(w, at(1)+" first\n")
					w.(http.Flusher).Flush()
					if tt.early {
						l.changed <- second
					}
					panic(http.ErrAbortHandler)
				case n == 2 && tt.resumed != nil:
					tt.resumed(w, func() { l.changed <- second })
				default:
					_, _ = io.WriteString(w, at(2)+next)
					w.(http.Flusher).Flush()
					time.Sleep(1500 * time.Millisecond) // longer than the delay of another resume
					_, _ = io.WriteString(w, at(3)+" third\n")
				}
			})
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			var got []string
			for line, err := range logs.Merge(t.Context(), podsOf(t, s), &logs.Options{Log: request.LogOptions{Follow: true}}) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, line.Text); line.Text == "third" {
					break
				}
			}
			if diff := cmp.Diff([]string{"first", "second", "third"}, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLogOfARunningContainerContinues checks that a log that ends while its container still runs is resumed. An API
// server ends the response like that if its connection to the node breaks, and nodes end each connection after four
// hours. A node that has restarted does not know its pods at once. After the end of the container, the log is not
// requested again.
func TestLogOfARunningContainerContinues(t *testing.T) {
	t.Parallel() // it waits before the log is resumed
	web := running("web", "main")
	web.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	l := &logServer{pods: []corev1.Pod{web}, changed: make(chan corev1.Pod)}
	var requests atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			l.ServeHTTP(w, r)
			return
		}
		n := requests.Add(1)
		if n == 2 {
			fail(w, 404, "NotFound", "the node has restarted, and does not know the pod yet")
			return
		}
		_, _ = io.WriteString(w, at(1)+" first\n")
		if n > 2 {
			_, _ = io.WriteString(w, at(2)+" second\n")
		}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	var got []string
	for line, err := range logs.Merge(ctx, podsOf(t, s), &logs.Options{Log: request.LogOptions{Follow: true}}) {
		if err != nil {
			if !errors.Is(err, enough) {
				t.Error(err)
			}
			break
		}
		if got = append(got, line.Text); line.Text == "second" {
			ended := *web.DeepCopy()
			ended.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			l.changed <- ended
			time.AfterFunc(4*time.Second, func() { cancel(enough) })
		}
	}
	if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if n := requests.Load(); n != 3 {
		t.Errorf("%d requests for the log, want 3", n)
	}
}

// oneLog returns the pods of an API server with one pod, whose container runs. It works in a bubble. The function
// responds to the requests for the log.
func oneLog(t *testing.T, log func(r *http.Request) *http.Response) *client.API[corev1.Pod] {
	t.Helper()
	web := running("web", "main")
	web.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	l := &logServer{pods: []corev1.Pod{web}}
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"}, Retry: &middleware.RetryOptions{MaxAttempts: 1},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			switch q := r.URL.Query(); {
			case strings.HasSuffix(r.URL.Path, "/log"):
				return log(r), nil
			case q.Has("watch") && !q.Has("sendInitialEvents"):
				return quiet(r, 1000*time.Hour, nil), nil
			}
			w := httptest.NewRecorder()
			l.ServeHTTP(w, r)
			return w.Result(), nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return client.Namespaced[corev1.Pod](c, "prod")
}

// quiet returns a response whose body is empty and ends after a time, with an error if it is not nil.
func quiet(r *http.Request, after time.Duration, err error) *http.Response {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(context.Cause(r.Context())) })
	time.AfterFunc(after, func() { w.CloseWithError(err) })
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: body, Request: r}
}

// TestLogOfAQuietContainerContinues checks that a log is followed however often its connection has reached its maximum
// age without a line.
func TestLogOfAQuietContainerContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		pods := oneLog(t, func(r *http.Request) *http.Response {
			if requests++; requests <= 30 {
				return quiet(r, 4*time.Hour, nil)
			}
			w := httptest.NewRecorder()
			_, _ = io.WriteString(w, at(1)+" first\n")
			return w.Result()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Hour)
		defer cancel()
		for line, err := range logs.Merge(ctx, pods, &logs.Options{Log: request.LogOptions{Follow: true}}) {
			if err != nil || line.Text != "first" {
				t.Errorf("the log has the line %q, %v after %d requests", line.Text, err, requests)
			}
			break
		}
	})
}

// TestPreviousLogIsReadOnce checks that the log of a run that has ended is not resumed: it is complete, and a second
// request may be for another run.
func TestPreviousLogIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		pods := oneLog(t, func(r *http.Request) *http.Response {
			requests++
			w := httptest.NewRecorder()
			_, _ = fmt.Fprintf(w, "%s %s\n", at(requests), r.URL.Query().Get("previous"))
			return w.Result()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		lines := 0
		o := &logs.Options{Log: request.LogOptions{Follow: true, Previous: true}}
		for line, err := range logs.Merge(ctx, pods, o) {
			if err == nil && line.Text == "true" {
				lines++
			}
		}
		if lines != 1 || requests != 1 {
			t.Errorf("%d lines and %d requests, want one of each", lines, requests)
		}
	})
}

// TestResumedLogHasTheLinesSinceItsStart checks which lines are requested if a log breaks before its first line. The
// lines that are written before it is resumed must be among them.
func TestResumedLogHasTheLinesSinceItsStart(t *testing.T) {
	ends := func(r *http.Request) *http.Response { return quiet(r, 0, nil) } // it is resumed 2 s later
	breaks := func(r *http.Request) *http.Response { return quiet(r, 5*time.Minute, io.ErrUnexpectedEOF) }
	refused := func(*http.Request) *http.Response { // it is resumed 1 s later
		w := httptest.NewRecorder()
		fail(w, 503, "ServiceUnavailable", "the node is not reachable")
		return w.Result()
	}
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of a bubble
	for _, tt := range []struct {
		name  string
		log   request.LogOptions
		first func(r *http.Request) *http.Response
		want  url.Values // of the second request
	}{
		{"no existing lines", request.LogOptions{TailLines: new(int64(0))}, ends, url.Values{"sinceSeconds": {"4"}}},
		{
			"no existing lines of a log that is refused",
			request.LogOptions{TailLines: new(int64(0))},
			refused,
			url.Values{"sinceSeconds": {"3"}},
		},
		{
			"the end of an empty log",
			request.LogOptions{TailLines: new(int64(9))},
			ends,
			url.Values{"sinceSeconds": {"4"}},
		},
		{
			"the end of a quiet log that breaks",
			request.LogOptions{TailLines: new(int64(9))},
			breaks,
			url.Values{"sinceSeconds": {"303"}},
		},
		{
			"the end of a log that is refused",
			request.LogOptions{TailLines: new(int64(9))},
			refused,
			url.Values{"tailLines": {"9"}},
		},
		{"recent lines", request.LogOptions{Since: time.Hour}, ends, url.Values{"sinceSeconds": {"3604"}}},
		{
			"the end of the recent lines",
			request.LogOptions{Since: time.Hour, TailLines: new(int64(9))},
			refused,
			url.Values{"sinceSeconds": {"3603"}, "tailLines": {"9"}},
		},
		{
			"lines since a time",
			request.LogOptions{SinceTime: start},
			ends,
			url.Values{"sinceTime": {"2000-01-01T00:00:00Z"}},
		},
		{
			"the end of the lines since a time",
			request.LogOptions{SinceTime: start, TailLines: new(int64(9))},
			ends,
			url.Values{"sinceSeconds": {"4"}},
		},
		{
			"no lines before a later time",
			request.LogOptions{SinceTime: start.Add(time.Hour), TailLines: new(int64(0))},
			ends,
			url.Values{"sinceTime": {"2000-01-01T01:00:00Z"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var second url.Values
				requests := 0
				pods := oneLog(t, func(r *http.Request) *http.Response {
					if requests++; requests == 1 {
						return tt.first(r)
					}
					if requests == 2 {
						second = r.URL.Query()
					}
					w := httptest.NewRecorder()
					_, _ = io.WriteString(w, at(1)+" first\n")
					return w.Result()
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				o := &logs.Options{Log: tt.log}
				o.Log.Follow = true
				for line, err := range logs.Merge(ctx, pods, o) {
					if err != nil || line.Text != "first" {
						t.Errorf("the log has the line %q, %v", line.Text, err)
					}
					break
				}
				for _, always := range []string{"container", "follow", "timestamps"} {
					second.Del(always)
				}
				if diff := cmp.Diff(tt.want, second); diff != "" {
					t.Errorf("the log is resumed with (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestAnEndedLogDoesNotCountForMaxLogs checks that the next run of a container is read although the end of the last one
// is not known before.
func TestAnEndedLogDoesNotCountForMaxLogs(t *testing.T) {
	t.Parallel() // it waits for the end of a log
	web := running("web", "main")
	web.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	l := &logServer{pods: []corev1.Pod{web}, changed: make(chan corev1.Pod)}
	var requests atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			l.ServeHTTP(w, r)
			return
		}
		n := int(requests.Add(1))
		_, _ = io.WriteString(w, at(n)+fmt.Sprintf(" run %d\n", n))
	})
	o := &logs.Options{MaxLogs: 1, Log: request.LogOptions{Follow: true}}
	for line, err := range logs.Merge(t.Context(), podsOf(t, s), o) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Text == "run 2" {
			break
		}
		time.AfterFunc(300*time.Millisecond, func() { // after the end of the log
			next := *web.DeepCopy()
			next.Status.ContainerStatuses[0].ContainerID = "second"
			l.changed <- next
		})
	}
}

func TestOptionsApplyToLogsThatStartLater(t *testing.T) {
	l := &logServer{pods: []corev1.Pod{running("a", "main")}, changed: make(chan corev1.Pod)}
	asked := make(chan url.Values)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			asked <- r.URL.Query()
			return
		}
		l.ServeHTTP(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	var merging sync.WaitGroup
	defer merging.Wait()
	defer cancel()
	merging.Go(func() {
		o := &logs.Options{Log: request.LogOptions{
			Follow: true, Stream: request.LogStderr, InsecureSkipTLSVerifyBackend: true, LimitBytes: 100, Since: time.Hour,
		}}
		for _, err := range logs.Merge(ctx, podsOf(t, s), o) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want that of the context", err)
			}
		}
	})
	want := url.Values{
		"container": {"main"}, "follow": {"true"}, "timestamps": {"true"}, "stream": {"Stderr"},
		"insecureSkipTLSVerifyBackend": {"true"}, "sinceSeconds": {"3600"},
	}
	if diff := cmp.Diff(want, <-asked); diff != "" {
		t.Errorf("the first log is requested with (-want +got):\n%s", diff)
	}
	l.changed <- running("later", "main")
	want.Del("sinceSeconds")
	if diff := cmp.Diff(want, <-asked); diff != "" {
		t.Errorf("a later log is requested with (-want +got):\n%s", diff)
	}
}

// TestLimitBytesCountsTheText checks that LimitBytes counts neither times nor the lines that a resumed log repeats.
// Nodes count the times that they send.
func TestLimitBytesCountsTheText(t *testing.T) {
	const whole = "first\nsecond\nthird\n"
	for limit := range int64(len(whole)) {
		for _, log := range []request.LogOptions{{}, {Follow: true}, {Timestamps: true}} {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				pods := oneLog(t, func(r *http.Request) *http.Response {
					requests++
					if r.URL.Query().Has("limitBytes") {
						t.Error("LimitBytes is sent")
					}
					if log.Follow && requests == 1 {
						body := io.MultiReader(strings.NewReader(at(1)+" first\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
						return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Request: r}
					}
					w := httptest.NewRecorder()
					_, _ = fmt.Fprintf(w, "%s first\n%s second\n%s third\n", at(1), at(2), at(3))
					return w.Result()
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				log.LimitBytes = limit + 1
				var got strings.Builder
				for line, err := range logs.Merge(ctx, pods, &logs.Options{Log: log}) {
					if err == nil {
						got.WriteString(line.Text + "\n")
					}
				}
				if want := strings.TrimSuffix(whole[:limit+1], "\n"); strings.TrimSuffix(got.String(), "\n") != want {
					t.Errorf("%+v: the log is %q, want %q", log, got.String(), want)
				}
			})
		}
	}
}

func TestNegativeLimitBytesIsRefused(t *testing.T) {
	s := serve(t, (&logServer{pods: []corev1.Pod{running("web", "main")}}).ServeHTTP)
	for _, err := range logs.Merge(t.Context(), podsOf(t, s), &logs.Options{Log: request.LogOptions{LimitBytes: -1}}) {
		if err == nil || !strings.Contains(err.Error(), "LimitBytes: -1 is negative") {
			t.Errorf("error = %v, want it to name LimitBytes", err)
		}
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
