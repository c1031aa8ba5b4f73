// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package build compiles the programs of a cluster from embedded sources, each in its own module, and keeps them in a
// cache directory that many processes may share.
package build

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Target is a Go module and the packages to build.
type Target struct {
	// Name begins the name of the directory in the cache.
	Name string
	// Title is the name in messages, such as "Kubernetes v1.37.2".
	Title string
	// Version is part of the directory's name. It may be empty.
	Version string
	// Sources is the module. Its go.mod and go.sum are named go.mod.txt and go.sum.txt, since a nested go.mod would
	// exclude the folder from the zip of this module. The suffix is removed when they are written.
	Sources fs.FS
	// Overlay replaces files of Sources, or adds files. The keys are the names without the suffix .txt.
	Overlay map[string][]byte
	// Packages are the packages to build. Each becomes a file that is named like the last part of its import path.
	// Default: the root package, ".".
	Packages []string
	// LDFlags are passed to the linker, after -s -w.
	LDFlags string
	// Tags are build tags, separated by commas.
	Tags string
	// Env is added to the environment. CGO_ENABLED=0 is the default.
	Env []string
	// Resolve allows the go command to complete go.mod and go.sum. Without it, both must be complete, and the build is
	// reproducible.
	Resolve bool
}

// progressInterval is the interval at which a running build reports its progress.
const progressInterval = 10 * time.Second

// GoBuild returns the directory with the target's programs. It builds them if the cache does not have them for these
// sources, options and platform. Concurrent calls in several processes are safe: one builds, the others wait. progress
// receives a line from time to time; calls of it are never concurrent.
func GoBuild(ctx context.Context, target Target, cacheDir string, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}
	if len(target.Packages) == 0 {
		target.Packages = []string{"."}
	}
	key, err := target.key()
	if err != nil {
		return "", fmt.Errorf("build %s: read the sources: %w", target.Title, err)
	}
	dir := filepath.Join(cacheDir, key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := MakeCache(cacheDir); err != nil {
		return "", fmt.Errorf("build %s: %w", target.Title, err)
	}
	lock, err := Lock(ctx, dir+".lock", func() { progress("waiting for another process to build " + target.Title) })
	if err != nil {
		return "", fmt.Errorf("build %s: %w", target.Title, err)
	}
	defer lock.Close()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	began := time.Now()
	progress("building " + target.Title + " (only the first time)")
	if err := target.build(ctx, dir, lock, progress); err != nil {
		return "", fmt.Errorf("build %s: %w", target.Title, err)
	}
	progress(fmt.Sprintf("built %s in %v", target.Title, time.Since(began).Round(time.Second/10)))
	return dir, nil
}

// MakeCache creates the cache directory if it does not exist, with a .gitignore, because it may be in a repository and
// also has the keys of clusters.
func MakeCache(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, os.ErrExist) {
		return nil // the user may have chosen a directory with other files
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
}

// key returns the name of the directory: the target, the platform, and a hash of all inputs.
func (t Target) key() (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q %v\n", t.Packages, t.LDFlags, t.Tags, t.Env, t.Resolve)
	err := fs.WalkDir(t.Sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(t.Sources, path)
		fmt.Fprintf(hash, "%q %d\n%s", path, len(content), content)
		return err
	})
	for _, name := range slices.Sorted(maps.Keys(t.Overlay)) {
		fmt.Fprintf(hash, "%q %d\n%s", name, len(t.Overlay[name]), t.Overlay[name])
	}
	parts := []string{t.Name, runtime.GOOS, runtime.GOARCH, hex.EncodeToString(hash.Sum(nil)[:6])}
	if t.Version != "" {
		parts = append([]string{t.Name, t.Version}, parts[1:]...)
	}
	return strings.Join(parts, "-"), err
}

// build builds beside dir and then renames the result, so that a directory is either complete or absent.
func (t Target) build(ctx context.Context, dir string, lock *os.File, progress func(string)) error {
	work := dir + ".building"
	if err := os.RemoveAll(work); err != nil { // from a build that was killed
		return err
	}
	defer os.RemoveAll(work)
	src, out := filepath.Join(work, "src"), filepath.Join(work, "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := t.writeSources(src); err != nil {
		return err
	}
	if err := t.goBuild(ctx, src, out, lock, progress); err != nil {
		return err
	}
	if err := os.Rename(src, filepath.Join(out, "sources")); err != nil {
		return err
	}
	return os.Rename(out, dir)
}

func (t Target) writeSources(dir string) error {
	err := fs.WalkDir(t.Sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(path, ".txt")))
		if entry.IsDir() {
			return os.MkdirAll(file, 0o755)
		}
		content, err := fs.ReadFile(t.Sources, path)
		if err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o600)
	})
	for name, content := range t.Overlay {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return err
}

func (t Target) goBuild(ctx context.Context, src, out string, lock *os.File, progress func(string)) error {
	mod := "-mod=readonly"
	if t.Resolve {
		mod = "-mod=mod"
	}
	args := []string{
		"build", "-v", "-trimpath", "-buildvcs=false", mod, "-tags=" + t.Tags,
		"-ldflags=" + strings.TrimSpace("-s -w "+t.LDFlags), "-o", out + string(filepath.Separator),
	}
	cmd := goCommand(ctx, src, append(args, t.Packages...)...)
	cmd.Env = append(cmd.Env, t.Env...)
	// If this process is killed, the build continues, and keeps the lock until it has ended.
	cmd.ExtraFiles = []*os.File{lock}
	watch := newWatch(t.Title, progress)
	cmd.Stderr = watch
	err := cmd.Run()
	watch.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, watch.tail())
	}
	return nil
}

// goCommand returns a go command that runs outside any workspace and without the user's GOFLAGS, for this platform,
// and that ends with all its children when ctx ends.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The flags of a user, such as -mod=vendor, are for other modules. This one is for the files that are downloaded.
	flags := " " // with an empty string, the go command would use the GOFLAGS of `go env -w`
	if slices.Contains(strings.Fields(os.Getenv("GOFLAGS")), "-modcacherw") {
		flags = "-modcacherw"
	}
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+flags, "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		"CGO_ENABLED=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// WriteFile writes a file so that other processes see either the whole file or none.
func WriteFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // fails after a success
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Lock locks the file against other processes, and against other callers in this one. It calls waiting once if it has
// to wait. Closing the file unlocks it. The holder may remove the file.
func Lock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	for first := true; ; first = false {
		file, err := tryLock(path)
		if file != nil || err != nil {
			return file, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tryLock returns the locked file, or nil if it is locked already.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, file.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	// The last holder may have removed the file while it was being opened; then the lock has no effect.
	held, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if named, err := os.Stat(path); err != nil || !os.SameFile(held, named) {
		return nil, file.Close()
	}
	return file, nil
}

// watch turns the package names that `go build -v` prints into progress, and keeps the last lines for an error.
type watch struct {
	title    string
	progress func(string)
	began    time.Time
	pipe     *io.PipeWriter
	readers  sync.WaitGroup
	mu       sync.Mutex // guards the fields below
	lines    []string
	packages int
	now      string
}

// maxLines is the maximum number of output lines in an error.
const maxLines = 20

func newWatch(title string, progress func(string)) *watch {
	in, out := io.Pipe()
	w := &watch{title: title, progress: progress, began: time.Now(), pipe: out, now: "starting"}
	stop := make(chan struct{})
	w.readers.Go(func() {
		defer close(stop)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			w.line(bytes.TrimSpace(scanner.Bytes()))
		}
		_, _ = io.Copy(io.Discard, in) // after a line that is too long
	})
	w.readers.Go(func() { w.report(stop) })
	return w
}

func (w *watch) Write(p []byte) (int, error) { return w.pipe.Write(p) }

func (w *watch) close() {
	_ = w.pipe.Close() // never fails
	w.readers.Wait()
}

func (w *watch) line(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !bytes.ContainsRune(line, ' ') { // an import path
		w.packages++
		w.now = fmt.Sprintf("%d packages, now %s", w.packages, line)
		return
	}
	w.now = strings.TrimPrefix(string(line), "go: ")
	w.lines = append(w.lines, string(line))
	w.lines = w.lines[max(0, len(w.lines)-maxLines):]
}

func (w *watch) report(stop <-chan struct{}) {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			w.mu.Lock()
			now := w.now
			w.mu.Unlock()
			w.progress(fmt.Sprintf("building %s: %s, %v", w.title, now, time.Since(w.began).Round(time.Second)))
		}
	}
}

func (w *watch) tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}
