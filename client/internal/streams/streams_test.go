// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/client/internal/streams"
	"github.com/kube-go/sdk/core/abi"
)

func TestItemsAreReadInOrderAndEndWithEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table streams.Table
		s := table.Add(7)
		var got []string
		done := make(chan error)
		go func() {
			for {
				item, err := s.Next(t.Context())
				if err != nil {
					done <- err
					return
				}
				got = append(got, string(item.Data))
			}
		}()
		synctest.Wait()
		for i := range 3 {
			if table.Deliver(7, streams.Item{Data: []byte(strconv.Itoa(i))}) != s {
				t.Fatal("the stream is unknown")
			}
		}
		table.Deliver(7, streams.Item{Flags: abi.FlagLast})
		if err := <-done; err != io.EOF {
			t.Errorf("Next = %v, want io.EOF", err)
		}
		if text := strings.Join(got, ","); text != "0,1,2," {
			t.Errorf("the items are %q", text)
		}
		if s.Close() {
			t.Error("an operation that has ended is in progress")
		}
	})
}

func TestDeliverNeverWaitsAndCountsUnreadItems(t *testing.T) {
	var table streams.Table
	s := table.Add(1)
	for i := range 10000 {
		if depth := table.Deliver(1, streams.Item{}).Depth(); depth != i+1 {
			t.Fatalf("depth %d after %d items", depth, i+1)
		}
	}
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if depth := table.Find(1).Depth(); depth != 9999 {
		t.Errorf("depth %d", depth)
	}
}

func TestUnknownAndClosedStreamsAreIgnored(t *testing.T) {
	var table streams.Table
	if s := table.Deliver(1, streams.Item{}); s != nil || s.Depth() != 0 {
		t.Errorf("an unknown stream = %v", s)
	}
	s := table.Add(1)
	table.Deliver(1, streams.Item{})
	if !s.Close() {
		t.Error("the operation is not in progress")
	}
	if s.Close() {
		t.Error("the second Close cancels again")
	}
	if table.Deliver(1, streams.Item{}) != nil {
		t.Error("a closed stream received an item")
	}
	if _, err := s.Next(t.Context()); err != io.EOF {
		t.Errorf("Next = %v, want io.EOF", err)
	}
}

func TestErrorItemIsTheErrorOfNext(t *testing.T) {
	var table streams.Table
	for message, want := range map[string]struct {
		code abi.Code
		text string
	}{
		`{"code":-5,"message":"pods"}`: {abi.Forbidden, "forbidden: pods"},
		`{"code":5}`:                   {abi.Internal, "internal error: the host sent an error that is not valid"},
		`x`:                            {abi.Internal, "internal error: the host sent an error that is not valid"},
	} {
		s := table.Add(1)
		table.Deliver(1, streams.Item{Data: []byte("data")})
		table.Deliver(1, streams.Item{Data: []byte(message), Flags: abi.FlagError | abi.FlagLast})
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := s.Next(t.Context())
		if !errors.Is(err, want.code) || err.Error() != want.text {
			t.Errorf("%s: Next = %v", message, err)
		}
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table streams.Table
		s := table.Add(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("cause")
		go cancel(cause)
		if _, err := s.Next(ctx); err != cause {
			t.Errorf("Next = %v", err)
		}
	})
}

// TestStreamsAgreeWithAModel compares random steps with queues in a map.
func TestStreamsAgreeWithAModel(t *testing.T) {
	type model struct {
		stream *streams.Stream
		queue  []string
		ended  bool
	}
	random := rand.New(rand.NewPCG(1, 2))
	var table streams.Table
	all := map[int64]*model{}
	for n := range 20000 {
		id := random.Int64N(8)
		m := all[id]
		switch step := random.IntN(10); {
		case m == nil:
			all[id] = &model{stream: table.Add(id)}
		case step < 5:
			last := step == 0
			item := streams.Item{Data: []byte(strconv.Itoa(n))}
			if last {
				item.Flags = abi.FlagLast
			}
			if known := table.Deliver(id, item) != nil; known == m.ended {
				t.Fatalf("step %d: known = %v", n, known)
			}
			if !m.ended {
				m.queue, m.ended = append(m.queue, strconv.Itoa(n)), last
			}
		case step < 9 && (len(m.queue) > 0 || m.ended):
			item, err := m.stream.Next(t.Context())
			if len(m.queue) == 0 {
				if err != io.EOF {
					t.Fatalf("step %d: Next = %v", n, err)
				}
				delete(all, id)
				continue
			}
			if err != nil || string(item.Data) != m.queue[0] {
				t.Fatalf("step %d: Next = %q, %v, want %q", n, item.Data, err, m.queue[0])
			}
			m.queue = m.queue[1:]
		case step == 9:
			if open := m.stream.Close(); open == m.ended {
				t.Fatalf("step %d: Close = %v", n, open)
			}
			delete(all, id)
		}
		if m := all[id]; m != nil && m.stream.Depth() != len(m.queue) {
			t.Fatalf("step %d: depth %d, want %d", n, m.stream.Depth(), len(m.queue))
		}
	}
}

func TestBodyIsTheItemsAfterTheHead(t *testing.T) {
	var table streams.Table
	s := table.Add(1)
	for _, chunk := range []string{"hello, ", "", "world"} {
		table.Deliver(1, streams.Item{Data: []byte(chunk)})
	}
	table.Deliver(1, streams.Item{Flags: abi.FlagLast})
	closed := 0
	b := streams.NewBody(t.Context(), s, false, func() { closed++ })
	data, err := io.ReadAll(b)
	if string(data) != "hello, world" || err != nil {
		t.Errorf("body = %q, %v", data, err)
	}
	_, _ = b.Close(), b.Close()
	if closed != 1 {
		t.Errorf("the operation was cancelled %d times", closed)
	}
	if n, err := b.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("Read of a closed body = %d, %v", n, err)
	}
	if data, err := io.ReadAll(streams.NewBody(t.Context(), s, true, func() {})); len(data) > 0 || err != nil {
		t.Errorf("empty body = %q, %v", data, err)
	}
}

func TestBrokenBodyIsAnError(t *testing.T) {
	var table streams.Table
	s := table.Add(1)
	table.Deliver(1, streams.Item{Data: []byte("half")})
	table.Deliver(1, streams.Item{Data: []byte(`{"code":-8,"message":"reset"}`), Flags: abi.FlagError})
	data, err := io.ReadAll(streams.NewBody(t.Context(), s, false, func() {}))
	if string(data) != "half" || !errors.Is(err, abi.Unavailable) {
		t.Errorf("body = %q, %v", data, err)
	}
}

func TestCloseEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table streams.Table
		s := table.Add(1)
		b := streams.NewBody(t.Context(), s, false, func() { s.Close() })
		ended := make(chan error)
		go func() {
			_, err := b.Read(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		_ = b.Close()
		if err := <-ended; err == nil || err == io.EOF {
			t.Errorf("Read = %v, want an error", err)
		}
	})
}

func TestRequestIsTheHeadAndTheBody(t *testing.T) {
	head := abi.Request{Method: "POST", URL: "/api", Header: map[string][]string{"A": {"b"}}}
	message, err := streams.Request(head, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	got, body, ok := abi.CutFrame(message)
	if !ok || string(got) != `{"method":"POST","url":"/api","header":{"A":["b"]}}` || string(body) != "body" {
		t.Errorf("message = %q %q %v", got, body, ok)
	}
	_, err = streams.Request(head, io.MultiReader(strings.NewReader("x"), failing{}))
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("failing body: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func TestResponseMustHaveAStatus(t *testing.T) {
	for _, bad := range []string{"", "x", "{}", `{"status":99}`, `{"status":1000}`} {
		if r, err := streams.Response(streams.Item{Data: []byte(bad)}); err == nil {
			t.Errorf("%q: %+v", bad, r)
		}
	}
	r, err := streams.Response(streams.Item{Data: []byte(`{"status":404,"header":{"A":["b","c"]}}`)})
	if err != nil || r.Status != 404 || len(r.Header["A"]) != 2 {
		t.Errorf("response = %+v, %v", r, err)
	}
}
