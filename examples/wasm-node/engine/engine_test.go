// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/examples/wasm-node/engine"
	"github.com/kube-go/sdk/examples/wasm-node/life"
	"github.com/kube-go/sdk/kube"
)

// empty is a module without exports.
const empty = "\x00asm\x01\x00\x00\x00"

// fixture is an engine with the guest as an image, also in the gzip format.
type fixture struct {
	*engine.Engine

	changed chan kube.ObjectRef
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", file, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	guest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(guest); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	images := map[string][]byte{"guest": guest, "packed": packed.Bytes(), "empty": []byte(empty), "text": []byte("text")}
	f := &fixture{changed: make(chan kube.ObjectRef, 100)}
	f.Engine = engine.New(engine.Options{
		Memory: 64 << 20,
		Fetch: func(_ context.Context, _, image string) ([]byte, error) {
			if images[image] == nil {
				return nil, errors.New("no such image")
			}
			return images[image], nil
		},
		Changed: func(pod kube.ObjectRef) { f.changed <- pod },
	})
	t.Cleanup(f.Close)
	return f
}

// pull fetches the image of a container.
func (f *fixture) pull(t *testing.T, c life.Container) error {
	t.Helper()
	for {
		if id, err := f.Pull(c); id != "" || err != nil {
			return err
		}
		<-f.changed
	}
}

// start starts a container.
func (f *fixture) start(t *testing.T, c life.Container) {
	t.Helper()
	if err := f.pull(t, c); err != nil {
		t.Fatal(err)
	}
	f.Start(c)
}

// end waits until a container has ended.
func (f *fixture) end(id life.ID) life.State {
	for {
		if s, ok := f.State(id); ok && !s.Finished.IsZero() {
			return s
		}
		<-f.changed
	}
}

func container(name, image string, args ...string) life.Container {
	return life.Container{
		ID: life.ID{Pod: "1", Name: name}, Of: kube.ObjectRef{Namespace: "shop", Name: "pod"}, Image: image,
		Args: append([]string{name}, args...), Env: []string{"COLOR=blue"},
	}
}

func text(log *engine.Log) string {
	var all strings.Builder
	lines, _, _, _ := log.Read(0)
	for _, line := range lines {
		all.Write(line.Text)
	}
	return all.String()
}

func TestContainers(t *testing.T) {
	f := newFixture(t)
	for _, tc := range []struct {
		name  string
		c     life.Container
		grace time.Duration // of a stop, or 0
		code  int32
		log   string
	}{
		{name: "the exit code is that of the module", c: container("a", "guest", "exit", "3"), code: 3},
		{name: "an image may be compressed", c: container("b", "packed", "exit", "0"), code: 0},
		{name: "the output is logged", c: container("c", "guest", "talk", "2"), log: "line 0\nline 1\n"},
		{name: "a stop ends the input", c: container("d", "guest", "serve"), grace: time.Minute, log: "bye"},
		{name: "a sleeping container is killed", c: container("e", "guest", "sleep"), grace: 1, code: 137},
		{name: "a busy container is killed", c: container("f", "guest", "loop"), grace: 1, code: 137},
		{name: "the memory is limited", c: container("g", "guest", "grow"), code: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.start(t, tc.c)
			if tc.grace > 0 {
				f.Stop(tc.c.ID, tc.grace)
			}
			end := f.end(tc.c.ID)
			want := "hello from " + tc.c.ID.Name + " blue\n" + tc.log
			got := text(f.Log(tc.c.Of, tc.c.ID.Name, false))
			if end.Code != tc.code || tc.code < 2 && got != want {
				t.Errorf("it has ended as %+v with the log %q, want %d and %q", end, got, tc.code, want)
			}
		})
	}
}

func TestInvalidImagesAreErrors(t *testing.T) {
	f := newFixture(t)
	for image, want := range map[string]string{
		"none": "no such image", "empty": "does not export _start", "text": "invalid magic number",
	} {
		for range 2 { // it is fetched again
			if err := f.pull(t, container(image, image)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the image %s: %v, want an error with %q", image, err, want)
			}
		}
	}
}

func TestPreviousLogAndRemoval(t *testing.T) {
	f := newFixture(t)
	c := container("web", "guest", "exit", "1")
	f.start(t, c)
	f.end(c.ID)
	c.Attempt, c.Args = 1, []string{"web", "serve"}
	f.start(t, c)
	if log := f.Log(c.Of, "web", true); log == nil || text(log) != "hello from web blue\n" {
		t.Error("the log of the attempt before is missing")
	}
	log := f.Log(c.Of, "web", false)
	f.Remove(c.Of, "1")
	if _, ok := f.State(c.ID); !ok {
		t.Error("a container of the pod itself was removed")
	}
	f.Remove(c.Of, "2")
	if _, ok := f.State(c.ID); ok || f.Log(c.Of, "web", false) != nil {
		t.Error("the container was not removed")
	}
	for from := 0; ; {
		_, next, complete, more := log.Read(from)
		if from = next; complete {
			break
		}
		<-more
	}
}
