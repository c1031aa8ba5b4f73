// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/wasm/host"
)

// buildInC builds a module in C. It skips the test if the compiler is missing, or fails it if KUBECLUSTER_NODE says
// that it must run.
func buildInC(t *testing.T, source string) []byte {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "../../scripts/wasm-guests", "check").CombinedOutput(); err != nil {
		if os.Getenv("KUBECLUSTER_NODE") == "1" {
			t.Fatalf("KUBECLUSTER_NODE is 1, but guests in C can't be built: run make wasm-guests: %s", out)
		}
		t.Skipf("run make wasm-guests: %s", out)
	}
	file := filepath.Join(t.TempDir(), "module.wasm")
	build := exec.CommandContext(t.Context(), "../../scripts/wasm-guests", "build", file, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// builtInGo has a function for each package that returns its module or an error, see buildInGo.
var builtInGo sync.Map

// buildInGo builds a module in Go from a package, in the folder wasm/host. Each package is built once.
func buildInGo(t *testing.T, program string) []byte {
	t.Helper()
	build, _ := builtInGo.LoadOrStore(program, sync.OnceValues(func() ([]byte, error) {
		file := filepath.Join(t.TempDir(), "module.wasm")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-tags=nethttpomithttp2",
			"-ldflags=-s -w", "-o", file, program)
		cmd.Dir, cmd.Env = "../../wasm/host", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", program, err, out)
		}
		return os.ReadFile(file)
	}))
	binary, err := build.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// compiledGuests keeps the modules that hosts have compiled, because several tests run the same modules. The hosts of
// TestExamplesBehaveTheSameAsModules do not use it, like hosts with default options.
var compiledGuests sharedDir

// another returns a module that does the same and has another digest: it has a custom section more.
func another(binary []byte) []byte { return append(slices.Clone(binary), 0, 2, 1, 'x') }

// crowd is many modules in one host.
type crowd struct {
	client    *kube.Client
	sent      *requests // by the client of the host
	host      *host.Host
	log       *wasmHost
	ns, other string // the namespace of the modules, and one that they may not read

	mu      sync.Mutex // guards modules
	modules map[string]host.Module
}

// newCrowd runs a host without modules.
func newCrowd(t *testing.T, o host.Options) *crowd {
	t.Helper()
	c := &crowd{sent: &requests{}}
	c.client = connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{c.sent.layer}})
	c.ns, c.other = newNamespace(t, c.client), newNamespace(t, c.client)
	c.run(t, c.client, o)
	return c
}

// run runs a host without modules.
func (c *crowd) run(t *testing.T, client *kube.Client, o host.Options) {
	t.Helper()
	c.log, c.modules = &wasmHost{log: &guarded[string]{}}, map[string]host.Module{}
	o.Logger, o.InitialBackoff, o.MaxFailures = slog.New(slog.NewTextHandler(c.log, nil)), 50*time.Millisecond, 3
	o.CompilationDir = compiledGuests.path(t)
	var err error
	if c.host, err = host.New(t.Context(), client, &o); err != nil {
		t.Fatal(err)
	}
	background(t, c.host.Run)
}

// whileCompiling returns a context for the compilation of a module. With the race detector, a guest in Go takes minutes
// on a slow machine.
func whileCompiling(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// set adds or replaces a module.
func (c *crowd) set(t *testing.T, account string, m host.Module) {
	t.Helper()
	m.Namespace = c.ns
	m.ServiceAccount = kube.ObjectRef{Namespace: c.ns, Name: account}
	if err := c.host.Set(whileCompiling(t), m); err != nil {
		t.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modules[m.Name] = m
}

// status returns the state of a module.
func (c *crowd) status(name string) host.Status {
	for _, s := range c.host.Status() {
		if s.Name == name {
			return s
		}
	}
	return host.Status{Name: name}
}

// logged returns the records in the log of a module that contain a text.
func (c *crowd) logged(name, text string) (records []string) {
	for line := range strings.Lines(c.log.log.get()) {
		if line = strings.TrimSpace(line); strings.Contains(line+" ", " module="+name+" ") && strings.Contains(line, text) {
			records = append(records, line)
		}
	}
	return records
}

// texts returns the texts that the modules have written, by the names of the objects.
func (c *crowd) texts(ctx context.Context) (map[string]string, error) {
	got := map[string]string{}
	for cm, err := range kube.Namespaced[corev1.ConfigMap](c.client, c.ns).All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		got[cm.Name] = cm.Data["text"]
	}
	return got, nil
}

// right returns an error unless the objects of each greeter whose name has a prefix are those of the sources.
func (c *crowd) right(ctx context.Context, prefix string, sources map[string]string) error {
	got, err := c.texts(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, m := range c.modules {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		for source, value := range sources {
			if text := got[name+"-"+source]; text != m.Args[2]+" "+value {
				return fmt.Errorf("module %s has written %q for %s, want %q", name, text, source, m.Args[2]+" "+value)
			}
		}
	}
	return nil
}

// awaitRight waits until the objects of each greeter whose name has a prefix are those of the sources.
func (c *crowd) awaitRight(t *testing.T, what, prefix string, sources map[string]string) {
	t.Helper()
	eventually(t, what, func(ctx context.Context) error { return c.right(ctx, prefix, sources) })
}

// account creates a service account that may read and write the ConfigMaps of the namespace of the modules, or only
// those with the given names.
func (c *crowd) account(t *testing.T, name string, only ...string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := kube.Namespaced[corev1.ServiceAccount](c.client, c.ns).Create(limit(t), account, nil); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: only,
		Verbs: []string{"get", "list", "watch", "create", "patch"},
	}}}
	if _, err := kube.Namespaced[rbacv1.Role](c.client, c.ns).Create(limit(t), role, nil); err != nil {
		t.Fatal(err)
	}
	c.bind(t, name)
}

// bind binds a service account to its role.
func (c *crowd) bind(t *testing.T, name string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.ns, Name: name}},
	}
	if _, err := kube.Namespaced[rbacv1.RoleBinding](c.client, c.ns).Create(limit(t), binding, nil); err != nil {
		t.Fatal(err)
	}
}

// write creates or updates a ConfigMap that the greeters read.
func (c *crowd) write(ctx context.Context, ns, name, value string) error {
	_, err := kube.Namespaced[corev1.ConfigMap](c.client, ns).Apply(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: map[string]string{"greet": "please"}},
		Data:       map[string]string{"value": value},
	}, &kube.ApplyOptions{FieldManager: "test", Force: true})
	return err
}

// writeAll creates or updates the sources.
func (c *crowd) writeAll(t *testing.T, sources map[string]string, value string) {
	t.Helper()
	for name := range sources {
		sources[name] = value
		if err := c.write(limit(t), c.ns, name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// misbehavior is what a hostile module does, and how the host contains it.
type misbehavior struct {
	number, path string // arguments
	limits       host.Limits

	fails string                     // the error of a module that is quarantined; empty if the module runs
	says  string                     // what the module has logged
	check func(s host.Status) string // what is wrong with the state; nil if nothing can be
}

// misbehaviors returns a hostile module of each kind.
func misbehaviors(ns string) map[string]misbehavior {
	configMaps, began := "/api/v1/namespaces/"+ns+"/configmaps", time.Now()
	patient := host.Limits{CallTimeout: time.Minute} // of those that do not fail, on a slow machine
	return map[string]misbehavior{
		"trap":    {fails: "unreachable"},
		"loop":    {fails: "time limit", limits: host.Limits{CallTimeout: time.Second}},
		"invalid": {fails: "time limit", limits: host.Limits{CallTimeout: time.Second}}, // calls of the host in a loop
		"memory": {
			fails: "unreachable", limits: host.Limits{MemoryBytes: 64 << 20, CallTimeout: time.Minute},
			says: "has allocated ",
		},
		"deadlock": {fails: "time limit", limits: host.Limits{CallTimeout: time.Second}},
		"write":    {says: "fd_write 0", limits: patient},
		"bodies": {number: "1000", path: configMaps + "/none", says: `then -4"`, limits: patient, check: func(s host.Status) string {
			if s.Stats.BufferBytes > 80<<20 {
				return "it uses more memory of the host than its limit"
			}
			return ""
		}},
		"requests": {number: "1000", path: configMaps, says: `then -4"`, limits: patient, check: func(s host.Status) string {
			switch sent := float64(s.Stats.Requests); {
			case sent < 150:
				return "it has not sent more requests than the burst"
			case sent > 101+50*time.Since(began).Seconds():
				return "it has sent more than 50 requests per second"
			}
			return ""
		}},
		"logs": {number: "5000", limits: patient, check: func(s host.Status) string {
			if s.Stats.Dropped == 0 {
				return "none of its log records was dropped"
			}
			return ""
		}},
		"watches":   {number: "1000", says: "accepted 128", limits: patient},
		"cancelled": {number: "5000", says: "accepted 5000", limits: patient},
		"call":      {number: configMaps + "?watch=true", says: "returned -", limits: patient}, // a response without an end
	}
}

// contained returns an error unless a hostile module has misbehaved, and the host has contained it.
func (c *crowd) contained(name string, m misbehavior) error {
	s := c.status(name)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("module %s: %s: %+v", name, fmt.Sprintf(format, args...), s)
	}
	if len(c.logged(name, m.says)) == 0 {
		return wrong("it has not logged %q", m.says)
	}
	if m.check != nil {
		if text := m.check(s); text != "" {
			return wrong("%s", text)
		}
	}
	if m.fails == "" {
		if s.Phase != host.Running && s.Phase != host.Unloaded || s.Failures != 0 || s.Stats.Starts != 1 {
			return wrong("it does not run since its first start")
		}
		return nil
	}
	backOffs := c.logged(name, `"module has failed"`)
	switch {
	case s.Phase != host.Quarantined || s.Failures != 3 || s.Stats.Failures != 3 || s.Stats.Starts != 3:
		return wrong("it is not quarantined after three starts")
	case !strings.Contains(s.Err.Error(), m.fails):
		return wrong("the error is not %q", m.fails)
	case s.Stats.MemoryBytes != 0 || s.Stats.Operations != 0 || s.Stats.BufferBytes != 0:
		return wrong("something of it is left")
	case len(backOffs) != 2, !strings.Contains(backOffs[0], "retry=50ms"), !strings.Contains(backOffs[1], "retry=100ms"):
		return wrong("the back-offs are %q", backOffs)
	case len(c.logged(name, `"module is quarantined"`)) != 1:
		return wrong("the quarantine is not logged once")
	}
	return nil
}

// quarantineEnds checks that a quarantined module starts again only if its digest changes.
func (c *crowd) quarantineEnds(t *testing.T, name string) {
	t.Helper()
	before, m := c.status(name), c.modules[name]
	c.set(t, "greeter", m)
	if now := c.status(name); now.Since != before.Since || now.Stats.Starts != before.Stats.Starts {
		t.Errorf("module %s has started again without a change: %+v, then %+v", name, before, now)
	}
	m.Binary = another(m.Binary)
	c.set(t, "greeter", m)
	eventually(t, "the quarantine of another digest", func(context.Context) error {
		if now := c.status(name); now.Digest == before.Digest || now.Phase != host.Quarantined {
			return fmt.Errorf("the state is %+v", now)
		}
		return nil
	})
}

// idle waits until the idle greeters use no memory, wakes them by changes, and checks that they have not started again.
func (c *crowd) idle(t *testing.T, sources map[string]string) {
	t.Helper()
	greeters := func() (all []host.Status) {
		return slices.DeleteFunc(c.host.Status(), func(s host.Status) bool { return !strings.HasPrefix(s.Name, "greeter") })
	}
	isActor := func(s host.Status) bool { return s.Stats.Watches > 0 }
	before := map[string]host.Stats{}
	eventually(t, "idle greeters", func(context.Context) error {
		clear(before)
		for _, s := range greeters() {
			if isActor(s) != (s.Phase == host.Unloaded) || s.Stats.MemoryBytes != 0 {
				return fmt.Errorf("module %s is not idle: %+v", s.Name, s)
			}
			before[s.Name] = s.Stats
		}
		return nil
	})
	actors := 0
	c.writeAll(t, sources, "while unloaded")
	c.writeAll(t, sources, "awake")
	c.awaitRight(t, "the objects of modules that were unloaded", "greeter", sources)
	for _, s := range greeters() {
		old := before[s.Name]
		if s.Stats.Calls <= old.Calls {
			t.Errorf("module %s was not called: %+v", s.Name, s)
		}
		if !isActor(s) {
			continue // a reconciler keeps no state
		}
		actors++
		if old.Unloads == 0 || s.Stats.Starts != 1 {
			t.Errorf("module %s was unloaded %d times and has started %d times, want one start",
				s.Name, old.Unloads, s.Stats.Starts)
		}
	}
	if actors != 6 {
		t.Errorf("%d greeters are actors, want 6", actors)
	}
}

// TestManyModulesAreRightBesidesHostileOnes runs twelve greeters, one module of each hostile kind, and three that want
// to read what they may not. While the objects change, the API server is killed and restarted, and modules are
// replaced.
func TestManyModulesAreRightBesidesHostileOnes(t *testing.T) {
	apiserver := builtinCluster(t).Component(cluster.APIServer)
	inC, inGo := buildInC(t, "wasm/host/testdata/greeter.c"), buildInGo(t, "./testdata/greeter")
	hostile := buildInC(t, "wasm/conformance/testdata/hostile.c")
	reader := buildInC(t, "wasm/conformance/testdata/reader.c")
	c := newCrowd(t, host.Options{IdleAfter: 500 * time.Millisecond})
	c.account(t, "greeter")
	sources := map[string]string{"a": "", "b": "", "c": ""}
	c.writeAll(t, sources, "1")
	const secret = "of-the-other-namespace"
	if err := c.write(limit(t), c.other, "a", secret); err != nil {
		t.Fatal(err)
	}

	var adding sync.WaitGroup
	kinds := misbehaviors(c.ns)
	for act, m := range kinds {
		adding.Go(func() {
			c.set(t, "greeter", host.Module{
				Name: "hostile-" + act, Binary: hostile, Args: []string{act, m.number, m.path}, Limits: m.limits,
			})
		})
	}
	greeter := func(n int, text string) host.Module {
		m := host.Module{Name: fmt.Sprintf("greeter-%d", n), Binary: inGo}
		if n%2 == 1 {
			m.Binary = inC
		}
		m.Args = []string{m.Name, c.ns, text}
		return m
	}
	for n := range 12 {
		adding.Go(func() { c.set(t, "greeter", greeter(n, "hello")) })
	}
	spies := map[string]host.Module{
		"spy-reconciler": {Binary: inC, Args: []string{"spy", c.other, "seen"}},
		"spy-actor":      {Binary: inGo, Args: []string{"spy", c.other, "seen"}},
		"spy-reader":     {Binary: reader, Args: []string{c.other, "a"}},
	}
	for name, m := range spies {
		m.Name = name
		adding.Go(func() { c.set(t, "greeter", m) })
	}
	adding.Wait()
	c.awaitRight(t, "the first objects", "greeter", sources)
	if n := c.sent.count("GET", "/namespaces/"+c.ns+"/configmaps?", "watch=true"); n != 1 {
		t.Errorf("the host has sent %d watches for all greeters, want 1", n)
	}
	eventually(t, "the refusal of the spies", func(context.Context) error {
		for name, text := range map[string]string{
			"spy-reconciler": "may not list configmaps", "spy-actor": "may not list configmaps",
			"spy-reader": "cache=-5 live=403",
		} {
			if len(c.logged(name, text)) == 0 {
				return fmt.Errorf("module %s has not logged %q: %+v", name, text, c.status(name))
			}
		}
		return nil
	})
	before := map[string]time.Time{}
	for _, s := range c.host.Status() {
		before[s.Name] = s.Since
	}

	stop := background(t, func(ctx context.Context) error {
		for n := 0; ctx.Err() == nil; n++ {
			_ = c.write(ctx, c.ns, string(rune('a'+n%3)), fmt.Sprint("load ", n)) // the API server may be down
			<-time.After(10 * time.Millisecond)
		}
		return context.Cause(ctx)
	})
	if err := apiserver.Kill(); err != nil {
		t.Fatal(err)
	}
	c.set(t, "greeter", greeter(0, "hi"))
	c.set(t, "greeter", greeter(1, "hi"))
	if err := apiserver.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	replaced := greeter(3, "hello")
	replaced.Binary = another(replaced.Binary)
	c.set(t, "greeter", replaced)
	c.set(t, "greeter", greeter(2, "good day"))
	_ = stop()
	c.writeAll(t, sources, "last")
	c.awaitRight(t, "the last objects", "greeter", sources)

	for act, m := range kinds {
		eventually(t, "the containment of "+act, func(context.Context) error { return c.contained("hostile-"+act, m) })
	}
	c.quarantineEnds(t, "hostile-trap")
	c.idle(t, sources)
	c.check(t, secret, before)
}

// check checks what the modules have done. The greeters from number 4 have run since the given times.
func (c *crowd) check(t *testing.T, secret string, before map[string]time.Time) {
	t.Helper()
	if strings.Contains(c.log.log.get(), secret) {
		t.Error("a module has read an object of a namespace that its service account may not read")
	}
	texts, err := c.texts(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if strings.HasPrefix(name, "spy") {
			t.Errorf("a module has written %q to %s", text, name)
		}
	}
	for _, s := range c.host.Status() {
		kind, number, _ := strings.Cut(s.Name, "-")
		switch {
		case kind == "hostile":
		case s.Failures > 0 || s.Stats.Failures > 0:
			t.Errorf("module %s has failed: %+v", s.Name, s)
		case slices.Contains([]string{"0", "1", "2", "3"}, number): // it was replaced
		case s.Since != before[s.Name]:
			t.Errorf("module %s runs since %v, before since %v", s.Name, s.Since, before[s.Name])
		}
	}
}
