// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// FuzzReadRequest checks that a message of a guest is read within its bounds.
func FuzzReadRequest(f *testing.F) {
	head := marshal(abi.Request{Method: "GET", URL: "/api?x=y", Header: map[string][]string{"Accept": {"a/b"}}})
	f.Add(append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...))
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, message []byte) {
		_, body, err := readRequest(message)
		if err == nil && len(body) > len(message)-4 {
			t.Errorf("a message of %d bytes has a body of %d", len(message), len(body))
		}
	})
}

// FuzzReadSubscriptions checks that each event for any subscriptions has the kind of its subscription.
func FuzzReadSubscriptions(f *testing.F) {
	stall := make([]byte, subscriptionBytes)
	stall[8] = eventFDRead
	binary.LittleEndian.PutUint32(stall[16:], abi.StallFD)
	clock := make([]byte, subscriptionBytes)
	binary.LittleEndian.PutUint64(clock[24:], uint64(time.Second))
	f.Add(append(clock, stall...))
	f.Add(append(make([]byte, subscriptionBytes), stall...)) // a timeout of zero only asks
	f.Add(make([]byte, 2*subscriptionBytes))
	f.Fuzz(func(t *testing.T, data []byte) {
		now := time.Now()
		p, errno := (&instance{guest: &guest{}}).readSubscriptions(data, now)
		if errno != errnoSuccess {
			return
		}
		if len(p.due) > len(data)/subscriptionBytes {
			t.Errorf("%d subscriptions have %d events", len(data)/subscriptionBytes, len(p.due))
		}
		for _, e := range p.due {
			if e[10] != eventClock {
				t.Errorf("an event of kind %d has a timeout", e[10])
			}
		}
		if p.stall != nil && p.stall[10] != eventFDRead {
			t.Errorf("the event of the stall descriptor has the kind %d", p.stall[10])
		}
		if !p.next.IsZero() && !p.next.After(now) {
			t.Errorf("the next timer is %v before now", now.Sub(p.next))
		}
	})
}

// FuzzReplayedTape checks that a recording from anywhere is read without a panic.
func FuzzReplayedTape(f *testing.F) {
	var b bytes.Buffer
	t := newTape(&b, room(), cover{Digest: "sha256:0", Name: "a"})
	t.output(frameLog, []byte("INFO text"))
	if err := t.close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, _, err := openTape(bytes.NewReader(data))
		for n := 0; err == nil; n++ {
			if n > len(data) {
				t.Fatalf("%d bytes have more than %d frames", len(data), n)
			}
			_, _, err = tape.read()
		}
		if err == io.EOF && len(data) < len(magic) {
			t.Error("an empty recording has an end, but no header")
		}
	})
}

// FuzzReadScript checks that a recording from anywhere is ordered, and its permissions are found, without a panic.
func FuzzReadScript(f *testing.F) {
	recording := func(frames ...any) []byte {
		var b bytes.Buffer
		t := newTape(&b, room(), cover{Digest: "sha256:0", Name: "a"})
		for i := 0; i < len(frames); i += 2 {
			t.output(frames[i].(frame), []byte(frames[i+1].(string)))
		}
		if err := t.close(); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	f.Add(recording(frameExport, `{"name":"start"}`, frameClock, "\x02", frameSubmit, `3 2 {"resource":"pods"}`,
		frameID, "\x01\x00\x00\x00\x00\x00\x00\x00", frameResult, "{}"))
	f.Add(recording(frameExport, `{}`, frameCall, "1 x", frameAnswer, "\x00\x00\x00\x00\x00\x00\x00\x00y"))
	f.Add(recording(frameResult, "{}"))
	f.Add(recording(frameID, "12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readScript(bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := Rules(bytes.NewReader(data)); err != nil {
			t.Errorf("a recording that is readable has no rules: %v", err)
		}
		for key, all := range s.asked {
			if _, _, found := strings.Cut(key, " "); !found || len(all) == 0 {
				t.Errorf("%q has %d questions", key, len(all))
			}
		}
	})
}

// room returns the room for a short recording.
func room() *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(1 << 20)
	return n
}
