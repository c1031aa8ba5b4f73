// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/tests/e2e/internal/release"
)

// TestGoGet promises that whoever does what the README says, in an empty directory and with nothing but a release, gets
// a program that works.
func TestGoGet(t *testing.T) {
	began := time.Now()
	proxy, version := rehearse(t)
	t.Logf("%5.1fs  released as %s", time.Since(began).Seconds(), version)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, program, after := useIt(t, string(readme))

	u := newStranger(t, proxy)
	u.run(t, "go mod init example.com/hello")
	for _, command := range before {
		u.run(t, strings.Replace(command, release.Root+"/kube", release.Root+"/kube@"+version, 1))
	}
	u.write(t, "main.go", program)
	if !slices.Contains(after, "go run .") {
		t.Fatalf("after its first program the README tells to %q, and not how to run it", after)
	}
	for _, command := range after {
		if got := u.run(t, command); strings.HasPrefix(command, "go run") {
			namesTheDefaultNamespace(t, got)
		}
	}

	u.run(t, "go vet ./...")
	u.run(t, "go build -o hello .")
	released(t, filepath.Join(u.dir, "hello"), version, "core", "client", "kube")
	namesTheDefaultNamespace(t, u.run(t, "./hello"))

	t.Run("the commands of the SDK are a go get away", func(t *testing.T) {
		u.run(t, "go get -tool "+release.Root+"/derive/cmd/kube-derive@"+version)
		if got := u.run(t, "go tool kube-derive --help"); !strings.Contains(got, "kube-derive") {
			t.Errorf("its help is %q", got)
		}
		u.run(t, "go get -tool "+release.Root+"/tests/cluster/cmd/kubecluster@"+version)
		if got := u.run(t, "go tool kubecluster help"); !strings.Contains(got, "kubecluster up") {
			t.Errorf("its help is %q", got)
		}
	})
}

// rehearse releases all modules to a proxy. All tests release the same, so that what it takes to build them is done once.
func rehearse(t *testing.T) (proxy, version string) {
	t.Helper()
	proxy = t.TempDir()
	version, err := release.Publish("../..", proxy, []string{"core", "client", "runtime", "derive", "kube", "tests/cluster"})
	if err != nil {
		t.Fatal(err)
	}
	return proxy, version
}

// namesTheDefaultNamespace checks what the README's first program prints.
func namesTheDefaultNamespace(t *testing.T, printed string) {
	t.Helper()
	if !slices.Contains(strings.Split(printed, "\n"), "default Active") {
		t.Errorf("the program prints %q, which does not name the namespace default", printed)
	}
}

// useIt returns what the README's section for users tells them to do: the first program in it, and the go commands
// before and after that.
func useIt(t *testing.T, readme string) (before []string, program string, after []string) {
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
	rest, _, _ = strings.Cut(rest, "\n```go\n") // the next program is another story
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

// released checks that a program was linked with these modules of ours, and with none that is not from the release.
func released(t *testing.T, program, version string, modules ...string) {
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
		t.Errorf("%s is linked without %v", program, modules)
	}
}

// stranger is somebody with an empty directory and a module cache of their own, who has never seen this repository.
type stranger struct {
	dir string
	env []string
}

// newStranger returns one who gets modules from the proxy and, so that it is quick and needs no network, from the module
// cache of this machine before its proxy. What that cache holds was verified when it came: here the database of sums is
// not asked again.
func newStranger(t *testing.T, proxy string) stranger {
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
	// Without -modcacherw the cache could not be removed. With -trimpath a package is built once, and not once for each
	// directory that a cache is in. Without a C compiler it is not built anew for programs that are to be static.
	flags := strings.TrimSpace(env.GOFLAGS + " -modcacherw -trimpath")
	u := stranger{dir: t.TempDir(), env: append(os.Environ(),
		"CGO_ENABLED=0", "GOFLAGS="+flags, "GOMODCACHE="+t.TempDir(), "GONOSUMDB=*", "GOPROXY="+strings.Join(proxies, ","), "GOWORK=off")}
	if builtin != nil {
		u.env = append(u.env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	return u
}

func (u stranger) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command, which must succeed, and returns what it prints.
func (u stranger) run(t *testing.T, line string) string {
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
