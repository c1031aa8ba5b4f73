// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
	"github.com/kube-go/sdk/runtime/metrics"
)

// The bounds of the document.
const (
	maxKeys    = 100 // in a list of a controller
	maxObjects = 20  // in a state
	maxRows    = 500 // of a table, and the number of watches
	maxText    = 500 // bytes
)

// document is the data of the page. Times and durations are in milliseconds; times count from 1970.
type document struct {
	Time        int64           `json:"time"`
	Controllers []controllerDoc `json:"controllers"`
	Watches     []watchDoc      `json:"watches"`
	MoreWatches int             `json:"moreWatches"`
	Electors    []electorDoc    `json:"electors"`
	Machines    []machineDoc    `json:"machines"`
	Tables      []tableDoc      `json:"tables"`
}

type controllerDoc struct {
	Name      string       `json:"name"`
	Workers   int          `json:"workers"`
	Waiting   int          `json:"waiting"`
	Running   int          `json:"running"`
	Delayed   int          `json:"delayed"`
	HeldKeys  int          `json:"heldKeys"`
	FailKeys  int          `json:"failingKeys"`
	Mapping   int          `json:"mapping"`
	Oldest    int64        `json:"oldestWait"`
	Succeeded uint64       `json:"succeeded"`
	Requeued  uint64       `json:"requeued"`
	Failed    uint64       `json:"failed"`
	Panics    uint64       `json:"panics"`
	Timeouts  uint64       `json:"timeouts"`
	Queue     []levelDoc   `json:"queue"`
	Runs      []runDoc     `json:"runs"`
	Failing   []failingDoc `json:"failing"`
	Held      []heldDoc    `json:"held"`
	Sources   []sourceDoc  `json:"sources"`
}

type levelDoc struct {
	Priority string `json:"priority"`
	Keys     int    `json:"keys"`
}

type runDoc struct {
	Key   string `json:"key"`
	Age   int64  `json:"age"`
	Cause string `json:"cause"`
	Err   string `json:"error"`
}

type failingDoc struct {
	Key      string `json:"key"`
	Err      string `json:"error"`
	Failures int    `json:"failures"`
	Last     int64  `json:"last"`
	Next     int64  `json:"next"` // or 0
}

type heldDoc struct {
	Key    string `json:"key"`
	Writes int    `json:"writes"`
	First  string `json:"first"`
	Left   int64  `json:"left"`
}

type sourceDoc struct {
	Cluster  string `json:"cluster"`
	Resource string `json:"resource"`
	Ready    bool   `json:"ready"`
	Err      string `json:"error"`
}

type watchDoc struct {
	Cluster   string `json:"cluster"`
	Resource  string `json:"resource"`
	Selection string `json:"selection"`
	Phase     string `json:"phase"`
	Since     int64  `json:"since"` // or 0
	Data      int64  `json:"data"`  // the time of the last data, or 0
	Version   string `json:"version"`
	Objects   int    `json:"objects"`
	Lists     int    `json:"lists"`
	Failures  int    `json:"failures"`
	Err       string `json:"error"`
}

type electorDoc struct {
	Lease       string `json:"lease"`
	Identity    string `json:"identity"`
	Leading     bool   `json:"leading"`
	Leader      string `json:"leader"`
	Transitions int    `json:"transitions"`
	Err         string `json:"error"`
}

type machineDoc struct {
	Name        string          `json:"name"`
	States      []stateDoc      `json:"states"`
	Transitions []transitionDoc `json:"transitions"`
}

type stateDoc struct {
	Name      string      `json:"name"`
	Initial   bool        `json:"initial"`
	Terminal  bool        `json:"terminal"`
	Deletes   bool        `json:"deletes"`
	Group     string      `json:"group"`
	Objects   int         `json:"objects"`
	Failed    int         `json:"failed"`
	Failing   int         `json:"failing"`
	Stuck     int         `json:"stuck"`
	Suspended int         `json:"suspended"`
	Oldest    int64       `json:"oldest"`
	Failures  uint64      `json:"failures"`
	Restarts  uint64      `json:"restarts"`
	In        []objectDoc `json:"in"`
}

type objectDoc struct {
	Key    string `json:"key"`
	Since  int64  `json:"since"`
	Flags  string `json:"flags"`
	Visits int    `json:"visits"`
	Reason string `json:"reason"`
}

type transitionDoc struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Taken uint64 `json:"taken"`
}

type tableDoc struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	More    int        `json:"more"`
}

func newDocument(p metrics.Parts, tables []func() Table, now time.Time) *document {
	d := &document{Time: now.UnixMilli()}
	for _, c := range p.Controllers {
		d.Controllers = append(d.Controllers, controllerOf(c))
	}
	for _, c := range p.Caches {
		for _, w := range c.Watches() {
			if len(d.Watches) < maxRows {
				d.Watches = append(d.Watches, watchOf(c.Cluster(), &w))
			} else {
				d.MoreWatches++
			}
		}
	}
	for _, e := range p.Electors {
		s := e.Status()
		d.Electors = append(d.Electors, electorDoc{
			s.Lease.String(), s.Identity, s.Leading, s.Leader, s.Transitions, errText(s.Err),
		})
	}
	for _, m := range p.Machines {
		d.Machines = append(d.Machines, machineOf(m))
	}
	for _, f := range tables {
		d.Tables = append(d.Tables, tableOf(f()))
	}
	return d
}

func controllerOf(c metrics.Controller) controllerDoc {
	m := c.Metrics()
	d := controllerDoc{
		Name: m.Name, Workers: m.Workers,
		Waiting: m.Applier.Ready, Running: m.Applier.Running, Delayed: m.Applier.Delayed,
		HeldKeys: m.Applier.Held, Mapping: m.Mapping, Oldest: m.Applier.OldestWait.Milliseconds(),
		Succeeded: m.Succeeded, Requeued: m.RequeuedNow + m.RequeuedLater, Failed: m.Failed,
		Panics: m.Panics, Timeouts: m.Timeouts,
	}
	for _, h := range c.Health() {
		d.Sources = append(d.Sources, sourceDoc{h.Cluster, h.Resource.String(), h.Ready, errText(h.Err)})
	}
	i, ok := c.(interface {
		Runs() []controller.RunHealth
		Inspect(limit int) controller.Inspection
	})
	if !ok {
		return d
	}
	runs, in := i.Runs(), i.Inspect(maxKeys)
	d.FailKeys = in.FailingKeys
	for _, l := range in.Queue {
		d.Queue = append(d.Queue, levelDoc{priorityOf(l.Priority), l.Keys})
	}
	for _, r := range runs[:min(maxKeys, len(runs))] {
		key := strings.TrimSpace(r.Source.String() + " " + r.Key.String()) // a call of Map has a source
		d.Runs = append(d.Runs, runDoc{key, r.Age.Milliseconds(), short(r.Cause.String()), errText(r.Err)})
	}
	for _, k := range in.Failing {
		d.Failing = append(d.Failing, failingDoc{k.Key.String(), short(k.Err), k.Failures, millis(k.Last), millis(k.Next)})
	}
	for _, k := range in.Held {
		first := strings.TrimSpace(k.Source.String() + " " + k.Object.String())
		d.Held = append(d.Held, heldDoc{k.Key.String(), k.Writes, first, k.Left.Milliseconds()})
	}
	return d
}

// priorityOf returns the name of a priority.
func priorityOf(p applier.Priority) string {
	switch {
	case p >= applier.High:
		return "high"
	case p > applier.Low:
		return "normal"
	}
	return "low"
}

func watchOf(cluster string, w *cache.Watch) watchDoc {
	d := watchDoc{
		Cluster: cluster, Resource: w.Resource.String(), Selection: selectionOf(w), Phase: "Stopped",
		Since: millis(w.Status.Since), Data: millis(w.Status.LastData), Version: short(w.Status.ResourceVersion),
		Objects: w.Objects, Lists: w.Status.Lists, Failures: w.Status.Failures, Err: errText(w.Status.Err),
	}
	if w.Running && w.Status.Phase != 0 {
		d.Phase = w.Status.Phase.String()
	}
	return d
}

// selectionOf describes the selection of a watch, and whether the server or the cache selects its shard.
func selectionOf(w *cache.Watch) string {
	var all []string
	s := &w.Selection
	for _, x := range [][2]string{{"namespace ", s.Namespace}, {"labels ", s.LabelSelector}, {"fields ", s.FieldSelector}} {
		if x[1] != "" {
			all = append(all, x[0]+x[1])
		}
	}
	switch {
	case !s.Sharded:
	case w.Status.AllShards:
		all = append(all, "sharded by the cache: the server sends all objects")
	case w.Status.Lists > 0:
		all = append(all, "sharded by the server")
	default:
		all = append(all, "sharded")
	}
	return short(strings.Join(all, ", "))
}

func machineOf(m metrics.Machine) machineDoc {
	o := m.Overview()
	// The page expects lists.
	d, index := machineDoc{Name: o.Name, States: []stateDoc{}, Transitions: []transitionDoc{}}, map[string]int{}
	for i, s := range o.States {
		index[s.Name] = i
		d.States = append(d.States, stateDoc{
			Name: s.Name, Initial: s.Initial, Terminal: s.Terminal, Deletes: s.Deletes, Group: s.Group,
			Objects: s.Objects, Failed: s.Failed, Failing: s.Failing, Stuck: s.Stuck, Suspended: s.Suspended,
			Oldest: s.Oldest.Milliseconds(), Failures: s.Failures, Restarts: s.Restarts,
		})
	}
	for _, t := range o.Transitions {
		d.Transitions = append(d.Transitions, transitionDoc{t.From, t.To, t.Taken})
	}
	p, ok := m.(interface{ Positions() iter.Seq[fsm.Position] })
	if !ok {
		return d
	}
	in := make([]shown, len(d.States))
	for pos := range p.Positions() {
		if i, ok := index[pos.State]; ok {
			in[i].add(&pos)
		}
	}
	for i := range in {
		for _, pos := range in[i].sorted() {
			d.States[i].In = append(d.States[i].In, objectDoc{
				pos.Key.String(), millis(pos.Since), flagsOf(&pos), pos.Visits, short(pos.Reason),
			})
		}
	}
	return d
}

// shown is the objects of a state that the page shows, and others that were added since the last call of sorted.
type shown struct {
	all  []fsm.Position
	full bool // the first maxObjects are sorted
}

// add adds an object if it may belong to the most important ones.
func (s *shown) add(p *fsm.Position) {
	if s.full && compare(p, &s.all[maxObjects-1]) >= 0 {
		return
	}
	s.all = append(s.all, *p)
	if len(s.all) == 2*maxObjects {
		s.all, s.full = s.sorted(), true
	}
}

// sorted returns the most important objects.
func (s *shown) sorted() []fsm.Position {
	slices.SortFunc(s.all, func(a, b fsm.Position) int { return compare(&a, &b) })
	return s.all[:min(len(s.all), maxObjects)]
}

// compare orders objects by importance: the stuck ones first, then those that fail, then those that are neither done nor
// idle; of each of them the oldest first.
func compare(a, b *fsm.Position) int {
	if by := cmp.Or(cmp.Compare(weight(b), weight(a)), a.Since.Compare(b.Since)); by != 0 {
		return by
	}
	return cmp.Or(cmp.Compare(a.Key.Cluster, b.Key.Cluster), cmp.Compare(a.Key.Ref.Namespace, b.Key.Ref.Namespace),
		cmp.Compare(a.Key.Ref.Name, b.Key.Ref.Name))
}

func weight(p *fsm.Position) int {
	switch {
	case p.Stuck:
		return 3
	case p.Failing:
		return 2
	case !p.Done && !p.Idle:
		return 1
	}
	return 0
}

func flagsOf(p *fsm.Position) string {
	var all []string
	for _, f := range []struct {
		set  bool
		name string
	}{
		{p.Stuck, "stuck"},
		{p.Failing, "failing"},
		{p.Suspended, "suspended"},
		{p.Deleting, "deleting"},
		{p.Done, "done"},
		{p.Idle, "idle"},
		{p.Failed, "failed"},
	} {
		if f.set {
			all = append(all, f.name)
		}
	}
	return strings.Join(all, ", ")
}

func tableOf(t Table) tableDoc {
	d := tableDoc{Title: short(t.Title), Columns: shortAll(t.Columns), More: max(0, len(t.Rows)-maxRows)}
	for _, row := range t.Rows[:len(t.Rows)-d.More] {
		d.Rows = append(d.Rows, shortAll(row))
	}
	return d
}

func shortAll(texts []string) []string {
	all := make([]string, 0, len(texts)) // the page expects lists
	for _, s := range texts {
		all = append(all, short(s))
	}
	return all
}

// errText returns the text of an error, or "".
func errText(err error) string {
	if err == nil {
		return ""
	}
	return short(err.Error())
}

// short returns the beginning of a text.
func short(s string) string { return excerpt.Of(s, maxText) }

// millis returns a time in milliseconds since 1970, or 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
