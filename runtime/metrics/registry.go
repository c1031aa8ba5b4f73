// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/sharding"
	"github.com/kube-go/sdk/runtime/webhook"
)

// Controller is a [controller.Controller] of any kind, or a [controller.Runner]. Of a Runner, the caches and machines
// that it uses are observed, too.
type Controller interface {
	Metrics() controller.Metrics
	Health() []controller.SourceHealth
}

// user is a [Controller] that knows what it uses.
type user interface {
	Caches() []*cache.Cache
	Owners() []any
}

// Machine is an [fsm.Machine] of any kind.
type Machine interface{ Overview() *fsm.Overview }

// Registry has the metrics of the parts of a program. It is an [http.Handler], which serves the metrics as text. Create
// one with [NewRegistry].
type Registry struct {
	mu          sync.Mutex // guards the fields below
	names       []string   // of the controllers
	controllers []Controller
	caches      []*cache.Cache
	electors    []*election.Elector
	members     []*sharding.Member
	webhooks    []*webhook.Server
	more        []func() []Family
	added       []string // the names of their families
}

// NewRegistry returns a registry of no parts.
func NewRegistry() *Registry { return &Registry{} }

// AddController adds a controller, and the caches and the state machines that a [controller.Runner] uses. It returns an
// error if c is nil, or if another controller has the same name, see [controller.Options].
func (r *Registry) AddController(c Controller) error {
	if c == nil {
		return errors.New("the controller is nil")
	}
	name := c.Metrics().Name
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.names, name) {
		return fmt.Errorf("two controllers are named %q: set controller.Options.Name", name)
	}
	r.names, r.controllers = append(r.names, name), append(r.controllers, c)
	return nil
}

// AddCache adds a cache. The numbers of several caches of a cluster are summed. It returns an error if c is nil.
func (r *Registry) AddCache(c *cache.Cache) error { return add(r, &r.caches, c, "cache") }

// AddElector adds a candidate for a lease. It returns an error if e is nil.
func (r *Registry) AddElector(e *election.Elector) error { return add(r, &r.electors, e, "elector") }

// AddMember adds a member of a group that divides objects. The numbers of several groups of the same name are summed.
// It returns an error if m is nil.
func (r *Registry) AddMember(m *sharding.Member) error { return add(r, &r.members, m, "member") }

// AddWebhookServer adds a server of webhooks. The numbers of several servers with the same path are added. It returns an
// error if s is nil.
func (r *Registry) AddWebhookServer(s *webhook.Server) error {
	return add(r, &r.webhooks, s, "webhook server")
}

// add adds a part to a list of a registry, which has each part once.
func add[T any](r *Registry, to *[]*T, part *T, what string) error {
	if part == nil {
		return fmt.Errorf("the %s is nil", what)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(*to, part) {
		*to = append(*to, part)
	}
	return nil
}

// AddFamilies adds families that another part of the program has. The function returns them with their current samples; their
// names and the names of their labels are always the same. Invalid UTF-8 in a label is replaced. A sample with another
// number of labels than its family, or with the labels of an earlier one, is left out, and counted by the metric
// kube_metrics_invalid_samples. It is an error if the registry has one of the families already, or if the name, the
// type or a label of a family is invalid, since nobody could read any of the metrics then.
func (r *Registry) AddFamilies(more func() []Family) error {
	if more == nil {
		return errors.New("the function is nil")
	}
	var known, names []string
	for _, f := range append(families(), process()...) {
		known = append(known, f.Name)
	}
	for _, f := range more() { // may use the registry
		if err := f.check(); err != nil {
			return err
		}
		names = append(names, f.Name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known = append(known, r.added...)
	for _, name := range names {
		if slices.Contains(known, name) {
			return fmt.Errorf("two parts of the program have the metric %s: give one of them another name", name)
		}
		known = append(known, name)
	}
	r.more, r.added = append(r.more, more), append(r.added, names...)
	return nil
}

// Parts are the parts of a program, each once.
type Parts struct {
	Controllers []Controller
	Caches      []*cache.Cache
	Machines    []Machine // those that the controllers use
	Electors    []*election.Elector
	Members     []*sharding.Member
}

// Parts returns the parts that were added, and those that their controllers use.
func (r *Registry) Parts() Parts {
	r.mu.Lock()
	p := Parts{
		Controllers: slices.Clone(r.controllers), Caches: slices.Clone(r.caches),
		Electors: slices.Clone(r.electors), Members: slices.Clone(r.members),
	}
	r.mu.Unlock() // the methods of a controller may use the registry
	for _, c := range p.Controllers {
		u, ok := c.(user)
		if !ok {
			continue
		}
		p.Caches = unique(append(p.Caches, u.Caches()...))
		for _, owner := range u.Owners() {
			if m, ok := owner.(Machine); ok {
				p.Machines = unique(append(p.Machines, m))
			}
		}
	}
	return p
}

// unique returns a list without what an earlier element equals.
func unique[T comparable](all []T) []T {
	var kept []T
	for _, x := range all {
		if !slices.Contains(kept, x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// Families returns all metrics with their current samples, except for those of the process. The families are always the
// same, apart from those that [Registry.AddFamilies] adds; some may have no samples.
func (r *Registry) Families() []Family {
	p, t := r.Parts(), newTable(families())
	var (
		elections []election.Status
		groups    []sharding.Status
		paths     []webhook.Metrics
	)
	for _, c := range p.Controllers {
		t.controller(c)
	}
	t.watches(p.Caches, time.Now())
	t.machines(p.Machines)
	for _, e := range p.Electors {
		elections = append(elections, e.Status())
	}
	t.elections(elections)
	for _, m := range p.Members {
		groups = append(groups, m.Status())
	}
	t.shards(groups)
	r.mu.Lock()
	more, servers := slices.Clone(r.more), slices.Clone(r.webhooks)
	r.mu.Unlock()
	for _, s := range servers {
		paths = append(paths, s.Metrics()...)
	}
	t.webhooks(paths)
	for _, f := range more {
		t.others(f())
	}
	return t.sorted()
}

// ServeHTTP responds with the metrics as text, including those of the process.
func (r *Registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", contentType)
	_ = writeText(w, append(r.Families(), process()...)) // an error means that the client has gone
}

func (t *table) controller(c Controller) {
	m := c.Metrics()
	queue := m.Applier
	for result, n := range map[string]uint64{
		"success": m.Succeeded, "error": m.Failed, "requeue": m.RequeuedNow, "requeue_after": m.RequeuedLater,
	} {
		t.add("controller_runtime_reconcile_total", float64(n), m.Name, result)
	}
	t.add("controller_runtime_reconcile_errors_total", float64(m.Failed), m.Name)
	t.add("controller_runtime_terminal_reconcile_errors_total", float64(m.Terminal), m.Name)
	t.add("controller_runtime_reconcile_panics_total", float64(m.Panics), m.Name)
	t.add("controller_runtime_reconcile_timeouts_total", float64(m.Timeouts), m.Name)
	t.histogram("controller_runtime_reconcile_time_seconds", m.Took, m.Name)
	t.add("controller_runtime_max_concurrent_reconciles", float64(m.Workers), m.Name)
	t.add("controller_runtime_active_workers", float64(queue.Running), m.Name)

	t.add("workqueue_depth", float64(queue.Ready), m.Name, m.Name)
	t.add("workqueue_adds_total", float64(queue.Adds), m.Name, m.Name)
	t.add("workqueue_retries_total", float64(queue.Retries), m.Name, m.Name)
	t.histogram("workqueue_queue_duration_seconds", m.Waited, m.Name, m.Name)
	t.histogram("workqueue_work_duration_seconds", m.Took, m.Name, m.Name)
	t.add("workqueue_unfinished_work_seconds", m.Unfinished.Seconds(), m.Name, m.Name)
	t.add("workqueue_longest_running_processor_seconds", m.OldestRun.Seconds(), m.Name, m.Name)

	t.add("kube_controller_held_objects", float64(queue.Held), m.Name)
	t.add("kube_controller_hold_timeouts_total", float64(queue.Overdue), m.Name)
	t.add("kube_controller_delayed_objects", float64(queue.Delayed), m.Name)
	t.add("kube_controller_mapping_objects", float64(m.Mapping), m.Name)
	t.add("kube_controller_oldest_wait_seconds", queue.OldestWait.Seconds(), m.Name)

	ready, failing := map[place]int{}, map[place]int{}
	for _, h := range c.Health() {
		at := place{h.Cluster, h.Resource.String()}
		if ready[at] += 0; h.Ready {
			ready[at]++
		}
		if h.Err != nil {
			failing[at]++
		}
	}
	for at, n := range ready {
		t.add("kube_controller_ready_sources", float64(n), m.Name, at.cluster, at.resource)
		t.add("kube_controller_failing_sources", float64(failing[at]), m.Name, at.cluster, at.resource)
	}
}

// place is the labels of watches.
type place struct{ cluster, resource string }

// watches adds the numbers of all caches.
func (t *table) watches(caches []*cache.Cache, now time.Time) {
	type sums struct {
		phases                            map[string]int
		objects, lists, failures, failing int
		age                               time.Duration
	}
	all := map[place]*sums{}
	for _, c := range caches {
		for _, w := range c.Watches() {
			at := place{c.Cluster(), w.Resource.String()}
			sum := all[at]
			if sum == nil {
				sum = &sums{phases: map[string]int{}}
				all[at] = sum
			}
			sum.objects += w.Objects
			sum.lists += w.Status.Lists
			if w.Status.Err != nil {
				sum.failing++
			}
			if !w.Running || w.Status.Phase == 0 {
				sum.phases["Stopped"]++
				continue
			}
			sum.phases[w.Status.Phase.String()]++
			sum.failures = max(sum.failures, w.Status.Failures)
			if !w.Status.LastData.IsZero() {
				sum.age = max(sum.age, now.Sub(w.Status.LastData))
			}
		}
	}
	for at, sum := range all {
		for phase, n := range sum.phases {
			t.add("kube_watches", float64(n), at.cluster, at.resource, phase)
		}
		t.add("kube_watch_objects", float64(sum.objects), at.cluster, at.resource)
		t.add("kube_watch_lists_total", float64(sum.lists), at.cluster, at.resource)
		t.add("kube_watches_failing", float64(sum.failing), at.cluster, at.resource)
		t.add("kube_watch_consecutive_failures", float64(sum.failures), at.cluster, at.resource)
		t.add("kube_watch_data_age_seconds", sum.age.Seconds(), at.cluster, at.resource)
	}
}

// machines adds the numbers of all machines.
func (t *table) machines(machines []Machine) {
	states, transitions := map[[2]string]fsm.StateOverview{}, map[[3]string]uint64{}
	for _, m := range machines {
		o := m.Overview()
		for _, state := range o.States {
			at := [2]string{o.Name, state.Name}
			sum := states[at]
			sum.Objects += state.Objects
			sum.Failed += state.Failed
			sum.Failing += state.Failing
			sum.Stuck += state.Stuck
			sum.Suspended += state.Suspended
			sum.Oldest = max(sum.Oldest, state.Oldest)
			sum.Visits = max(sum.Visits, state.Visits)
			sum.Failures += state.Failures
			sum.Restarts += state.Restarts
			states[at] = sum
		}
		for _, tr := range o.Transitions {
			transitions[[3]string{o.Name, tr.From, tr.To}] += tr.Taken
		}
	}
	for at, state := range states {
		t.add("kube_machine_objects", float64(state.Objects), at[0], at[1])
		t.add("kube_machine_failed_objects", float64(state.Failed), at[0], at[1])
		t.add("kube_machine_failing_objects", float64(state.Failing), at[0], at[1])
		t.add("kube_machine_stuck_objects", float64(state.Stuck), at[0], at[1])
		t.add("kube_machine_suspended_objects", float64(state.Suspended), at[0], at[1])
		t.add("kube_machine_oldest_seconds", state.Oldest.Seconds(), at[0], at[1])
		t.add("kube_machine_max_visits", float64(state.Visits), at[0], at[1])
		t.add("kube_machine_step_failures_total", float64(state.Failures), at[0], at[1])
		t.add("kube_machine_restarts_total", float64(state.Restarts), at[0], at[1])
	}
	for at, n := range transitions {
		t.add("kube_machine_transitions_total", float64(n), at[0], at[1], at[2])
	}
}

// elections adds the state of all candidates. Those for leases of the same name, in several namespaces, share a series.
func (t *table) elections(candidates []election.Status) {
	type sums struct {
		leading, failing bool
		transitions      int
	}
	all := map[string]sums{}
	for i := range candidates {
		s := &candidates[i]
		sum := all[s.Lease.Name]
		sum.leading = sum.leading || s.Leading
		sum.failing = sum.failing || s.Err != nil
		sum.transitions += s.Transitions
		all[s.Lease.Name] = sum
	}
	for name, sum := range all {
		t.add("leader_election_master_status", oneIf(sum.leading), name)
		t.add("kube_leader_election_transitions", float64(sum.transitions), name)
		t.add("kube_leader_election_failing", oneIf(sum.failing), name)
	}
}

// shards adds the state of all members. Those of groups of the same name, in several namespaces or clusters, share a
// series.
func (t *table) shards(groups []sharding.Status) {
	type sums struct {
		slots, members int
		failing        bool
	}
	all := map[string]sums{}
	for i := range groups {
		s := &groups[i]
		sum := all[s.Name]
		sum.slots += s.Slots
		sum.members += len(s.Members)
		sum.failing = sum.failing || s.Err != nil
		all[s.Name] = sum
	}
	for name, sum := range all {
		t.add("kube_sharding_slots", float64(sum.slots), name)
		t.add("kube_sharding_members", float64(sum.members), name)
		t.add("kube_sharding_failing", oneIf(sum.failing), name)
	}
}

// webhooks adds the numbers of the paths of all servers.
func (t *table) webhooks(paths []webhook.Metrics) {
	all := map[string]webhook.Metrics{}
	for _, m := range paths {
		if sum, ok := all[m.Path]; ok {
			m = added(m, sum)
		}
		all[m.Path] = m
	}
	panics := uint64(0)
	for path, m := range all {
		for code, n := range m.Codes {
			t.add("controller_runtime_webhook_requests_total", float64(n), path, strconv.Itoa(code))
		}
		t.add("controller_runtime_webhook_requests_in_flight", float64(m.InFlight), path)
		t.histogram("controller_runtime_webhook_latency_seconds", m.Took, path)
		panics += m.Panics
	}
	if len(all) > 0 {
		t.add("controller_runtime_webhook_panics_total", float64(panics))
	}
}

// added returns the sum of the numbers of two servers. It changes m.
func added(m, other webhook.Metrics) webhook.Metrics {
	m.InFlight += other.InFlight
	m.Panics += other.Panics
	for code, n := range other.Codes {
		m.Codes[code] += n
	}
	m.Took.Count += other.Took.Count
	m.Took.Sum += other.Took.Sum
	for i, b := range other.Took.Buckets {
		m.Took.Buckets[i].Count += b.Count
	}
	return m
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
