// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// TestHeadOfARequestNeedsLittleMemory has heads of the maximum size, and of the size of a message.
func TestHeadOfARequestNeedsLittleMemory(t *testing.T) {
	for name, element := range map[string]func(n int) string{
		"names":  func(n int) string { return fmt.Sprintf(`"%x":[""]`, n) },
		"values": func(n int) string { return fmt.Sprintf(`"a%d":[%s""]`, n, strings.Repeat(`"",`, 300)) },
	} {
		for limit, want := range map[int]error{abi.MaxHead: nil, abi.MaxMessage - 4: abi.TooLarge} {
			var head strings.Builder
			head.WriteString(`{"method":"GET","url":"/x","header":{`)
			for n := 0; head.Len() < limit-2000; n++ {
				if n > 0 {
					head.WriteByte(',')
				}
				head.WriteString(element(n))
			}
			head.WriteString("}}")
			message := append(binary.LittleEndian.AppendUint32(nil, uint32(head.Len())), head.String()...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			i := &instance{guest: &guest{}}
			_, err := i.newRequest(t.Context(), abi.OpRequest, message)
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s: a message of %d bytes has allocated %d bytes", name, len(message), used)
			if err != want || used > 4<<20 {
				t.Errorf("%s of a message of %d bytes = %v with %d bytes allocated, want %v", name, len(message), err, used, want)
			}
		}
	}
}

// TestRequestWhoseDeadlineIsBeforeItsTurnExceedsIt has a module that may send its next request after its deadline.
func TestRequestWhoseDeadlineIsBeforeItsTurnExceedsIt(t *testing.T) {
	server := newPodServer(t, 0, "")
	for name, origin := range map[string]string{"API server": "", "other server": server.URL} {
		h, _ := newTestHost(t, server.URL, Options{})
		m := Module{Name: "a", Limits: Limits{RequestsPerSecond: 1}}
		g := h.newGuest(m, "")
		var err error
		if g.client, err = h.clientOf(t.Context(), &m, g.throttle, h.options.Logger); err != nil {
			t.Fatal(err)
		}
		for range 100 { // requests wait for their turn
			g.requests.Reserve()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := g.send(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		if codeOf(err) != abi.DeadlineExceeded || !strings.Contains(err.Error(), "Limits.RequestsPerSecond") {
			t.Errorf("%s: the error is %v, want DeadlineExceeded because of Limits.RequestsPerSecond", name, err)
		}
	}
	if len(server.received) > 0 {
		t.Errorf("the server has received %v", server.received)
	}
}

// TestGuestWaitsForTheVersionOfAWriteFromItsBegin has requests whose effects a watch may report before their responses.
func TestGuestWaitsForTheVersionOfAWriteFromItsBegin(t *testing.T) {
	begun, responds := make(chan struct{}), make(chan struct{})
	server := newPodServer(t, 0, "").with(t, func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-responds
	}, func(r *http.Request) bool { return r.URL.Path == "/x" })
	for method, want := range map[string]bool{http.MethodGet: false, http.MethodPost: true} {
		i := newTestActor(t, server, Limits{})
		message := abi.AppendFrame(nil, marshal(abi.Request{Method: method, URL: "/x"}))
		id, err := i.submit(abi.OpRequest, message, 0)
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		if got := i.awaitsVersion(); got != want {
			t.Errorf("during a %s, the guest may wait for its version: %v, want %v", method, got, want)
		}
		i.wrote.Store(0) // as after two minutes
		responds <- struct{}{}
		await(t, "the response", func() bool { return i.operations[id].waiting() > 0 })
		if got := i.awaitsVersion(); got != want {
			t.Errorf("after a %s, the guest may wait for its version: %v, want %v", method, got, want)
		}
	}
}
