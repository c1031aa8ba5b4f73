// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
)

// debugPages is the source of the contents of debug pages.
const debugPages = "the debug pages"

// servedPages is the number of programs with a debug page that were started.
var servedPages atomic.Int64

// evil is a part of the errors and reasons of the test. A page that uses it as HTML runs its script.
const evil = `<script>window.owned = 1</script><img src="x" onerror="window.owned = 1">`

// The states of a moose on a walk: its annotation "goes" is the next one.
type (
	walks   struct{}
	rests   struct{}
	limps   struct{}
	arrives struct{}

	fromWalks interface{ fromWalks() }
	fromRests interface{ fromRests() }
	fromLimps interface{ fromLimps() }
)

func (rests) fromWalks()   {}
func (limps) fromWalks()   {}
func (arrives) fromWalks() {}
func (walks) fromRests()   {}
func (arrives) fromLimps() {}

func (walks) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromWalks]) fsm.Result[fromWalks] {
	switch c.Obj.Annotations["goes"] {
	case "rests":
		return to.Go(rests{})
	case "limps":
		return to.Go(limps{})
	}
	return to.Go(arrives{})
}

func (rests) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fromRests]) fsm.Result[fromRests] {
	return to.Stay("tired "+evil, time.Hour)
}

func (limps) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fromLimps]) fsm.Result[fromLimps] {
	return to.Retry(errors.New("a leg hurts " + evil))
}

func (arrives) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

// shownProgram is a program with a debug page.
type shownProgram struct {
	machine *fsm.Machine[v1.Moose]
	maps    *controller.Runner
	stop    func() error
}

// showProgram starts a program with controllers of config maps, some of which fail or are slow, of secrets, and of a
// machine. Runs of slow config maps end with the program.
func showProgram(t *testing.T, c *kube.Client, ns, addr string) *shownProgram {
	t.Helper()
	cache, here := newCache(t, c), &kube.Selection{Namespace: ns}
	options := func(name string) *kube.ControllerOptions {
		return &kube.ControllerOptions{
			Name: name, Logger: debugLogger(t), Concurrency: 4, StopTimeout: time.Nanosecond,
			Retry: &kube.Backoff{InitialBackoff: time.Hour, MaxBackoff: time.Hour},
		}
	}
	p := &shownProgram{machine: fsm.New[v1.Moose](c, "animals.example.com/walk", &fsm.Options{StuckAfter: time.Millisecond})}
	fsm.Add(p.machine, walks{})
	fsm.Add(p.machine, rests{})
	fsm.Add(p.machine, limps{})
	fsm.Add(p.machine, arrives{})
	maps := kube.NewController(kube.ForView(kube.ViewOf[corev1.ConfigMap](cache, here)), options("maps"))
	p.maps = maps.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		switch kind, _, _ := strings.Cut(cm.Name, "-"); kind {
		case "bad":
			return kube.AwaitChange(), fmt.Errorf("the disk of %s is full %s", cm.Name, evil)
		case "slow":
			<-ctx.Done()
		}
		return kube.AwaitChange(), nil
	})
	secrets := kube.NewController(kube.ForView(kube.ViewOf[corev1.Secret](cache, here)), options("secrets"))
	m := kube.NewManager(c, &kube.ManagerOptions{
		LeaderElection: "page", ElectionOptions: &kube.ElectionOptions{Namespace: ns, Identity: "me"},
		DebugAddr: addr, MetricsAddr: addr, Logger: debugLogger(t),
	})
	m.Add(p.maps)
	m.Add(secrets.With(func(_ context.Context, s *corev1.Secret) (kube.Action, error) {
		return kube.AwaitChange(), fmt.Errorf("the password of %s is too short", s.Name)
	}))
	m.Add(kube.NewController(kube.ForView(kube.ViewOf[v1.Moose](cache, here)), options("moose")).With(p.machine.Reconcile))
	p.stop = background(t, m.Run)
	servedPages.Add(1)
	return p
}

// shown is what the page shows, or what the program has.
type shown struct {
	Failing map[string]string // the errors of objects of maps, by name
	Slow    []string          // the objects of the current runs, the oldest first
	Numbers string            // of runs
	States  map[string]string // the numbers in the states, as they are drawn
	Moved   map[string]string // how often transitions were taken, as they are drawn
	Leader  string
}

// values returns what the program has.
func (p *shownProgram) values() shown {
	s := shown{Failing: map[string]string{}, States: map[string]string{}, Moved: map[string]string{}, Leader: "me"}
	in, m := p.maps.Inspect(100), p.maps.Metrics()
	for _, k := range in.Failing {
		s.Failing[k.Key.Ref.String()] = k.Err
	}
	for _, r := range p.maps.Runs() {
		s.Slow = append(s.Slow, r.Key.String()+" "+r.Cause.String())
	}
	s.Numbers = fmt.Sprintf("%d succeeded, %d failed, %d waiting", m.Succeeded, m.Failed, m.Applier.Ready)
	o := p.machine.Overview()
	for _, state := range o.States {
		text := fmt.Sprint(state.Objects)
		if state.Failing > 0 {
			text += fmt.Sprintf(", %d failing", state.Failing)
		}
		if state.Stuck > 0 {
			text += fmt.Sprintf(", %d stuck", state.Stuck)
		}
		s.States[state.Name] = text
	}
	for _, tr := range o.Transitions {
		s.Moved[tr.From+" "+tr.To] = fmt.Sprint(tr.Taken)
	}
	return s
}

// readPage is the expression of what the page shows.
const readPage = `(() => {
	const rows = (selector) => Array.from(document.querySelectorAll(selector + ' tr')).slice(1)
		.map(r => Array.from(r.children).map(c => c.textContent));
	const maps = '[data-controller="maps"] ', numbers = rows(maps + '[data-table="numbers"]')[0];
	const texts = (selector, name) => Object.fromEntries(
		Array.from(document.querySelectorAll(selector)).map(e => [e.getAttribute(name), e]));
	const all = (m, f) => Object.fromEntries(Object.entries(m).map(([k, e]) => [k, f(e)]));
	return {
		Failing: Object.fromEntries(rows(maps + '[data-table="failing"]').map(r => [r[0], r[4]])),
		Slow: rows(maps + '[data-table="runs"]').map(r => r[0] + ' ' + r[2]),
		Numbers: numbers[8] + ' succeeded, ' + numbers[10] + ' failed, ' + numbers[0] + ' waiting',
		States: all(texts('[data-state]', 'data-state'), e => e.querySelector('.count').textContent),
		Moved: all(texts('[data-transition]', 'data-transition'), e => e.textContent),
		Leader: rows('[data-table="electors"]').filter(r => r[2] === 'yes').map(r => r[3]).join(),
	};
})()`

// agrees returns a check that the page shows what the program has.
func (tb *tab) agrees(p *shownProgram) func(context.Context) error {
	return func(ctx context.Context) error {
		var got shown
		if err := tb.eval(ctx, readPage, &got); err != nil {
			return err
		}
		if diff := cmp.Diff(p.values(), got); diff != "" {
			return fmt.Errorf("the page differs from the program (-program +page):\n%s", diff)
		}
		if len(got.Failing) != 30 || len(got.Slow) != 2 || got.States["arrives"] != "3" ||
			!strings.HasPrefix(got.States["limps"], "1, 1 failing") {
			return fmt.Errorf("the page does not show all objects yet: %+v", got)
		}
		return nil
	}
}

// TestDebugPageShowsWhatTheProgramDoes checks the debug page of a program under load in a browser: that it shows what
// the program has, in several tabs; that it shows texts as text and not as HTML, and runs no other script; that it
// sends requests only to its server; that it shows no data of secrets; and that it continues after a restart of the
// server.
func TestDebugPageShowsWhatTheProgramDoes(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	c := connect(t, nil)
	ns := newNamespace(t, c)
	password := fillNamespace(t, c, ns)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	p := showProgram(t, c, ns, addr)
	eventually(t, "the page is served", func(ctx context.Context) error {
		_, err := getText(ctx, "http://"+addr+"/debug/controllers")
		return err
	})
	tabs := []*tab{b.open(t, "http://"+addr+"/debug/controllers")}
	load := background(t, func(ctx context.Context) error {
		maps := kube.Namespaced[corev1.ConfigMap](c, ns)
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := maps.Patch(ctx, fmt.Sprintf("good-%d", i%30), setValue(fmt.Sprint(i)), nil); err != nil && ctx.Err() == nil {
				return err
			}
			<-time.After(10 * time.Millisecond)
		}
		return context.Cause(ctx)
	})
	tabs = append(tabs, b.open(t, "http://"+addr+"/debug/controllers"))
	for _, tb := range tabs { // during the load, the numbers differ
		eventually(t, "the page shows the failing objects", func(ctx context.Context) error {
			var got shown
			if err := tb.eval(ctx, readPage, &got); err != nil {
				return err
			}
			if len(got.Failing) != 30 || len(got.Slow) < 2 {
				return fmt.Errorf("%d failing objects, %d runs", len(got.Failing), len(got.Slow))
			}
			return nil
		})
	}
	eventually(t, "the page shows the controller of secrets", func(ctx context.Context) error {
		var shows bool
		err := tabs[0].eval(ctx, "document.body.textContent.includes('the password of database is too short')", &shows)
		if err == nil && !shows {
			err = errors.New("the page has no error of the secret")
		}
		return err
	})
	checkContent(t, tabs[0], addr, password)
	if err := load(); !errors.Is(err, errStopped) {
		t.Error(err)
	}
	for _, tb := range tabs {
		eventually(t, "the page shows what the program has", tb.agrees(p))
	}
	if _, troubles := b.seen(); len(troubles) > 0 {
		t.Errorf("the page has the troubles %q", troubles)
	}
	tabs[0].checkScripts(t)
	checkMetrics(t, checkContent(t, tabs[0], addr, password))

	if err := tabs[0].eval(limit(t), "window.marker = 'not reloaded'", nil); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	status := func(what, text string) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) error {
			var got string
			err := tabs[0].eval(ctx, "document.getElementById('status').textContent", &got)
			if err == nil && strings.Contains(got, "no connection") != (text != "") {
				err = fmt.Errorf("the status is %q", got)
			}
			return err
		})
	}
	status("the page reports that its server does not respond", "no connection")
	p = showProgram(t, c, ns, addr)
	status("the page continues", "")
	eventually(t, "the page shows what the new program has", tabs[0].agrees(p))
	var marker string
	if err := tabs[0].eval(limit(t), "window.marker", &marker); err != nil || marker != "not reloaded" {
		t.Errorf("the marker is %q, %v: the page was loaded again", marker, err)
	}

	// The errors of requests while one program ends and before the next one has started.
	unreachable := regexp.MustCompile("net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|EMPTY_RESPONSE)")
	requests, troubles := b.seen()
	for _, url := range requests {
		if !strings.HasPrefix(url, "http://"+addr+"/debug/controllers") && url != "data:," {
			t.Errorf("the page has requested %s", url)
		}
	}
	for _, text := range troubles {
		if !strings.Contains(text, "Content Security Policy") && !unreachable.MatchString(text) {
			t.Errorf("the page has the trouble %s", text)
		}
	}
}

// TestDebugPageShowsShards checks the pages of two replicas that divide the objects of a controller: each shows both
// members with all slots, that its watch has only its own objects, and whether the server selects them.
func TestDebugPageShowsShards(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	const objects = 12
	for i := range objects {
		create(t, maps, fmt.Sprintf("map-%d", i), "")
	}
	var tabs []*tab
	var views []*kube.View[corev1.ConfigMap]
	for _, identity := range []string{"east", "west"} {
		addr := freeAddr(t)
		view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns, Sharded: true})
		m := kube.NewManager(c, &kube.ManagerOptions{
			Sharding: "pages", ShardingOptions: &kube.ShardingOptions{Namespace: ns, Identity: identity}, DebugAddr: addr,
			Logger: debugLogger(t),
		})
		ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Name: "maps", Logger: debugLogger(t)})
		m.Add(ctl.With(func(context.Context, *corev1.ConfigMap) (kube.Action, error) { return kube.AwaitChange(), nil }))
		background(t, m.Run)
		servedPages.Add(1)
		eventually(t, "the page is served", func(ctx context.Context) error {
			_, err := getText(ctx, "http://"+addr+"/debug/controllers")
			return err
		})
		tabs, views = append(tabs, b.open(t, "http://"+addr+"/debug/controllers")), append(views, view)
	}
	eventually(t, "the pages show the shards", func(ctx context.Context) error {
		sum := 0
		for i, tb := range tabs {
			var got struct {
				Members   []string
				Selection string
				Objects   int
			}
			err := tb.eval(ctx, `(() => {
				const all = (name) => [...document.querySelectorAll('[data-table="' + name + '"] tr')].slice(1)
					.map(row => [...row.cells].map(cell => cell.textContent));
				const watch = all('watches').find(row => row[1] === 'configmaps') || [];
				return {
					Members: all('Shards of pages').map(row => row.join(' ')),
					Selection: watch[2] || '', Objects: Number(watch[6] || 0),
				};
			})()`, &got)
			if err != nil {
				return err
			}
			if len(got.Members) != 2 || !strings.HasPrefix(got.Members[0], "east ") ||
				!strings.HasPrefix(got.Members[1], "west ") {
				return fmt.Errorf("the page shows the members %q", got.Members)
			}
			want := "namespace " + ns + ", sharded by the server"
			if views[i].Status().AllShards {
				want = "namespace " + ns + ", sharded by the cache: the server sends all objects"
			}
			if got.Selection != want {
				return fmt.Errorf("the page shows the selection %q, want %q", got.Selection, want)
			}
			sum += got.Objects
		}
		const others = 1 // kube-root-ca.crt
		if sum != objects+others {
			return fmt.Errorf("the pages show %d objects in all", sum)
		}
		return nil
	})
	for _, tb := range tabs {
		tb.record(t)
	}
}

// record records the page for the check for leaks, and returns it.
func (tb *tab) record(t *testing.T) (html string) {
	t.Helper()
	if err := tb.eval(limit(t), "document.documentElement.outerHTML", &html); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(recorder.Writer(debugPages), html)
	return html
}

// fillNamespace creates the objects of the test, and returns the password in the secret.
func fillNamespace(t *testing.T, c *kube.Client, ns string) (password string) {
	t.Helper()
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	maps, mooses := kube.Namespaced[corev1.ConfigMap](c, ns), kube.Namespaced[v1.Moose](c, ns)
	for i := range 30 {
		create(t, maps, fmt.Sprintf("bad-%d", i), "")
		create(t, maps, fmt.Sprintf("good-%d", i), "")
	}
	create(t, maps, "slow-0", "")
	create(t, maps, "slow-1", "")
	for i, goes := range []string{"rests", "rests", "limps", "arrives", "arrives", "arrives"} {
		_, err := mooses.Create(limit(t), &v1.Moose{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("moose-%d", i), Annotations: map[string]string{"goes": goes}},
			Spec:       v1.MooseSpec{Weight: 100},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	password = secret(t, "the password", "correct-horse-battery-staple")
	_, err := kube.Namespaced[corev1.Secret](c, ns).Create(limit(t), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "database"}, Data: map[string][]byte{"password": []byte(password)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return password
}

// checkScripts checks that the page shows texts as text and not as HTML, and that the policy of the page forbids
// scripts of others.
func (tb *tab) checkScripts(t *testing.T) {
	t.Helper()
	var got struct {
		Owned           bool
		Scripts, Images int
		Text            bool
	}
	err := tb.eval(limit(t), `(() => {
		const s = document.createElement('script');
		s.textContent = 'window.owned = 1';
		document.body.append(s);
		return new Promise(done => setTimeout(() => {
			s.remove();
			done({
				Owned: window.owned !== undefined,
				Scripts: document.scripts.length, Images: document.images.length,
				Text: document.body.textContent.includes('<script>window.owned = 1</'+'script>'),
			});
		}, 200));
	})()`, &got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Owned || got.Scripts != 1 || got.Images != 0 || !got.Text {
		t.Errorf("scripts of others: %+v", got)
	}
}

// checkContent checks that neither the page nor its data nor the metrics contain the password, records all of them, and
// returns the metrics.
func checkContent(t *testing.T, tb *tab, addr, password string) (metrics string) {
	t.Helper()
	html := tb.record(t)
	data, err := getText(limit(t), "http://"+addr+"/debug/controllers/data")
	if err != nil {
		t.Fatal(err)
	}
	if metrics, err = getText(limit(t), "http://"+addr+"/metrics"); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(recorder.Writer(debugPages), data, metrics)
	for _, text := range []string{html, data, metrics} {
		for _, form := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
			if strings.Contains(text, form) {
				t.Errorf("the page contains %q", form)
			}
		}
	}
	for _, text := range []string{html, data} {
		if !strings.Contains(text, "the password of database is too short") || !strings.Contains(text, "secrets") {
			t.Error("the page does not show the controller of secrets")
		}
	}
	return metrics
}

// checkMetrics checks that the metrics are those of the program.
func checkMetrics(t *testing.T, metrics string) {
	t.Helper()
	for _, line := range []string{
		`leader_election_master_status{name="page"} 1`,
		`kube_machine_objects{machine="animals.example.com/walk",state="arrives"} 3`,
		`kube_machine_failing_objects{machine="animals.example.com/walk",state="limps"} 1`,
		`controller_runtime_reconcile_errors_total{controller="maps"} 30`,
		`kube_watch_objects{cluster="",resource="secrets"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics do not have %s", line)
		}
	}
}

// getText returns the body of a successful response.
func getText(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}
