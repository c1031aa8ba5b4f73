// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/wasm/internal/image"
)

// TestErrorsOfTheHostDoNotQuarantine has an instance whose stored memory can't be read.
func TestErrorsOfTheHostDoNotQuarantine(t *testing.T) {
	i := newTestInstance(t, Limits{})
	g := i.guest
	for n := range 2 * g.host.options.MaxFailures {
		g.lifecycle.due(time.Now())
		g.lifecycle.started(time.Now())
		f, err := os.Create(filepath.Join(t.TempDir(), "closed"))
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		i.store = f
		if err = i.load(); err == nil {
			t.Fatal("load has read a closed file")
		}
		g.fail(err)
		if s := g.status(); s.Phase != BackOff || s.Failures != 0 || s.Err == nil || s.Stats.Failures != 0 {
			t.Fatalf("after %d errors of the host, the status is %+v", n+1, s)
		} else if !strings.HasPrefix(s.Err.Error(), "the host can't run the module: ") || !errors.Is(s.Err, fs.ErrClosed) {
			t.Fatalf("the error of the host is %q", s.Err)
		}
	}
	g.plan(time.Time{}, nil)
}

// TestUnloadedInstanceLeavesNoFileBehind has a host that may be killed while the memory of a module is stored.
func TestUnloadedInstanceLeavesNoFileBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system does not remove open files")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	h, log := runTestHost(t, "http://127.0.0.1:1", Options{IdleAfter: time.Millisecond})
	setGuest(t, h, Module{Name: "a", Binary: testActor{timeout: time.Hour}.encode()})
	await(t, "the unloading", func() bool { return statusOf(h, "a").Phase == Unloaded })
	if all, err := os.ReadDir(dir); err != nil || len(all) > 0 {
		t.Errorf("while the module is unloaded, the directory of temporary files has %v, %v", all, err)
	}
	h.mu.Lock()
	g := h.guests["a"]
	h.mu.Unlock()
	before := g.status().Stats.Calls
	h.Remove(t.Context(), "a") // calls kube_quiesce in the restored instance
	if n := g.status().Stats.Calls; n != before+1 {
		t.Errorf("the restored instance was called %d times, want once:\n%s", n-before, log)
	}
}

// TestRecordThatFailsDoesNotQuarantine has a module that starts when its recording can be written.
func TestRecordThatFailsDoesNotQuarantine(t *testing.T) {
	var attempts atomic.Int64
	h, _ := runTestHost(t, newPodServer(t, 0, "").URL, Options{InitialBackoff: time.Millisecond, MaxFailures: 2})
	guest := testGuest{describes: describing(podController("")), response: `{}`}
	setGuest(t, h, Module{Name: "a", Binary: guest.encode(), Record: func() (io.Writer, error) {
		if attempts.Add(1) < 5 {
			return nil, errors.New("the disk is full")
		}
		return io.Discard, nil
	}})
	await(t, "the start", func() bool { return statusOf(h, "a").Phase == Running })
	if s := statusOf(h, "a"); s.Failures != 0 || attempts.Load() != 5 {
		t.Errorf("after %d attempts, the status is %+v", attempts.Load(), s)
	}
}

// TestVersionsDoNotKeepAnInstanceLoaded has a guest that receives nothing but versions, more often than it is idle.
func TestVersionsDoNotKeepAnInstanceLoaded(t *testing.T) {
	for name, tt := range map[string]struct {
		it    item
		wrote bool // within the last two minutes
		want  bool
	}{
		"versions":               {it: item{quiet: true}, want: true},
		"versions after a write": {it: item{quiet: true}, wrote: true},
		"changes":                {it: item{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &Host{options: Options{IdleAfter: 30 * time.Second}}
				g := &guest{host: h, closed: true} // no turns
				i := &instance{guest: g, body: new(image.Instance), image: new(image.Image)}
				g.instance = i
				if tt.wrote {
					i.wrote.Store(time.Now().UnixNano())
				}
				g.arm()
				for range 60 {
					<-time.After(time.Second)
					i.touch(tt.it)
					g.arm()
				}
				synctest.Wait()
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.idling != tt.want {
					t.Errorf("after a minute, the guest is idle: %v, want %v", g.idling, tt.want)
				}
				g.plan(time.Time{}, nil)
			})
		})
	}
}
