// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/image"
)

// smallReconciler is a reconciler of pods whose functions do nothing, as package conformance encodes it.
const smallReconciler = "AGFzbQEAAAABJwhgAABgAABgAAF+YAF/AX9gAn9/AX9gBH5/f38Bf2AAAGACf38BfgIBAAMIBwECAwQFBgcFAwEAAgdGBQZtZW1v" +
	"cnkCAAtfaW5pdGlhbGl6ZQAADWt1YmVfZGVzY3JpYmUAAQprdWJlX2FsbG9jAAIOa3ViZV9yZWNvbmNpbGUABgooBwIACwoAQo2B" +
	"gICAgAELBgBB4NQDCwQAQQALBABBAAsCAAsEAEIACwuVAQEAQYAIC40BeyJhYmkiOiJrdWJlX3YxIiwicHJvZmlsZSI6InJlY29u" +
	"Y2lsZXIiLCJjb250cm9sbGVycyI6W3sibmFtZSI6ImEiLCJmb3IiOnsidmVyc2lvbiI6InYxIiwia2luZCI6IlBvZCIsInJlc291" +
	"cmNlIjoicG9kcyIsIm5hbWVzcGFjZWQiOnRydWV9fV19"

func TestImageIsReleasedWithTheLastModuleWithItsArguments(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), c, &Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Run = %v", err)
		}
	}()
	binary, err := base64.StdEncoding.DecodeString(smallReconciler)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, arg string) {
		t.Helper()
		if err := h.Set(t.Context(), Module{Name: name, Binary: binary, Args: []string{arg}}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
			for _, s := range h.Status() {
				if s.Name == name && s.Phase == Running {
					return
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("status: %+v", h.Status())
			}
		}
	}
	images := func() map[string]*imageEntry {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.programs[digestOf(binary)].images
	}
	set("other", "x")
	for n := range 20 { // each has an image of its own
		set("a", fmt.Sprint(n))
	}
	if n := len(images()); n != 2 {
		t.Errorf("the program has %d images, want those of the 2 modules", n)
	}
	h.Remove(t.Context(), "a")
	if n := len(images()); n != 1 {
		t.Errorf("the program has %d images, want that of the module that is left", n)
	}
	set("a", "0")
}

func TestImageIsSharedUntilItsLastUser(t *testing.T) {
	p, a, b := &program{images: make(map[string]*imageEntry)}, &guest{}, &guest{}
	p.images["both"] = &imageEntry{img: new(image.Image), users: map[*guest]bool{a: true, b: true}}
	p.images["one"] = &imageEntry{users: map[*guest]bool{b: true}}
	p.release(b)
	if p.images["both"] == nil || p.images["one"] != nil {
		t.Errorf("the images are %v, want the one of the other guest", p.images)
	}
}

func TestRecordingsOfAModuleAreLimitedTogether(t *testing.T) {
	var all []*bytes.Buffer
	g := &guest{logger: slog.New(slog.DiscardHandler), ctx: t.Context()}
	g.module.Record = func() (io.Writer, error) {
		all = append(all, new(bytes.Buffer))
		return all[len(all)-1], nil
	}
	const room = 1 << 20
	g.tapes.Store(room)
	written := func() (n int) {
		for _, b := range all {
			n += b.Len()
		}
		return n
	}
	var tapes []*tape
	for range 100 { // starts
		tp, err := g.newTape()
		if err != nil {
			t.Fatal(err)
		}
		tapes = append(tapes, tp)
		tp.output(frameLog, make([]byte, 10_000))
		tp.flush()
	}
	for _, tp := range tapes { // all of them are open
		tp.output(frameLog, make([]byte, abi.MaxMessage))
		_ = tp.close()
	}
	t.Logf("100 starts have %d recordings with %d bytes", len(all), written())
	if n := len(all); n == 0 || n > room/tapeCost {
		t.Errorf("100 starts have %d recordings, want at most %d", n, room/tapeCost)
	}
	if n := written(); n == 0 || n > room {
		t.Errorf("the recordings have %d bytes, want at most %d", n, room)
	}
}
