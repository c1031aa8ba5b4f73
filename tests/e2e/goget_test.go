// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/e2e/internal/release"
)

// TestReadmeStepsWorkWithARelease checks that the steps in the README lead to a working program, in an empty directory
// and with a release of the modules.
func TestReadmeStepsWorkWithARelease(t *testing.T) {
	t.Parallel()
	began := time.Now()
	proxy, version := publish(t)
	t.Logf("%5.1fs  released as %s", time.Since(began).Seconds(), version)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, program, after := readSteps(t, string(readme))

	u := newUser(t, proxy)
	u.run(t, "go mod init example.com/hello")
	for _, command := range before {
		u.run(t, strings.Replace(command, release.Root+"/kube", release.Root+"/kube@"+version, 1))
	}
	u.write(t, "main.go", program)
	if !slices.Contains(after, "go run .") {
		t.Fatalf("the commands after the first program in the README are %q, want go run . among them", after)
	}
	for _, command := range after {
		if got := u.run(t, command); strings.HasPrefix(command, "go run") {
			checkOutput(t, got)
		}
	}

	u.run(t, "go vet ./...")
	u.run(t, "go build -o hello .")
	checkLinked(t, filepath.Join(u.dir, "hello"), version, "core", "client", "kube")
	checkOutput(t, u.run(t, "./hello"))

	t.Run("go get -tool installs the commands of the SDK", func(t *testing.T) {
		u.run(t, "go get -tool "+release.Root+"/derive/cmd/kube-derive@"+version)
		if got := u.run(t, "go tool kube-derive --help"); !strings.Contains(got, "kube-derive") {
			t.Errorf("help = %q", got)
		}
		u.run(t, "go get -tool "+release.Root+"/tests/cluster/cmd/kubecluster@"+version)
		if got := u.run(t, "go tool kubecluster help"); !strings.Contains(got, "kubecluster up") {
			t.Errorf("help = %q", got)
		}
		u.run(t, "go get -tool "+release.Root+"/wasm/cmd/kube-wasm@"+version)
		if got := u.run(t, "go tool kube-wasm -h"); !strings.Contains(got, "kube-wasm run") {
			t.Errorf("help = %q", got)
		}
	})
}

// publish publishes all modules to a proxy. All tests publish the same version, so that the build cache can be reused.
func publish(t *testing.T) (proxy, version string) {
	t.Helper()
	proxy = t.TempDir()
	modules := []string{"core", "client", "runtime", "derive", "kube", "kubetest", "tests/cluster", "wasm"}
	version, err := release.Publish("../..", proxy, modules)
	if err != nil {
		t.Fatal(err)
	}
	return proxy, version
}

// checkOutput checks the output of the first program in the README.
func checkOutput(t *testing.T, output string) {
	t.Helper()
	if !slices.Contains(strings.Split(output, "\n"), "default Active") {
		t.Errorf("the program prints %q, want a line for the namespace default", output)
	}
}

// readSteps returns the steps in the section of the README for users: the first program and the go commands before and
// after it.
func readSteps(t *testing.T, readme string) (before []string, program string, after []string) {
	t.Helper()
	_, section, ok := strings.Cut(readme, "\n## Use it\n")
	if !ok {
		t.Fatal("the README has no section Use it")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	head, rest, ok := strings.Cut(section, "\n```go\n")
	if !ok {
		t.Fatal("the README has no program")
	}
	program, rest, _ = strings.Cut(rest, "\n```\n")
	rest, _, _ = strings.Cut(rest, "\n```go\n") // ignore the other programs
	return goCommands(head), program + "\n", goCommands(rest)
}

// goCommands returns the go commands in the shell blocks of a text.
func goCommands(text string) []string {
	var commands []string
	for block := range strings.SplitSeq(text, "\n```") {
		if block, ok := strings.CutPrefix(block, "sh\n"); ok {
			for line := range strings.Lines(block) {
				if command, _, _ := strings.Cut(line, "#"); strings.HasPrefix(command, "go ") {
					commands = append(commands, strings.TrimSpace(command))
				}
			}
		}
	}
	return commands
}

// checkLinked checks that a program is linked with the given modules of the SDK, and that all its modules of the SDK
// are from the release.
func checkLinked(t *testing.T, program, version string, modules ...string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range info.Deps {
		name, ours := strings.CutPrefix(dep.Path, release.Root+"/")
		if ours && (dep.Version != version || dep.Replace != nil) {
			t.Errorf("%s is linked with %s %s (replaced by %v), want %s", program, dep.Path, dep.Version, dep.Replace, version)
		}
		modules = slices.DeleteFunc(modules, func(m string) bool { return m == name })
	}
	if len(modules) > 0 {
		t.Errorf("%s is not linked with %v", program, modules)
	}
}

// moduleCache is the module cache of all users, which is empty at first. It is the same directory for all of them and in
// each run, because go tool ignores -trimpath: with another directory, it would build all packages of a tool again.
var moduleCache = sharedDir{always: "../../.cache/e2e-modules"}

// sharedDir is a directory of all tests, which is empty at first.
type sharedDir struct {
	always string // its path, unless another run uses it; empty means that it is a temporary directory

	once sync.Once
	dir  string
	lock *os.File // of always
	err  error
}

// path returns the path of the directory. The first call creates it.
func (s *sharedDir) path(t *testing.T) string {
	t.Helper()
	s.once.Do(func() { s.err = s.create() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.dir
}

func (s *sharedDir) create() (err error) {
	if s.always != "" && s.acquire() {
		if s.dir, err = filepath.Abs(s.always); err != nil {
			return err
		}
		return errors.Join(os.RemoveAll(s.dir), os.Mkdir(s.dir, 0o755))
	}
	s.dir, err = os.MkdirTemp("", "e2e-shared-")
	return err
}

// acquire reports whether no other run uses the path.
func (s *sharedDir) acquire() bool {
	if os.MkdirAll(filepath.Dir(s.always), 0o755) != nil {
		return false
	}
	lock, err := os.OpenFile(s.always+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return false
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		lock.Close()
		return false
	}
	s.lock = lock
	return true
}

// remove removes the directory, if it was created.
func (s *sharedDir) remove() error {
	if s.dir == "" {
		return nil
	}
	err := os.RemoveAll(s.dir)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// user is a user of the SDK with an empty directory and a module cache, but without this repository.
type user struct {
	dir string
	env []string
}

// newUser returns a user who gets the modules of the SDK from the proxy. Other modules come from the module cache of
// this machine if possible, which is fast and needs no network. They were verified when they were downloaded, so the
// checksum database is not used.
func newUser(t *testing.T, proxy string) user {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOFLAGS", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	var env struct{ GOFLAGS, GOMODCACHE, GOPROXY string }
	if err := json.Unmarshal(out, &env); err != nil {
		t.Fatal(err)
	}
	file := func(dir string) string {
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	}
	proxies := []string{file(proxy), file(filepath.Join(env.GOMODCACHE, "cache", "download")), env.GOPROXY}
	// With -modcacherw, the test can remove the module cache. With -trimpath, the build cache does not depend on the
	// directory of the module cache. With CGO_ENABLED=0, it is shared with builds of static programs.
	flags := strings.TrimSpace(env.GOFLAGS + " -modcacherw -trimpath")
	u := user{dir: t.TempDir(), env: append(os.Environ(),
		"CGO_ENABLED=0", "GOFLAGS="+flags, "GOMODCACHE="+moduleCache.path(t), "GONOSUMDB=*",
		"GOPROXY="+strings.Join(proxies, ","), "GOWORK=off",
	)}
	if builtin != nil {
		u.env = append(u.env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	return u
}

func (u user) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command, which must succeed, and returns its output.
func (u user) run(t *testing.T, line string) string {
	t.Helper()
	args := strings.Fields(line)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = u.dir, u.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	began := time.Now()
	stdout, err := cmd.Output()
	fmt.Fprintf(recorder.Writer(args[0]), "%s%s", stdout, stderr.String())
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, stdout, stderr.String())
	}
	t.Logf("%5.1fs  %s", time.Since(began).Seconds(), line)
	return string(stdout)
}
