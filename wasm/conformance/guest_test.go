// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// patience is the time for which a case waits for what must happen. It is long, because the machine may be busy.
const patience = time.Minute

// program is a guest of the suite in one language.
type program struct {
	language          string
	actor, reconciler []byte
	compilation       string // a directory that keeps the compiled modules for all hosts
}

// programs are the guests that were built, by language. They and their compiled modules are in a directory that TestMain
// removes.
var programs = struct {
	mu  sync.Mutex // guards all
	all map[string]program
	dir string
}{all: map[string]program{}}

func TestMain(m *testing.M) {
	var err error
	if programs.dir, err = os.MkdirTemp("", "conformance-"); err != nil {
		panic(err)
	}
	m.Run()
	if err := os.RemoveAll(programs.dir); err != nil {
		panic(err)
	}
}

// buildProgram returns a guest, which the first call builds. It skips the test if the compiler of C is missing.
func buildProgram(t *testing.T, language string) program {
	t.Helper()
	if language == "C" {
		needC(t)
	}
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if p, ok := programs.all[language]; ok {
		return p
	}
	dir := filepath.Join(programs.dir, language)
	p := program{language: language, compilation: filepath.Join(dir, "compiled")}
	files := []string{filepath.Join(dir, "actor.wasm"), filepath.Join(dir, "reconciler.wasm")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for n, profile := range []string{"actor", "reconciler"} {
		cmd := exec.CommandContext(t.Context(), "../../scripts/wasm-guests", "build", files[n], "wasm/conformance/testdata/guest.c",
			"-D"+strings.ToUpper(profile))
		if language == "Go" {
			cmd = exec.CommandContext(t.Context(), "go", "build", "-tags", profile, "-buildmode=c-shared", "-ldflags=-s -w", "-o", files[n],
				"./testdata/guest")
			cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		}
		run(t, cmd)
	}
	for n, to := range []*[]byte{&p.actor, &p.reconciler} {
		var err error
		if *to, err = os.ReadFile(files[n]); err != nil {
			t.Fatal(err)
		}
	}
	programs.all[language] = p
	return p
}

// needC skips the test if the compiler of C is missing, or fails it if KUBECLUSTER_NODE says that it must run.
func needC(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../../scripts/wasm-guests", "check").CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("KUBECLUSTER_NODE") == "1":
		t.Fatalf("KUBECLUSTER_NODE is 1, but guests in C can't be built: run make wasm-guests: %s", out)
	default:
		t.Skipf("run make wasm-guests: %s", out)
	}
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
}

// records has the log records of a host.
type records struct {
	mu       sync.Mutex // guards the fields below
	byModule map[string][]record
	changed  chan struct{}
}

type record struct {
	text  string
	level slog.Level
	err   string // the attribute err
}

// of returns the records of a module.
func (r *records) of(module string) []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byModule[module] // only added to
}

// handler adds records to a log. It has the values of the attributes module and err.
type handler struct {
	to          *records
	module, err string
}

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithGroup(string) slog.Handler            { return h }

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		switch a.Key {
		case "module":
			h.module = a.Value.String()
		case "err":
			h.err = a.Value.String()
		}
	}
	return h
}

func (h handler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		h = h.WithAttrs([]slog.Attr{a}).(handler)
		return true
	})
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	h.to.byModule[h.module] = append(h.to.byModule[h.module], record{r.Message, r.Level, h.err})
	close(h.to.changed)
	h.to.changed = make(chan struct{})
	return nil
}

// world is a host with a fake server.
type world struct {
	*host.Host

	program program
	server  *server
	records *records
}

// newWorld runs a host until the test ends.
func newWorld(t *testing.T, p program, o host.Options) *world {
	t.Helper()
	w := &world{program: p, server: newServer(t)}
	w.records = &records{byModule: map[string][]record{}, changed: make(chan struct{})}
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{
		Server: w.server.URL, BearerToken: "a-secret-of-the-host",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger, o.CompilationDir, o.InitialBackoff = slog.New(handler{to: w.records}), p.compilation, time.Millisecond
	o.MaxFailures = cmp.Or(o.MaxFailures, 3)
	w.Host, err = host.New(t.Context(), c, &o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v, want the end of its context", err)
			}
		case <-time.After(patience):
			t.Error("Run has not returned after the end of its context")
		}
	})
	return w
}

// await waits until a condition is met. It looks again when the log or the server changes, and otherwise often.
func (w *world) await(t *testing.T, what string, met func() bool) {
	t.Helper()
	w.awaitFor(t, patience, what, met)
}

func (w *world) awaitFor(t *testing.T, patience time.Duration, what string, met func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		w.records.mu.Lock()
		logged := w.records.changed
		w.records.mu.Unlock()
		w.server.mu.Lock()
		changed := w.server.changed
		w.server.mu.Unlock()
		if met() {
			return
		}
		select {
		case <-logged:
		case <-changed:
		case <-time.After(20 * time.Millisecond): // the status of a module changes without notice
		case <-deadline:
			t.Fatalf("%s has not happened", what)
		}
	}
}

// logged returns the records of a module.
func (w *world) logged(module string) []record { return w.records.of(module) }

// status returns the state of a module.
func (w *world) status(name string) host.Status {
	for _, s := range w.Status() {
		if s.Name == name {
			return s
		}
	}
	return host.Status{Name: name}
}

// guest is a module that runs the guest of the suite.
type guest struct {
	*world

	t        *testing.T
	module   host.Module
	control  *control
	sequence int
}

// set adds a module, which is removed when the test ends.
func (w *world) set(t *testing.T, m host.Module) *guest {
	t.Helper()
	m.Limits.LogsPerSecond = cmp.Or(m.Limits.LogsPerSecond, 1<<20)
	m.Limits.RequestsPerSecond = cmp.Or(m.Limits.RequestsPerSecond, 1<<20)
	if m.Binary == nil {
		m.Binary = w.program.actor
	}
	g := &guest{world: w, t: t, module: m, control: w.server.control(m.Name)}
	if err := w.Set(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s := w.status(m.Name)
		w.Remove(context.Background(), m.Name)
		for _, line := range g.reports("!") {
			t.Errorf("the guest has noticed: %s", line)
		}
		if t.Failed() {
			g.dump(s)
		}
	})
	return g
}

// dump prints the last records of the module.
func (g *guest) dump(s host.Status) {
	all := g.logged(g.module.Name)
	g.t.Logf("status: %+v", s)
	for _, r := range all[max(0, len(all)-15):] {
		g.t.Logf("log: %v %.300s %s", r.level, r.text, r.err)
	}
}

// start adds a module that reads commands, and waits for it.
func (w *world) start(t *testing.T, m host.Module) *guest {
	t.Helper()
	m.Args = append(m.Args, "control")
	g := w.set(t, m)
	g.session(1)
	return g
}

// session waits until the n-th instance of the guest reads commands.
func (g *guest) session(n int) {
	g.t.Helper()
	g.await(g.t, fmt.Sprintf("start %d of module %s", n, g.module.Name), func() bool {
		g.server.mu.Lock()
		defer g.server.mu.Unlock()
		return g.control.sessions >= n
	})
}

// reports returns the rest of all reports that begin with a word.
func (g *guest) reports(word string) []string { return g.reportsFrom(0, word) }

// reportsFrom returns the rest of the reports that begin with a word, without the first records of the log.
func (g *guest) reportsFrom(record int, word string) []string {
	prefix := "@" + g.module.Name + " " + word
	var all []string
	for _, r := range g.logged(g.module.Name)[record:] {
		if text, ok := strings.CutPrefix(r.text, prefix); ok && (text == "" || text[0] == ' ') {
			all = append(all, strings.TrimPrefix(text, " "))
		}
	}
	return all
}

// send sends a command without waiting for its result.
func (g *guest) send(command string, args ...any) string {
	g.sequence++
	g.server.command(g.control, fmt.Sprintf("%d ", g.sequence)+fmt.Sprintf(command, args...))
	return fmt.Sprintf("= %d", g.sequence)
}

// do returns the result of a command.
func (g *guest) do(command string, args ...any) string {
	g.t.Helper()
	before := len(g.logged(g.module.Name))
	word := g.send(command, args...)
	result := ""
	g.await(g.t, fmt.Sprintf("the result of %.80s", fmt.Sprintf(command, args...)), func() bool {
		all := g.reportsFrom(before, word)
		if len(all) > 0 {
			result = all[len(all)-1]
		}
		return len(all) > 0
	})
	return result
}

// number returns the first number of the result of a command.
func (g *guest) number(command string, args ...any) int64 {
	g.t.Helper()
	first, _, _ := strings.Cut(g.do(command, args...), " ")
	n, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// wantCode checks that a command is refused.
func (g *guest) wantCode(want abi.Code, command string, args ...any) {
	g.t.Helper()
	g.wantCodes([]abi.Code{want}, command, args...)
}

// wantCodes checks that a command is refused with one of some codes.
func (g *guest) wantCodes(want []abi.Code, command string, args ...any) {
	g.t.Helper()
	if got := g.number(command, args...); got >= 0 || !slices.Contains(want, abi.Code(got)) {
		g.t.Errorf("%.80q = %d (%v), want %v", fmt.Sprintf(command, args...), got, abi.Code(got), want)
	}
}

// submit submits an operation in a mode, and returns its id.
func (g *guest) submit(mode string, op abi.Operation, message any) int64 {
	g.t.Helper()
	id := g.number("submit %s %d 0 %x", mode, op, encode(message))
	if id <= 0 {
		g.t.Fatalf("submit of operation %d = %v, want an id", op, abi.Code(id))
	}
	return id
}

// barrier returns when the host has delivered what it had for the guest at the time of the call.
func (g *guest) barrier() {
	g.t.Helper()
	g.last(g.submit("l", abi.OpDelay, abi.Delay{Millis: 20}))
	g.do("count")
}

// encode returns a message: JSON for a value, and bytes unchanged.
func encode(message any) []byte {
	switch m := message.(type) {
	case []byte:
		return m
	case string:
		return []byte(m)
	case abi.Request:
		return requestWith(m, nil)
	}
	data, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return data
}

// requestWith returns the message of a request with a body.
func requestWith(head abi.Request, body []byte) []byte {
	data, err := json.Marshal(head)
	if err != nil {
		panic(err)
	}
	message := append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data...)
	return append(message, body...)
}

func get(url string) abi.Request { return abi.Request{Method: "GET", URL: url} }

// item is an item that a guest has received. Zero bytes and line breaks of its text are spaces.
type item struct {
	id    int64
	flags abi.Flags
	size  int
	text  string
}

// items returns the items of an operation so far.
func (g *guest) items(id int64) []item {
	var all []item
	for _, line := range g.reports("+") {
		i := item{}
		words := strings.SplitN(line, " ", 4)
		i.id, _ = strconv.ParseInt(words[0], 10, 64)
		flags, _ := strconv.Atoi(words[1])
		i.flags = abi.Flags(flags)
		i.size, _ = strconv.Atoi(words[2])
		if len(words) > 3 {
			i.text = words[3]
		}
		if i.id == id {
			all = append(all, i)
		}
	}
	return all
}

// last waits for the last item of an operation, and returns all.
func (g *guest) last(id int64) []item {
	g.t.Helper()
	var all []item
	g.await(g.t, fmt.Sprintf("the last item of operation %d", id), func() bool {
		all = g.items(id)
		return len(all) > 0 && all[len(all)-1].flags&abi.FlagLast != 0
	})
	return all
}

// wantError checks that the last item of an operation is an error.
func (g *guest) wantError(id int64, want abi.Code) {
	g.t.Helper()
	all := g.last(id)
	end := all[len(all)-1]
	var e abi.Error
	if err := json.Unmarshal([]byte(end.text), &e); err != nil || end.flags&abi.FlagError == 0 {
		g.t.Fatalf("the last item of operation %d is %+v, want an error: %v", id, end, err)
	}
	if e.Code != want {
		g.t.Errorf("the code of operation %d is %d (%v), want %d (%v)", id, e.Code, &e, want, want)
	}
}

// wantResponse checks that the first item of an operation is a response.
func (g *guest) wantResponse(id int64, want int) {
	g.t.Helper()
	var head abi.Response
	first := g.last(id)[0]
	if err := json.Unmarshal([]byte(first.text), &head); err != nil || head.Status != want {
		g.t.Errorf("the first item of operation %d is %+v, want a response with status %d: %v", id, first, want, err)
	}
}

// body returns the texts of the items after the first.
func (g *guest) body(id int64) string {
	g.t.Helper()
	var text strings.Builder
	for _, i := range g.last(id)[1:] {
		text.WriteString(i.text)
	}
	return text.String()
}

// change is a change that a guest has received.
type change struct {
	abi.Change

	flags  abi.Flags
	size   int
	object object // nil if the report has only the beginning
}

// changes returns the changes of a watch so far, without the versions.
func (g *guest) changes(id int64) []change {
	g.t.Helper()
	return slices.DeleteFunc(g.allChanges(id), func(c change) bool { return c.Type == abi.ChangeSeen })
}

// allChanges returns the changes of a watch so far.
func (g *guest) allChanges(id int64) []change {
	g.t.Helper()
	var all []change
	for _, line := range g.reports("~") {
		var c change
		first, rest, _ := strings.Cut(line, " ")
		if first != strconv.FormatInt(id, 10) {
			continue
		}
		first, rest, _ = strings.Cut(rest, " ")
		flags, _ := strconv.Atoi(first)
		c.flags = abi.Flags(flags)
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&c.Change); err != nil {
			g.t.Fatalf("change %q: %v", line, err)
		}
		size, text, _ := strings.Cut(strings.TrimSpace(rest[d.InputOffset():]), " ")
		c.size, _ = strconv.Atoi(size)
		if err := json.Unmarshal([]byte(text), &c.object); err != nil && c.size > 0 && c.size < 1500 {
			g.t.Fatalf("object %q: %v", text, err)
		}
		all = append(all, c)
	}
	return all
}

// state returns the objects of a watch, as a guest knows them, by name.
func state(changes []change) map[string]change {
	known := map[string]change{}
	for _, c := range changes {
		if c.Type == abi.ChangeSet {
			known[c.Name] = c
		} else {
			delete(known, c.Name)
		}
	}
	return known
}

// synced waits until a watch is synced.
func (g *guest) synced(id int64) {
	g.t.Helper()
	g.await(g.t, fmt.Sprintf("the flag synced of operation %d", id), func() bool {
		return slices.ContainsFunc(g.items(id), func(i item) bool { return i.flags&abi.FlagSynced != 0 })
	})
}

// known waits until a guest knows exactly the objects of these names.
func (g *guest) known(id int64, names ...string) {
	g.t.Helper()
	slices.Sort(names)
	g.await(g.t, fmt.Sprintf("the state %v of operation %d", names, id), func() bool {
		var have []string
		for name := range state(g.changes(id)) {
			have = append(have, name)
		}
		slices.Sort(have)
		return slices.Equal(have, names)
	})
}

// version waits until a guest knows a version of an object.
func (g *guest) version(id int64, name, version string) change {
	g.t.Helper()
	var c change
	g.await(g.t, fmt.Sprintf("version %s of %s", version, name), func() bool {
		c = state(g.changes(id))[name]
		return c.ResourceVersion == version
	})
	return c
}

// statistics are what a guest has received of an operation.
type statistics struct {
	items, bytes, changes int
	flags                 abi.Flags
	held                  int
}

func (g *guest) statistics(id int64) statistics {
	g.t.Helper()
	var s statistics
	if _, err := fmt.Sscan(g.do("statistics %d", id), &s.items, &s.bytes, &s.changes, &s.flags, &s.held); err != nil {
		g.t.Fatal(err)
	}
	return s
}

// awaitStatistics asks a guest for the statistics of an operation until they meet a condition. It does not give up as
// long as they change.
func (g *guest) awaitStatistics(id int64, met func(statistics) bool) statistics {
	g.t.Helper()
	var last statistics
	deadline := time.Now().Add(patience)
	for {
		s := g.statistics(id)
		switch {
		case met(s):
			return s
		case s != last:
			last, deadline = s, time.Now().Add(patience)
		case time.Now().After(deadline):
			g.t.Fatalf("the statistics of operation %d are %+v", id, s)
		}
		<-time.After(2 * time.Millisecond) // the guest is as busy as the host
	}
}

// result decodes the JSON after the number of a result.
func result[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	_, data, _ := strings.Cut(text, " ")
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("result %.200q: %v", text, err)
	}
	return v
}

// unhex decodes the text of /test/echo.
func unhex(t *testing.T, text string) string {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
