// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// large returns an object of which two are worth a snapshot.
func large(name, value string) *corev1.ConfigMap {
	obj := configMap(name, value)
	obj.Data["fill"] = strings.Repeat("x", 270<<10)
	return obj
}

// process is a program that uses snapshots.
type process struct {
	*reflector.Store[corev1.ConfigMap]
	reflector *reflector.Reflector
	errs      []string
	end       func() error
}

// stop stops the process, which writes its snapshot.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.end(); err != errStop {
		t.Errorf("Run() = %v, want the cause", err)
	}
}

// prepare returns a process that has not started yet.
func prepare(server watcher.Source, dir string, change func(*reflector.Options)) *process {
	p := new(process)
	o := &reflector.Options{SnapshotDir: dir}
	o.Watch.OnError = func(err error) { p.errs = append(p.errs, err.Error()) }
	if change != nil {
		change(o)
	}
	p.reflector = reflector.New(server, o)
	p.Store = reflector.StoreOf[corev1.ConfigMap](p.reflector)
	return p
}

// launch starts a process, and waits until it is idle.
func launch(t *testing.T, server watcher.Source, dir string, change func(*reflector.Options)) *process {
	t.Helper()
	p := prepare(server, dir, change)
	p.start(t)
	return p
}

// start starts the process until the end of the test.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.end = sync.OnceValue(runUntilEnd(t, p.reflector))
	t.Cleanup(func() { _ = p.end() }) // before the directory is removed
}

// newLarge returns a server with large objects, whose watches end with a bookmark.
func newLarge(t *testing.T, names ...string) *fakesource.Server {
	t.Helper()
	s := newServer(t, wire.Protobuf)
	s.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
	for _, name := range names {
		s.Put(large(name, "first"))
	}
	return s
}

// files returns the names of the files in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// wantSame checks that a store has exactly the objects of the server.
func wantSame(t *testing.T, store *reflector.Store[corev1.ConfigMap], server *fakesource.Server) {
	t.Helper()
	got := make(map[core.ObjectRef]wire.Head)
	for obj, err := range store.All(nil) {
		if err != nil {
			t.Fatal(err)
		}
		r := core.RefOf(obj)
		got[r] = wire.Head{Ref: r, UID: obj.UID, ResourceVersion: obj.ResourceVersion}
	}
	if want := server.Objects(); !maps.Equal(got, want) {
		t.Errorf("the store has %v, want %v", got, want)
	}
}

func wantRequests(t *testing.T, server *fakesource.Server, want ...string) {
	t.Helper()
	if got := server.Requests(); !slices.Equal(got, want) {
		t.Errorf("the server received %q, want %q", got, want)
	}
}

// wantResumed checks that a process has listed one object, and otherwise resumed from a version.
func wantResumed(t *testing.T, server *fakesource.Server, version string) {
	t.Helper()
	got := server.Requests()
	first := []string{"watch rv=" + version, "list limit=1"}
	isList := func(r string) bool { return !strings.HasPrefix(r, "watch rv=") }
	if len(got) < 2 || !slices.Equal(got[:2], first) || slices.ContainsFunc(got[2:], isList) {
		t.Errorf("the server received %q, want that the watch resumes at version %s", got, version)
	}
}

func TestRestartResumesFromItsSnapshot(t *testing.T) {
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		synctest.Test(t, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "snapshots")
			server := newServer(t, encoding)
			server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
			for _, name := range []string{"prod/changed", "prod/deleted", "prod/kept", "test/replaced"} {
				server.Put(large(name, "first"))
			}
			before := launch(t, server, dir, nil)
			version := before.ResourceVersion()
			before.stop(t)
			server.Put(large("prod/changed", "second"))
			server.Delete(ref("prod/deleted"))
			server.Delete(ref("test/replaced"))
			server.Put(large("test/replaced", "second"))
			server.Put(large("test/new", "first"))
			server.Requests()

			after := prepare(server, dir, nil)
			sub := subscribe(t, after.Store)
			after.start(t)
			if err := after.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantSame(t, after.Store, server)
			wantResumed(t, server, version)
			if len(after.errs) > 0 {
				t.Errorf("errors: %q", after.errs)
			}
			var initial []string
			for range server.Objects() {
				c, err, _ := sub.next()
				if err != nil || !c.Initial || c.Type != core.Added {
					t.Errorf("change %s, %v; want an initial one", describe(t, c), err)
				}
				initial = append(initial, c.Ref.String())
			}
			slices.Sort(initial)
			if want := []string{"prod/changed", "prod/kept", "test/new", "test/replaced"}; !slices.Equal(initial, want) {
				t.Errorf("initial changes of %q, want %q", initial, want)
			}
			sub.want("BOOKMARK")
			server.Put(large("prod/kept", "later"))
			synctest.Wait()
			wantSame(t, after.Store, server)
			time.Sleep(time.Hour)
			isList := func(r string) bool { return !strings.HasPrefix(r, "watch") }
			if got := server.Requests(); slices.ContainsFunc(got, isList) || len(got) > 14 {
				t.Errorf("later requests %q; want watches with their usual timeout", got)
			}
		})
	}
}

// TestResumedWatchExpectsNoBookmarksOfAServerWithoutThem checks that the watches that confirm a snapshot do not show
// that a server sends bookmarks regularly: its quiet watches are not lost, and nothing is listed again.
func TestResumedWatchExpectsNoBookmarksOfAServerWithoutThem(t *testing.T) {
	for name, change := range map[string]func(*fakesource.Server){
		"without bookmarks": func(*fakesource.Server) {},
		"with a bookmark only at the end of a watch": func(s *fakesource.Server) {
			s.Behave(fakesource.Behaviour{Bookmarks: 24 * time.Hour})
			s.Tick() // so that only that bookmark confirms the snapshot
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, server := t.TempDir(), newServer(t, wire.JSON)
				server.Put(large("prod/a", "first"))
				server.Put(large("prod/b", "first"))
				before := launch(t, server, dir, nil)
				version := before.ResourceVersion()
				before.stop(t)
				change(server)
				server.Requests()
				p := launch(t, server, dir, nil)
				if err := p.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				wantResumed(t, server, version)
				if len(p.errs) > 0 {
					t.Errorf("errors: %q", p.errs)
				}
				wantSame(t, p.Store, server)
			})
		})
	}
}

// TestNoReaderSeesASnapshotBeforeItIsAsNewAsAList is the law of snapshots: from the start, no object is older than in a
// list that was requested after the start.
func TestNoReaderSeesASnapshotBeforeItIsAsNewAsAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b", "prod/c")
		launch(t, server, dir, nil).stop(t)
		server.Put(large("prod/a", "second"))
		server.Delete(ref("prod/b"))
		newest := server.Tick()

		p := prepare(server, dir, nil)
		sub := subscribe(t, p.Store)
		p.start(t)
		for range 2 {
			for _, name := range []string{"prod/a", "prod/b", "prod/c"} {
				if obj, err := p.Get(ref(name)); !errors.Is(err, reflector.ErrNotReady) {
					t.Errorf("Get(%s) = %v, %v; want ErrNotReady", name, obj, err)
				}
			}
			if n, v := p.Len(), p.ResourceVersion(); n != 0 || v != "" {
				t.Errorf("the store has %d objects of version %q, want none", n, v)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if err := p.WaitForVersion(t.Context(), newest); err != nil {
			t.Fatal(err)
		}
		wantSame(t, p.Store, server)
		synctest.Wait()
		var got []string
		for range 3 {
			c, err, _ := sub.next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, describe(t, c))
		}
		slices.Sort(got)
		want := []string{"BOOKMARK", "initial ADDED prod/a - uid-1=second", "initial ADDED prod/c - uid-3=first"}
		if !slices.Equal(got, want) {
			t.Errorf("changes %q, want %q", got, want)
		}
		sub.wantNothing()
	})
}

// TestSnapshotOfTheNewestVersionIsReadyImmediately checks that a server without any changes need not send a bookmark.
func TestSnapshotOfTheNewestVersionIsReadyImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
		launch(t, server, dir, nil).stop(t)
		server.Requests()
		start, p := time.Now(), launch(t, server, dir, nil)
		if err := p.Ready(t.Context()); err != nil || time.Since(start) > 0 {
			t.Errorf("ready after %v with %v, want immediately", time.Since(start), err)
		}
		wantResumed(t, server, "3")
		wantSame(t, p.Store, server)
		server.Put(large("prod/a", "second"))
		synctest.Wait()
		wantSame(t, p.Store, server)
	})
}

// TestSnapshotIsConfirmedByALaterChange checks that a busy kind does not wait for a bookmark.
func TestSnapshotIsConfirmedByALaterChange(t *testing.T) {
	for _, last := range []string{"prod/a", "prod/new"} { // "prod/a" is the object of the list
		synctest.Test(t, func(t *testing.T) {
			dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
			launch(t, server, dir, nil).stop(t)
			server.Tick()
			p := launch(t, server, dir, nil)
			start := time.Now()
			server.Put(large(last, "later"))
			if err := p.Ready(t.Context()); err != nil || time.Since(start) > 0 || len(p.errs) > 0 {
				t.Errorf("ready after %v with %v, errors %q; want immediately", time.Since(start), err, p.errs)
			}
			wantSame(t, p.Store, server)
		})
	}
}

func TestSnapshotThatCannotBeUsedIsReplaced(t *testing.T) {
	damage := func(t *testing.T, dir string, change func([]byte) []byte) {
		path := filepath.Join(dir, files(t, dir)[0])
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const open = "watch rv=4"
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, server *fakesource.Server, dir string) (now *fakesource.Server)
		sent   []string // before the list
		err    string
		wait   time.Duration
		last   bool // the next start can't resume, either
	}{
		{
			name: "a version that has expired",
			change: func(_ *testing.T, s *fakesource.Server, _ string) *fakesource.Server {
				s.Compact()
				return s
			},
			sent: []string{open}, err: "expired",
		},
		{
			name: "a damaged file",
			change: func(t *testing.T, s *fakesource.Server, dir string) *fakesource.Server {
				damage(t, dir, func(d []byte) []byte { d[len(d)/2]++; return d })
				return s
			},
			sent: []string{}, err: "damaged",
		},
		{
			name: "a truncated file",
			change: func(t *testing.T, s *fakesource.Server, dir string) *fakesource.Server {
				damage(t, dir, func(d []byte) []byte { return d[:len(d)/2] })
				return s
			},
			sent: []string{}, err: "damaged",
		},
		{
			name: "an empty file",
			change: func(t *testing.T, s *fakesource.Server, dir string) *fakesource.Server {
				damage(t, dir, func([]byte) []byte { return nil })
				return s
			},
			sent: []string{}, err: "not a snapshot",
		},
		{
			name: "another format",
			change: func(t *testing.T, s *fakesource.Server, dir string) *fakesource.Server {
				damage(t, dir, func(d []byte) []byte { d[7]++; return d })
				return s
			},
			sent: []string{}, err: "not a snapshot",
		},
		{
			name: "an old file",
			change: func(_ *testing.T, s *fakesource.Server, _ string) *fakesource.Server {
				time.Sleep(time.Hour + time.Minute)
				return s
			},
			sent: []string{}, err: "more than 1h0m0s ago",
		},
		{
			name: "another cluster, whose object changes",
			change: func(t *testing.T, _ *fakesource.Server, _ string) *fakesource.Server {
				s := newLarge(t, "prod/a", "prod/c", "prod/b")
				s.Put(large("prod/b", "second"))
				return s
			},
			sent: []string{open, "list limit=1"}, err: "prod/b has another UID",
		},
		{
			name: "another cluster without changes",
			change: func(t *testing.T, _ *fakesource.Server, _ string) *fakesource.Server {
				s := newLarge(t, "prod/c", "prod/b", "prod/a")
				s.Tick()
				return s
			},
			sent: []string{open, "list limit=1"}, err: "prod/a is not as on the server", wait: 3 * time.Second,
		},
		{
			name: "another cluster without objects",
			change: func(t *testing.T, _ *fakesource.Server, _ string) *fakesource.Server {
				s := newLarge(t)
				for range 10 {
					s.Tick()
				}
				return s
			},
			sent: []string{open, "list limit=1"}, err: "it has 3 objects, but the server has 0", wait: 3 * time.Second,
			last: true, // there is nothing to resume from
		},
		{
			name: "a younger cluster, or a restored backup",
			change: func(t *testing.T, _ *fakesource.Server, _ string) *fakesource.Server {
				return newLarge(t, "prod/a", "prod/b")
			},
			sent: []string{open, "list limit=1"}, err: `the server has version "3", which is not newer than 4`,
		},
		{
			name: "a server without bookmarks",
			change: func(_ *testing.T, s *fakesource.Server, _ string) *fakesource.Server {
				s.Behave(fakesource.Behaviour{})
				s.Tick()
				return s
			},
			sent: []string{open, "list limit=1", open, "list limit=1", open, "list limit=1"},
			err:  "no bookmark", wait: 9 * time.Second, last: true,
		},
		{
			name: "a list that is forbidden",
			change: func(_ *testing.T, s *fakesource.Server, _ string) *fakesource.Server {
				start := time.Now()
				s.Behave(fakesource.Behaviour{OnList: func(*request.ListOptions) error {
					if time.Since(start) < 20*time.Second {
						return fakesource.Status(403, metav1.StatusReasonForbidden)
					}
					return nil
				}, OnWatch: func(o *request.WatchOptions) error {
					if o.SendInitialEvents || time.Since(start) < 20*time.Second {
						return nil
					}
					return fakesource.Expired()
				}})
				return s
			},
			err: "forbidden", wait: time.Minute, last: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b", "prod/c")
				launch(t, server, dir, nil).stop(t)
				server = tt.change(t, server, dir)
				server.Requests()
				start := time.Now()
				p := launch(t, server, dir, nil)
				if err := p.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(start); waited > tt.wait {
					t.Errorf("ready after %v, want at most %v", waited, tt.wait)
				}
				if len(p.errs) == 0 || !strings.Contains(p.errs[0], tt.err) || tt.sent != nil && len(p.errs) > 1 {
					t.Errorf("errors %q, want one with %q", p.errs, tt.err)
				}
				if sent := server.Requests(); tt.sent != nil && !slices.Equal(sent, append(tt.sent, "stream")) {
					t.Errorf("the server received %q, want %q and a list", sent, tt.sent)
				}
				wantSame(t, p.Store, server)
				p.stop(t)
				if tt.last {
					return
				}
				server.Requests()
				p = launch(t, server, dir, nil)
				err := p.Ready(t.Context())
				if err != nil || len(p.errs) > 0 || slices.Contains(server.Requests(), "stream") {
					t.Errorf("the next start: %v, errors %q; want that it resumes", err, p.errs)
				}
			})
		})
	}
}

// TestSnapshotOfAnotherFormIsNotUsed checks that the objects have what the stores of the new program need.
func TestSnapshotOfAnotherFormIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		server := newServer(t, wire.JSON)
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		server.Put(large("prod/a", "first"))
		server.Put(large("prod/b", "first"))
		type lean struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Data              struct {
				Fill string `json:"fill"`
			} `json:"data"`
		}
		r := reflector.New(server, &reflector.Options{SnapshotDir: dir})
		reflector.StoreOf[lean](r)
		if err := runUntilEnd(t, r)(); err != errStop {
			t.Fatal(err)
		}
		p := launch(t, server, dir, nil)
		wantSame(t, p.Store, server)
		if obj, err := p.Get(ref("prod/a")); err != nil || obj.Data["value"] != "first" {
			t.Errorf("Get() = %v, %v; want all fields", obj, err)
		}
		if len(p.errs) != 1 || !strings.Contains(p.errs[0], "another form") {
			t.Errorf("errors %q, want one", p.errs)
		}
	})
}

// TestSnapshotsOfDifferentWatchesAreDifferentFiles checks what a file is of.
func TestSnapshotsOfDifferentWatchesAreDifferentFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
		changes := []func(*reflector.Options){
			nil,
			func(o *reflector.Options) { o.SnapshotScope = "another server" },
			func(o *reflector.Options) { o.Watch.LabelSelector = "a=b" },
			func(o *reflector.Options) { o.Watch.FieldSelector = "a=b" },
			func(o *reflector.Options) { o.Watch.ShardSelector = "a=b" },
		}
		for i, change := range changes {
			server.Requests()
			launch(t, server, dir, change).stop(t)
			wantRequests(t, server, "stream")
			if got := files(t, dir); len(got) != i+1 {
				t.Errorf("%d watches have the files %q", i+1, got)
			}
		}
	})
}

func TestFileOfAWatchThatNoProgramHasIsRemovedAfterADay(t *testing.T) {
	for name, server := range map[string]func(*testing.T) *fakesource.Server{
		"by a watch that writes a file": func(t *testing.T) *fakesource.Server {
			return newLarge(t, "prod/a", "prod/b")
		},
		"by a watch with too few objects for a file": func(t *testing.T) *fakesource.Server {
			return newServer(t, wire.JSON, "prod/a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				launch(t, newLarge(t, "prod/a", "prod/b"), dir, func(o *reflector.Options) { o.SnapshotScope = "old" }).stop(t)
				old := files(t, dir)
				if len(old) != 1 {
					t.Fatalf("the files are %q, want one", old)
				}
				for _, age := range []time.Duration{23 * time.Hour, 25 * time.Hour} {
					then := time.Now().Add(-age)
					if err := os.Chtimes(filepath.Join(dir, old[0]), then, then); err != nil {
						t.Fatal(err)
					}
					launch(t, server(t), dir, nil).stop(t)
					if got := files(t, dir); slices.Contains(got, old[0]) != (age < 24*time.Hour) {
						t.Errorf("after %v the files are %q", age, got)
					}
				}
			})
		})
	}
}

func TestSnapshotsMayBeInTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		server := newLarge(t, "prod/a", "prod/b")
		before := launch(t, server, ".", nil)
		version := before.ResourceVersion()
		before.stop(t)
		server.Requests()
		after := launch(t, server, ".", nil)
		if errs := append(before.errs, after.errs...); len(errs) > 0 {
			t.Errorf("errors: %q", errs)
		}
		wantResumed(t, server, version)
	})
}

func TestSnapshotsOfAWindowAreAnError(t *testing.T) {
	r := reflector.New(newServer(t, wire.JSON), &reflector.Options{
		SnapshotDir: t.TempDir(), Watch: watcher.Options{Window: new(watcher.Window)},
	})
	store := reflector.StoreOf[corev1.ConfigMap](r)
	for what, err := range map[string]error{"Run": r.Run(t.Context()), "Ready": store.Ready(t.Context())} {
		if invalid, ok := errors.AsType[*request.InvalidError](err); !ok || !strings.Contains(invalid.Field, "SnapshotDir") {
			t.Errorf("%s() = %v, want an error that names SnapshotDir", what, err)
		}
	}
}

func TestSnapshotIsReadableForTheUserOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "snapshots")
		launch(t, newLarge(t, "prod/a", "prod/b"), dir, nil).stop(t)
		for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, files(t, dir)[0]): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
			}
		}
	})
}

// TestSecretsAreNotWritten checks whole secrets and their metadata, in which the annotation of kubectl apply has the
// data, too.
func TestSecretsAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets, err := core.ResourceOf[corev1.Secret]()
		if err != nil {
			t.Fatal(err)
		}
		server := fakesource.New(secrets, wire.JSON)
		for i := range 3 {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprint(i)}}
			s.Data = map[string][]byte{"password": make([]byte, 270<<10)}
			s.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 270<<10)}
			server.Put(s)
		}
		for form, store := range map[string]func(*reflector.Reflector){
			"whole":    func(r *reflector.Reflector) { reflector.StoreOf[corev1.Secret](r) },
			"metadata": func(r *reflector.Reflector) { reflector.StoreOf[metav1.PartialObjectMetadata](r) },
		} {
			dir := t.TempDir()
			r := reflector.New(server, &reflector.Options{SnapshotDir: dir})
			store(r)
			if err := runUntilEnd(t, r)(); err != errStop || len(files(t, dir)) > 0 {
				t.Errorf("%s: Run() = %v, with the files %q; want none", form, err, files(t, dir))
			}
		}
	})
}

// TestSnapshotsAreWrittenAtTimes checks when a file is written, by its version.
func TestSnapshotsAreWrittenAtTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
		last := []byte(nil)
		written := func() bool {
			t.Helper()
			synctest.Wait()
			data, err := os.ReadFile(filepath.Join(dir, files(t, dir)[0]))
			if err != nil {
				t.Fatal(err)
			}
			same := string(data) == string(last)
			last = data
			return !same
		}
		p := launch(t, server, dir, nil)
		if !written() {
			t.Error("after the list, the file is not written")
		}
		server.Put(large("prod/a", "second"))
		if time.Sleep(4*time.Minute + 30*time.Second); written() {
			t.Error("the file is written more often than every five minutes")
		}
		if time.Sleep(2 * time.Minute); !written() {
			t.Error("five minutes after a change, the file is not written")
		}
		if time.Sleep(20 * time.Minute); written() {
			t.Error("without a change, the file is written within twenty minutes")
		}
		if time.Sleep(15 * time.Minute); !written() {
			t.Error("without a change, the file becomes too old")
		}
		server.Put(large("prod/a", "third"))
		synctest.Wait()
		p.stop(t)
		if !written() {
			t.Error("at the end, the file is not written")
		}
		p = launch(t, server, dir, nil)
		time.Sleep(time.Minute)
		server.Delete(ref("prod/a"))
		synctest.Wait()
		p.stop(t)
		if got := files(t, dir); len(got) > 0 {
			t.Errorf("with less than 512 KiB, there are the files %q", got)
		}
	})
}

// TestSnapshotOfAnIncompleteListIsNotWritten checks that an interrupted list leaves the file of the last complete one.
func TestSnapshotOfAnIncompleteListIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
		p := launch(t, server, dir, nil)
		time.Sleep(30 * time.Second)
		server.Behave(fakesource.Behaviour{Pace: 5 * time.Second, DropOnCut: true})
		server.Compact()
		server.Put(large("prod/0", "first"))
		server.Delete(ref("prod/a"))
		server.Cut(fakesource.Expired())
		for p.Len() != 3 {
			time.Sleep(time.Second)
		}
		p.stop(t) // while the list has only sent prod/0
		server.Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		p = launch(t, server, dir, nil)
		if err := p.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantSame(t, p.Store, server)
	})
}

// TestAgeOfASnapshotIsThatOfItsState checks that a program that ends long after it has lost its server leaves an old
// file, which the next one does not use, and that a program that has never reached the server does not replace it.
func TestAgeOfASnapshotIsThatOfItsState(t *testing.T) {
	const rest = 10 * time.Minute // until the file is too old
	for _, tt := range []struct {
		name    string
		offline time.Duration
		used    bool
	}{
		{"recently lost", time.Hour - rest, true},
		{"lost for an hour", time.Hour + rest, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
				p := launch(t, server, dir, nil)
				time.Sleep(time.Hour)
				online := fakesource.Behaviour{Bookmarks: time.Minute}
				offline := online
				offline.OnWatch = func(*request.WatchOptions) error { return core.ErrUnavailable }
				offline.OnList = func(*request.ListOptions) error { return core.ErrUnavailable }
				server.Behave(offline)
				server.Cut(io.ErrUnexpectedEOF)
				time.Sleep(tt.offline)
				p.stop(t)
				end := runUntilEnd(t, p.reflector)
				time.Sleep(time.Minute)
				if err := end(); err != errStop {
					t.Errorf("Run() = %v, want the cause", err)
				}
				server.Behave(online)
				server.Requests()
				p = launch(t, server, dir, nil)
				if err := p.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				old := slices.ContainsFunc(p.errs, func(err string) bool { return strings.Contains(err, "more than 1h0m0s ago") })
				if resumed := server.Requests()[0] != "stream"; resumed != tt.used || old == tt.used {
					t.Errorf("resumed: %v, want %v; errors: %q", resumed, tt.used, p.errs)
				}
			})
		})
	}
}

func TestSnapshotsOfTwoProgramsInOneDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t, "prod/a", "prod/b")
		for range 5 {
			one, two := launch(t, server, dir, nil), launch(t, server, dir, nil)
			for _, p := range []*process{one, two} {
				if err := p.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantSame(t, p.Store, server)
			}
			server.Put(large("prod/a", "next"))
			synctest.Wait()
			ended := make(chan error)
			go func() { ended <- one.end() }()
			two.stop(t)
			if err := <-ended; err != errStop {
				t.Error(err)
			}
			if got := files(t, dir); len(got) != 1 || len(one.errs)+len(two.errs) > 0 {
				t.Errorf("the files are %q, the errors %q and %q", got, one.errs, two.errs)
			}
		}
	})
}

// inverted is a codec that only inverts the bytes, which is fast.
type inverted struct{}

func (inverted) Compress(dst, data []byte) []byte {
	for _, b := range data {
		dst = append(dst, ^b)
	}
	return dst
}

func (c inverted) Decompress(dst, data []byte) ([]byte, error) { return c.Compress(dst, data), nil }

func TestSnapshotOfCompressedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, server := t.TempDir(), newLarge(t)
		for i := range 260 {
			obj := configMap(fmt.Sprintf("prod/%d", i), "first")
			obj.Data["fill"] = strings.Repeat("x", 3<<10)
			server.Put(obj)
		}
		compress := func(o *reflector.Options) {
			o.Compression = func([][]byte) (reflector.Codec, error) { return inverted{}, nil }
		}
		launch(t, server, dir, compress).stop(t)
		server.Requests()
		p := launch(t, server, dir, compress)
		if err := p.Ready(t.Context()); err != nil || len(p.errs) > 0 {
			t.Fatalf("after the restart: %v, errors %q", err, p.errs)
		}
		wantResumed(t, server, "261")
		wantSame(t, p.Store, server)
	})
}

// TestSnapshotThatCannotBeWrittenIsReported checks that the reflector works without its directory.
func TestSnapshotThatCannotBeWrittenIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		server := newLarge(t, "prod/a", "prod/b")
		p := launch(t, server, filepath.Join(file, "snapshots"), nil)
		wantSame(t, p.Store, server)
		p.stop(t)
		if len(p.errs) == 0 || !strings.Contains(p.errs[len(p.errs)-1], "snapshot") {
			t.Errorf("errors %q, want those of the file", p.errs)
		}
	})
}

// TestRestartsEqualTheServer restarts a program after random changes, with random faults.
func TestRestartsEqualTheServer(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			dir, server := t.TempDir(), newLarge(t, "prod/fixed-a", "prod/fixed-b")
			resumed := 0
			change := func() {
				for range random.IntN(6) {
					name := fmt.Sprintf("prod/%d", random.IntN(4))
					switch random.IntN(4) {
					case 0:
						server.Delete(ref(name))
					case 1:
						server.Tick()
					default:
						server.Put(configMap(name, fmt.Sprint(random.IntN(100))))
					}
				}
			}
			for range 8 {
				server.Requests()
				p := launch(t, server, dir, nil)
				for range random.IntN(3) {
					switch random.IntN(4) {
					case 0:
						server.Cut(nil)
					case 1:
						server.Cut(fakesource.Status(500, metav1.StatusReasonInternalError))
					case 2:
						time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					}
					change()
				}
				if random.IntN(5) > 0 {
					if err := p.Ready(t.Context()); err != nil {
						t.Fatal(err)
					}
					newest := server.Tick()
					if err := p.WaitForVersion(t.Context(), newest); err != nil {
						t.Fatal(err)
					}
					wantSame(t, p.Store, server)
				}
				if !slices.Contains(server.Requests(), "stream") {
					resumed++
				}
				p.stop(t)
				change()
				if random.IntN(5) == 0 {
					server.Compact()
				}
			}
			if resumed == 0 {
				t.Errorf("seed %d: no restart has resumed", seed)
			}
		})
	}
}
