// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
)

// guest returns the test guest of package host. It is compiled once.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, "../../host/testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(file)
})

// guestFile writes the test guest to a file.
func guestFile(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, dir, name, data)
}

func writeFile(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// describes returns a module with a description.
func describes(t *testing.T, d abi.Description) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return registrytest.Guest{Description: text}.Module()
}

// call runs the command.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestCommandLineMistakesNameTheFlagAndTheRemedy(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "missing command",
		"fly":                               `unknown command "fly"`,
		"run":                               "name a file, or set -dir or -controller",
		"run -fly":                          "-fly",
		"run -dir d -- x":                   "no file is named",
		"run -dir d -files f":               "-files has no effect without -controller",
		"run -controller -images x":         "-images has no effect without -controller and -cache",
		"run -controller -account a/b":      "-account has no effect",
		"run -controller -record d":         "-record has no effect without a file or -dir",
		"replay a":                          "replay takes a module and a recording, not 1",
		"run -controller -origin http://a":  "-origin has no effect without a file or -dir",
		"run -dir a -origin http://a/":      `-origin: "http://a/" is not an origin`,
		"run -dir a -allow-origin http://a": "-allow-origin has no effect without -controller",
		"run a.wasm -account b":             `-account is "b", want NAMESPACE/NAME`,
		"run a.wasm x/a.wasm":               "have the same name",
		"run -controller -cache c -plain-http= -d": "plain-http",
		"inspect":           "inspect takes one file, not 0",
		"inspect a b":       "not 2",
		"role a -account b": `role: -account is "b"`,
	} {
		code, _, stderr := call(t, strings.Fields(args)...)
		if code != 2 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "kube-wasm help") {
			t.Errorf("kube-wasm %s: exit code %d, %s", args, code, stderr)
		}
	}
	for _, args := range [][]string{
		{"run", "a.wasm", "-account", ""}, {"run", "-controller", "-namespace="}, {"role", "a", "-namespace", ""},
	} {
		code, _, stderr := call(t, args...)
		if code != 2 || !strings.Contains(stderr, "is empty") || !strings.Contains(stderr, "kube-wasm help") {
			t.Errorf("kube-wasm %q: exit code %d, %s", args, code, stderr)
		}
	}
	for _, args := range [][]string{{"help"}, {"run", "-h"}, {"role", "--help"}} {
		if code, stdout, _ := call(t, args...); code != 0 || !strings.HasPrefix(stdout, "kube-wasm runs") {
			t.Errorf("%v: exit code %d, %s", args, code, stdout)
		}
	}
}

func TestAnInvalidAccountIsReportedOnce(t *testing.T) {
	_, _, stderr := call(t, "run", "a.wasm", "-account", "b", "-origin", "http://a", "-record", "d")
	if n := strings.Count(stderr, "want NAMESPACE/NAME"); n != 1 {
		t.Errorf("the account is reported %d times:\n%s", n, stderr)
	}
}

func TestFlagsMayFollowFiles(t *testing.T) {
	s, err := parseRun([]string{"a.wasm", "-account", "n/a", "b.wasm", "--", "-x", "y"})
	if err != nil || fmt.Sprint(s.files, s.args) != "[a.wasm b.wasm] [-x y]" || s.account != "n/a" {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = parseRun(strings.Fields("-controller -cache c -plain-http a -plain-http b -images x/ -health-addr :1"))
	if err != nil || len(s.registry.PlainHTTP) != 2 || s.registry.Prefixes[0] != "x/" || s.manager.HealthAddr != ":1" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestInspectPrintsWhatAModuleIs(t *testing.T) {
	code, stdout, stderr := call(t, "inspect", guestFile(t, t.TempDir(), "a.wasm"))
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{
		"digest       sha256:", "bytes\n", "name         test\n", "interface    kube_v1\n", "profile      actor\n",
		"import       kube_v1 submit\n", "export       kube_start\n", "import       wasi_snapshot_preview1 poll_oneoff\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing:\n%s", want, stdout)
		}
	}
}

func TestInspectEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		sleep(ctx, int64(time.Hour))
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("a module that sleeps delays the end")
	}
}

func TestInspectPrintsModulesThatHostsRefuse(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		module []byte
		want   string
	}{
		"an empty module": {[]byte("\x00asm\x01\x00\x00\x00"), "description  none: it does not export kube_describe"},
		"garbage":         {registrytest.Guest{Description: []byte("x")}.Module(), "description  none: kube_describe: "},
		"a terminal":      {describes(t, abi.Description{Name: "a\x1b[2J\nname b"}), "name         a\uFFFD[2J\uFFFDname b\n"},
		"a long name": {
			describes(t, abi.Description{Name: strings.Repeat("x", 1000)}), strings.Repeat("x", maxText) + "…\n",
		},
		"a rule": {
			describes(t, abi.Description{Rules: []abi.Rule{
				{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
			}}),
			`rule         ["get"] of ["pods"] in [""]`,
		},
	} {
		code, stdout, stderr := call(t, "inspect", writeFile(t, dir, "a.wasm", c.module))
		if code != 0 || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: exit code %d, %s%s", name, code, stdout, stderr)
		}
	}
	code, _, stderr := call(t, "inspect", writeFile(t, dir, "a.wasm", []byte("garbage")))
	if code != 1 || !strings.Contains(stderr, "not a WebAssembly module") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestRolePrintsThePermissionsOfAModule(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "a.wasm", describes(t, abi.Description{Name: "hello", Rules: []abi.Rule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"a: b\n- c"}, Resources: []string{"x"}, Verbs: []string{"*"}},
	}}))
	code, stdout, stderr := call(t, "role", file, "-namespace", "prod", "-account", "prod/reader")
	want := `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: "hello"
  namespace: "prod"
rules:
- apiGroups: [""]
  resources: ["configmaps"]
  verbs: ["get", "list"]
- apiGroups: ["a: b\n- c"]
  resources: ["x"]
  verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: "hello"
  namespace: "prod"
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: "hello"
subjects:
- kind: ServiceAccount
  namespace: "prod"
  name: "reader"
`
	if code != 0 || stdout != want {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	code, stdout, _ = call(t, "role", file, "-name", "other")
	if code != 0 || !strings.Contains(stdout, "kind: ClusterRole\n") || !strings.Contains(stdout, `name: "other"`) ||
		strings.Contains(stdout, "Binding") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	for name, module := range map[string][]byte{
		"has no rules in its description": describes(t, abi.Description{Name: "hello"}),
		"does not describe itself":        []byte("\x00asm\x01\x00\x00\x00"),
		"is invalid: set -name": describes(t, abi.Description{Name: "A B", Rules: []abi.Rule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		}}),
	} {
		code, stdout, stderr = call(t, "role", writeFile(t, dir, "b.wasm", module))
		if code != 1 || stdout != "" || !strings.Contains(stderr, name) {
			t.Errorf("%s: exit code %d, %s%s", name, code, stdout, stderr)
		}
	}
}

func TestAccountsHaveANamespaceAndAName(t *testing.T) {
	for text, ok := range map[string]bool{"a/b": true, "a": false, "/b": false, "a/": false, "a/b/c": false} {
		ref, got := parseAccount(text)
		if got != ok || ok && ref != (core.ObjectRef{Namespace: "a", Name: "b"}) {
			t.Errorf("%s: %v, %v", text, ref, got)
		}
	}
}

// TestModulesOfFilesHaveTheNamespaceOfTheirIdentity has a module with a service account, and one with the credentials
// of the kubeconfig.
func TestModulesOfFilesHaveTheNamespaceOfTheirIdentity(t *testing.T) {
	for account, want := range map[string]string{"": "team", "apps/hello": "apps"} {
		l := &local{settings: &settings{account: account}, namespace: "team"}
		if m := l.module("a", &registry.Module{}, nil); m.Namespace != want {
			t.Errorf("-account %q: the namespace is %q, want %q", account, m.Namespace, want)
		}
	}
}

func TestDifferencesNameFieldsButNoValues(t *testing.T) {
	for _, tt := range []struct{ recorded, now, want string }{
		{`{"data":{"a":"secret1","b":"x"},"n":1}`, `{"data":{"a":"secret2","b":"x"},"m":[2]}`, "other values of .data.a, .m, .n"},
		{"secret1", "secret2", "another body"},
		{"", `{"a":"secret1"}`, "not in the recording"},
		{`{"a":"secret1"}`, "", "only in the recording"},
	} {
		d := host.Difference{Recorded: []byte(tt.recorded), Now: []byte(tt.now)}
		if tt.recorded == "" {
			d.Recorded = nil
		}
		if tt.now == "" {
			d.Now = nil
		}
		if got := difference(d); got != tt.want {
			t.Errorf("difference(%s, %s) = %q, want %q", tt.recorded, tt.now, got, tt.want)
		}
	}
}

func TestSubjectsOfOtherServersAreTheirOrigins(t *testing.T) {
	for in, want := range map[string]string{
		"PATCH /api/v1/namespaces/a/configmaps/b?force=true": "PATCH /api/v1/namespaces/a/configmaps/b?force=true",
		"POST /api/v1/namespaces/a/services/https:b/proxy/":  "POST /api/v1/namespaces/a/services/https:b/proxy/",
		"result of c for a/b":                                "result of c for a/b",
		"POST https://a.example.com":                         "POST https://a.example.com/… (e3b0c442)",
		"POST https://a.example.com:1/T/x":                   "POST https://a.example.com:1/… (1503ae05)",
		"POST https://u:p@a.example.com?x":                   "POST https://a.example.com/… (fbd490d1)",
		"POST https://a.example.com#%zz":                     "POST https://a.example.com/… (7d4304c0)",
	} {
		if got := withoutPath(in); got != want {
			t.Errorf("withoutPath(%q) = %q, want %q", in, got, want)
		}
	}
}

// recordingOf writes a recording with a request of a method to a URL.
func recordingOf(t *testing.T, dir, method, url string) string {
	t.Helper()
	head, err := json.Marshal(abi.Request{Method: method, URL: url})
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("kube_v1 tape 1\n")
	id := "\x01\x00\x00\x00\x00\x00\x00\x00"
	for _, frame := range []string{`h{"name":"a"}`, "s1 0 " + string(abi.AppendFrame(nil, head)), "i" + id} {
		data = append(data, frame[0])
		data = append(binary.AppendUvarint(data, uint64(len(frame)-1)), frame[1:]...)
	}
	return writeFile(t, dir, "a.tape", data)
}

// TestCompareCleansWhatItPrints has a URL that looks like another line, and that clears a terminal.
func TestCompareCleansWhatItPrints(t *testing.T) {
	dir := t.TempDir()
	module := writeFile(t, dir, "a.wasm", describes(t, abi.Description{}))
	recording := recordingOf(t, dir, "DELETE", "/x\x1b[2J\n0 calls, 9 writes are the same, 0 differ")
	code, stdout, stderr := call(t, "compare", module, recording)
	want := "DELETE /x\uFFFD[2J\uFFFD0 calls, 9 writes are the same, 0 differ: only in the recording\n" +
		"0 calls, 0 writes are the same, 1 differ\n"
	if code != 1 || stdout != want {
		t.Errorf("exit code %d, %s\n%q, want\n%q", code, stderr, stdout, want)
	}
}

func TestInterruptedCommandFails(t *testing.T) {
	dir := t.TempDir()
	module := writeFile(t, dir, "a.wasm", describes(t, abi.Description{}))
	recording := recordingOf(t, dir, "GET", "/x")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, []string{"compare", module, recording}, &stdout, &stderr); code != 1 || stderr.Len() == 0 {
		t.Errorf("exit code %d, %q%q, want 1 and an error", code, &stdout, &stderr)
	}
}

// journal is a log that can be waited for.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
	more chan struct{}
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case j.more <- struct{}{}:
	default:
	}
	return j.text.Write(p)
}

func (j *journal) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		j.mu.Lock()
		got := j.text.String()
		j.mu.Unlock()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-j.more:
		case <-deadline:
			t.Fatalf("the log does not contain %q:\n%s", text, got)
		}
	}
}

// freeAddress returns an address at which nothing listens. Linux has many loopback addresses, so it is not one that
// another program gets meanwhile.
func freeAddress(t *testing.T) string {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254))
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// fetch returns a page of a server.
func fetch(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s = %s, %v", url, resp.Status, err)
	}
	return string(body)
}

func TestRunRunsModulesOfFilesAndOfADirectory(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := writeFile(t, t.TempDir(), "config", []byte(`{"apiVersion":"v1","kind":"Config","current-context":"a",
"clusters":[{"name":"a","cluster":{"server":"http://127.0.0.1:1"}}],
"contexts":[{"name":"a","context":{"cluster":"a"}}]}`))
	file := writeFile(t, t.TempDir(), "file.wasm", registrytest.Guest{Log: "hello"}.Module())
	writeFile(t, dir, "bad.wasm", []byte("\x00asm\x01\x00\x00\x00garbage"))
	log := &journal{more: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan int)
	tapes := filepath.Join(t.TempDir(), "tapes")
	metrics, debug := freeAddress(t), freeAddress(t)
	go func() {
		result <- run(ctx, []string{
			"run", "-kubeconfig", kubeconfig, "-cache", t.TempDir(), "-record", tapes, "-metrics-addr", metrics,
			"-debug-addr", debug, "-dir", dir, file, "--", "x",
		}, log, log)
	}()
	log.await(t, "msg=hello module=file")
	if page := fetch(t, "http://"+metrics+"/metrics"); !strings.Contains(page, `kube_wasm_starts_total{module="file"} 1`) {
		t.Errorf("the metrics have no module:\n%s", page)
	}
	if page := fetch(t, "http://"+debug+"/debug/controllers/data"); !strings.Contains(page, `"WebAssembly modules"`) {
		t.Errorf("the debug page has no table of modules:\n%s", page)
	}
	log.await(t, `msg="the module can't run" module=bad`)
	writeFile(t, dir, "added.wasm", registrytest.Guest{Log: "hello", Fails: true}.Module())
	log.await(t, `msg="module has failed" module=added`)
	if err := os.Remove(filepath.Join(dir, "added.wasm")); err != nil {
		t.Fatal(err)
	}
	log.await(t, `msg="module is removed" module=added`)
	stop()
	if code := <-result; code != 0 {
		t.Errorf("exit code %d", code)
	}
	recorded, err := filepath.Glob(filepath.Join(tapes, "file-*"+recordings))
	if err != nil || len(recorded) != 1 {
		t.Fatalf("the recordings of the module are %q, %v", recorded, err)
	}
	code, stdout, stderr := call(t, "replay", file, recorded[0])
	if code != 0 || !strings.Contains(stdout, "calls are the same") {
		t.Errorf("replay: exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = call(t, "compare", file, recorded[0])
	if code != 0 || !strings.Contains(stdout, "0 writes are the same, 0 differ") {
		t.Errorf("compare: exit code %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := call(t, "role", file, "-recording", recorded[0]); code != 1 ||
		!strings.Contains(stderr, "has used no permissions") {
		t.Errorf("role of a module without requests: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := call(t, "replay", guestFile(t, t.TempDir(), "a.wasm"), recorded[0]); code != 1 ||
		!strings.Contains(stderr, "the recording is of the module") {
		t.Errorf("replay with another module: exit code %d, %s", code, stderr)
	}
	for args, want := range map[string]string{
		"run none.wasm":               "none.wasm",
		"run -dir none":               "-dir: ",
		"run -kubeconfig none -dir .": "-kubeconfig: ",
		"run -controller -files none": "Options.Files",
		"run -controller -cache " + file + " -docker-config x": "-cache: ",
	} {
		args := strings.Fields(args)
		if args[1] != "-kubeconfig" {
			args = append(args, "-kubeconfig", kubeconfig)
		}
		if code, _, stderr := call(t, args...); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestModulesEndWhileAnotherOneIsSet has a module whose replacement waits two seconds for its end.
func TestModulesEndWhileAnotherOneIsSet(t *testing.T) {
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	log := &journal{more: make(chan struct{}, 1)}
	logger := slog.New(slog.NewTextHandler(log, nil))
	h, err := host.New(t.Context(), c, &host.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = h.Run(ctx) }) // it returns the end of its context
	defer all.Wait()
	defer stop()
	logs := []byte{0x41, 0, 0x41, 0x80, 0x08, 0x41, 5, 0x10, 0}        // log(0, 1024, 5)
	loops := []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x01, 0x01, 0x01, 0x01} // loop, br 0, end, nop…
	binary := bytes.Replace(registrytest.Guest{Log: "hello"}.Module(), logs, loops, 1)
	m := host.Module{Name: "replaced", Binary: binary, Limits: host.Limits{CallTimeout: 10 * time.Minute}}
	if err := h.Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(h.Status(), func(s host.Status) bool { return s.Name == name && s.Stats.Calls > 0 })
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for range 60_000 {
			if done() {
				return
			}
			<-time.After(time.Millisecond)
		}
		t.Fatalf("%s does not happen:\n%s", what, &log.text)
	}
	await("the call that does not return", func() bool { return has("replaced") })
	dir := t.TempDir()
	writeFile(t, dir, "replaced.wasm", registrytest.Guest{}.Module())
	l := &local{
		settings: &settings{dir: dir}, host: h, logger: logger, names: make(map[string]bool),
		files: map[string]*registry.Module{"other": {Binary: registrytest.Guest{Log: "other"}.Module()}},
	}
	term, lose := context.WithCancel(ctx)
	defer lose()
	all.Go(func() {
		if err := l.Run(term); err != context.Canceled || len(h.Status()) > 0 {
			t.Errorf("Run = %v, with %d modules in the host, want the end of its context and none", err, len(h.Status()))
		}
	})
	await("the replacement", func() bool { return has("other") && !has("replaced") })
	lose()
	await("the end of the other module", func() bool { return !has("other") })
	log.mu.Lock()
	defer log.mu.Unlock()
	if strings.Contains(log.text.String(), "module=replaced") {
		t.Errorf("the other module has ended after the replacement:\n%s", &log.text)
	}
}

// interrupted is a context that ends after the first look at it.
type interrupted struct {
	context.Context //nolint:containedctx // it is a context
	looks           atomic.Int32
}

func (i *interrupted) Err() error {
	if i.looks.Add(1) == 1 {
		return nil
	}
	return i.Context.Err()
}

// TestAnInterruptIsNotAnErrorOfAModule checks that nothing is logged for a module whose compilation is interrupted.
func TestAnInterruptIsNotAnErrorOfAModule(t *testing.T) {
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, dir, "a.wasm", registrytest.Guest{}.Module())
	var log bytes.Buffer
	l := &local{
		settings: &settings{dir: dir}, host: h, logger: slog.New(slog.NewTextHandler(&log, nil)),
		names: make(map[string]bool), dir: registry.NewDirectory(dir),
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	l.poll(&interrupted{Context: ended})
	if log.Len() > 0 || len(l.names) > 0 {
		t.Errorf("with the modules %v, the log is\n%s", l.names, &log)
	}
}

// TestModuleIsSetAgainAfterAnErrorOfTheHost has a certificate authority that is replaced while modules are set.
func TestModuleIsSetAgainAfterAnErrorOfTheHost(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := writeFile(t, t.TempDir(), "ca.pem", ca)
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server.URL, CAFile: file}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, dir, "a.wasm", registrytest.Guest{}.Module())
	var log bytes.Buffer
	l := &local{
		settings: &settings{dir: dir}, host: h, logger: slog.New(slog.NewTextHandler(&log, nil)),
		names: make(map[string]bool), unset: make(map[string]attempt), dir: registry.NewDirectory(dir),
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	l.poll(t.Context())
	named := &registry.Module{Binary: registrytest.Guest{Log: "file"}.Module()}
	if err := l.set(t.Context(), attempt{module: l.module("file", named, nil)}); err != nil {
		t.Errorf("an error of the host ends the program: %v", err)
	}
	for range 3 {
		if err := l.setAgain(t.Context()); err != nil {
			t.Errorf("an error of the host ends the program: %v", err)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 2 || len(h.Status()) > 0 {
		t.Errorf("the log has %d warnings, want one for each module:\n%s", n, &log)
	}
	writeFile(t, filepath.Dir(file), "ca.pem", ca)
	if err := l.setAgain(t.Context()); err != nil || len(h.Status()) != 2 || len(l.unset) > 0 {
		t.Errorf("when the host can run modules again, it has %+v, %v", h.Status(), err)
	}
	writeFile(t, dir, "bad.wasm", []byte("\x00asm\x01\x00\x00\x00garbage"))
	for range 2 {
		l.poll(t.Context())
	}
	if len(l.unset) > 0 {
		t.Errorf("the host sets an invalid module again: %v", l.unset)
	}
}
