// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// run runs a controller of the farm until the returned function is called.
func (f *farm) run(t *testing.T, c *cache.Cache) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	ctl := controller.New(controller.For[animal](c), nil)
	go func() { ended <- ctl.Run(ctx, f.Reconcile) }()
	return sync.OnceFunc(func() {
		cancel()
		<-ended //nolint:errcheck // the cause of the context
	})
}

// beast returns an animal with labels, in the form "name key=value".
func beast(text string) *animal {
	name, labels, _ := strings.Cut(text, " ")
	obj := &animal{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: name, UID: "1", Labels: map[string]string{}}}
	for label := range strings.FieldsSeq(labels) {
		key, value, _ := strings.Cut(label, "=")
		obj.Labels[key] = value
	}
	return obj
}

// seen formats the positions of a machine.
func seen[K any](m *Machine[K]) map[string]string {
	all := map[string]string{}
	for p := range m.Positions() {
		var text strings.Builder
		text.WriteString(p.State)
		for name, is := range map[string]bool{"+done": p.Done, "+failing": p.Failing} {
			if is {
				text.WriteString(name)
			}
		}
		for name, is := range map[string]bool{"+stuck": p.Stuck, "+suspended": p.Suspended, "+deleting": p.Deleting} {
			if is {
				text.WriteString(name)
			}
		}
		if all[p.Key.String()] != "" {
			text.WriteString(" twice")
		}
		all[p.Key.String()] = text.String() + " " + p.Reason
	}
	return all
}

// modelOf returns where the machine must be with the objects that exist.
func modelOf(ctx context.Context, f *farm) (map[string]string, error) {
	model := map[string]string{}
	for obj, err := range f.animals.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		text := "end+done "
		switch { // a durable machine may have been done before the last change, which has no generation here
		case f.opts.Durable && obj.Status.FSM != nil && obj.Status.FSM.State == "end":
		case obj.Labels["wait"] != "":
			text = "work+stuck rain for dig"
		case obj.Labels["fail"] != "":
			text = "work+failing+stuck ill"
		}
		model["meadow/"+obj.Name] = text
	}
	return model, nil
}

// TestOverviewEqualsAModelAfterPassesDeletionsAndReaders runs a controller while objects are changed, deleted and read,
// and compares the result with what the machine must do with the remaining objects.
func TestOverviewEqualsAModelAfterPassesDeletionsAndReaders(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			f := newFarm(t, Options{Durable: seed%2 == 0, StuckAfter: time.Hour})
			res := f.api.Resource()
			f.server.Delete(res, core.ObjectRef{Namespace: "meadow", Name: "ox"})
			stop := f.run(t, cache.New(f.server.Client(), nil))
			defer stop()

			const writers, names = 4, 10
			var writing, reading sync.WaitGroup
			for w := range writers {
				writing.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(w)))
					for range 60 {
						name := fmt.Sprintf("%d-%d", w, r.IntN(names))
						switch r.IntN(5) {
						case 0:
							f.server.Delete(res, core.ObjectRef{Namespace: "meadow", Name: name})
						case 1:
							f.server.Put(res, beast(name+" wait=rain"))
						case 2:
							f.server.Put(res, beast(name+" fail=ill"))
						case 3:
							f.server.Put(res, beast(name))
						case 4:
							<-time.After(time.Duration(r.IntN(20)) * time.Millisecond)
						}
					}
				})
			}
			over := make(chan struct{})
			for range 2 {
				reading.Go(func() {
					for {
						select {
						case <-over:
							return
						case <-time.After(time.Millisecond):
						}
						total := 0
						for _, s := range f.Overview().States {
							total += s.Objects
						}
						all := seen(f.Machine)
						for key, text := range all {
							if strings.Contains(text, "twice") {
								t.Errorf("%s: %s", key, text)
							}
						}
						if limit := writers * names; total > limit || len(all) > limit {
							t.Errorf("%d objects are counted, and %d have positions, want at most %d", total, len(all), limit)
						}
					}
				})
			}
			writing.Wait()
			close(over)
			reading.Wait()
			<-time.After(2 * time.Hour)
			for w := range writers { // between passes, since the fake server creates an object again when its status is applied
				f.server.Delete(res, core.ObjectRef{Namespace: "meadow", Name: fmt.Sprintf("%d-0", w)})
			}
			<-time.After(2 * time.Hour)
			synctest.Wait()

			model, err := modelOf(t.Context(), f)
			if err != nil || len(model) < names || len(model) > writers*(names-1) {
				t.Fatalf("%d objects are left, %v", len(model), err)
			}
			if diff := cmp.Diff(model, seen(f.Machine)); diff != "" {
				t.Errorf("seed %d: positions (-want +got):\n%s", seed, diff)
			}
			want, got := map[string][3]int{}, map[string][3]int{}
			for _, text := range model {
				state, _, _ := strings.Cut(strings.Fields(text)[0], "+")
				n := want[state]
				for i, is := range []bool{true, strings.Contains(text, "+failing"), strings.Contains(text, "+stuck")} {
					if is {
						n[i]++
					}
				}
				want[state] = n
			}
			for _, s := range f.Overview().States {
				if s.Objects > 0 {
					got[s.Name] = [3]int{s.Objects, s.Failing, s.Stuck}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d: overview (-want +got):\n%s", seed, diff)
			}
			stop()
			if all := seen(f.Machine); len(all) > 0 || len(f.tables.all) > 0 {
				t.Errorf("%v remain after the end of Run", all)
			}
		})
	}
}

// TestOverviewCountsStepsAndAges checks the numbers of an overview.
func TestOverviewCountsStepsAndAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{Durable: true, StuckAfter: 10 * time.Minute})
		f.visits = 3
		res := f.api.Resource()
		f.states[2].step = func(_ any, c *Ctx[animal]) outcome { // works twice before it sleeps
			if c.Visits() < 3 {
				return outcome{how: goes, next: work{"plough"}}
			}
			return outcome{how: stays, reason: "asleep"}
		}
		f.server.Put(res, beast("ox wait=rain"))
		f.server.Put(res, beast("cow fail=ill"))
		f.server.Put(res, beast("hen rest=noon"))
		stop := f.run(t, cache.New(f.server.Client(), nil))
		defer stop()
		<-time.After(5 * time.Minute)
		synctest.Wait()
		if _, err := f.Plan(t.Context(), beast("dog")); err != nil { // which is not counted
			t.Fatal(err)
		}
		o := f.Overview()
		work := o.States[1]
		if work.Failures < 5 {
			t.Errorf("%d steps of work have failed, want a retry with each back-off", work.Failures)
		}
		work.Failures = 0
		want := StateOverview{GraphState: GraphState{Name: "work"}, Objects: 2, Failing: 1, Oldest: 5 * time.Minute, Visits: 1}
		if work != want {
			t.Errorf("the state work is %+v, want %+v", work, want)
		}
		if rest := o.States[2]; rest.Objects != 1 || rest.Visits != 3 {
			t.Errorf("the state rest is %+v, want one object and its visits", rest)
		}
		taken := map[string]uint64{}
		for _, tr := range o.Transitions {
			taken[tr.From+">"+tr.To] = tr.Taken
		}
		if taken["start>work"] != 3 || taken["work>end"] != 0 || taken["work>rest"] != 3 || taken["rest>work"] != 2 {
			t.Errorf("the transitions were taken %v", taken)
		}
		if _, err := json.Marshal(o); err != nil {
			t.Error(err)
		}
		for range f.Positions() {
			break // is possible
		}
	})
}

// TestPositionOfSuspendedObject checks objects whose passes call no steps.
func TestPositionOfSuspendedObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{StuckAfter: time.Minute})
		res := f.api.Resource()
		f.server.Put(res, beast("ox wait=rain"))
		f.server.Put(res, beast("cow"))
		stop := f.run(t, cache.New(f.server.Client(), nil))
		defer stop()
		synctest.Wait()
		suspend := func(obj *animal) {
			s := machine.Suspension{By: "Ann", Reason: "holiday", WhenDeleted: machine.Proceed}
			if err := machine.Suspend(obj, f.name, s); err != nil {
				t.Fatal(err)
			}
			f.server.Put(res, obj)
		}
		suspend(f.get(t))
		suspend(beast("hen"))
		<-time.After(time.Hour)
		synctest.Wait()
		want := map[string]string{
			"meadow/cow": "end+done ",
			"meadow/ox":  "work+suspended by Ann: holiday",
			"meadow/hen": "+suspended by Ann: holiday",
		}
		if diff := cmp.Diff(want, seen(f.Machine)); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
		if s := f.Overview().States[1]; s.Objects != 1 || s.Suspended != 1 || s.Stuck != 0 {
			t.Errorf("the state work is %+v", s)
		}

		cow, err := f.animals.Get(t.Context(), "cow", nil)
		if err != nil {
			t.Fatal(err)
		}
		suspend(cow)
		<-time.After(time.Hour)
		synctest.Wait()
		for _, s := range f.Overview().States {
			if s.Oldest != 0 {
				t.Errorf("an object that is suspended counts as old: %+v", s)
			}
		}
	})
}

// TestASuspendedObjectIsInItsState checks the position of an object that is being deleted, and whose state has another
// name now.
func TestASuspendedObjectIsInItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{Renamed: map[string]string{"toil": "work"}})
		f.api = client.ClusterWide[animal](fakeapi.ClientOf(&finalizing{server: f.server}))
		f.change(t, func(obj *animal) {
			obj.Finalizers, obj.DeletionTimestamp, obj.Status.FSM = []string{f.name}, new(metav1.Now()), storedAt("toil")
			s := machine.Suspension{By: "Ann", Reason: "holiday", WhenDeleted: machine.Wait}
			if err := machine.Suspend(obj, f.name, s); err != nil {
				t.Fatal(err)
			}
		})
		defer f.run(t, cache.New(f.server.Client(), nil))()
		synctest.Wait()
		n := 0
		for p := range f.Positions() {
			n++
			want := Position{
				Key: p.Key, State: "work", Since: p.Since, Visits: 3, Reason: "by Ann: holiday", Suspended: true, Deleting: true,
			}
			if p != want {
				t.Errorf("the position is %+v, want %+v", p, want)
			}
		}
		if n != 1 {
			t.Errorf("there are %d positions, want one", n)
		}
	})
}

// TestAPassThatIsNotStoredFails checks the position of an idle object whose status can't be written.
func TestAPassThatIsNotStoredFails(t *testing.T) {
	m, obj := newMachine(t, nil), new(animal)
	obj.Labels = map[string]string{"idle": "until the morning"}
	e := m.pass(t, obj, noon).unstored(errLabel("no server"))
	p := m.positionOf(&keyed{entry: e}, noon)
	if want := (Position{State: "work", Since: p.Since, Visits: 1, Reason: "no server", Failing: true}); p != want {
		t.Errorf("the position is %+v, want %+v", p, want)
	}
}

// TestPassesOfOtherControllersAreNotKept checks passes that no controller makes, or one of other objects, which is not
// notified of the deletion.
func TestPassesOfOtherControllersAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{})
		ox := f.get(t)
		if _, err := f.Reconcile(t.Context(), ox); err != nil {
			t.Fatal(err)
		}
		cow := beast("cow")
		cow.Namespace = "barn"
		f.server.Put(f.api.Resource(), cow)
		barn := cache.Of[animal](cache.New(f.server.Client(), nil), &cache.Selection{Namespace: "barn"})
		ctx, stop := context.WithCancel(t.Context())
		ended, runs := make(chan error, 1), 0
		go func() {
			ctl := controller.New(controller.ForView(barn), nil)
			ended <- ctl.Run(ctx, func(ctx context.Context, _ *animal) (controller.Action, error) {
				runs++
				return f.Reconcile(ctx, ox)
			})
		}()
		synctest.Wait()
		if all := seen(f.Machine); len(all) > 0 || runs == 0 {
			t.Errorf("%d runs have kept the positions %v, want none", runs, all)
		}
		stop()
		<-ended //nolint:errcheck // the cause of the context
	})
}

// TestUnstoredPassKeepsItsTime checks that an object whose status can't be written gets older.
func TestUnstoredPassKeepsItsTime(t *testing.T) {
	p := newPositions(func(controller.Key) {}, func() {})
	key := controller.Key{Ref: core.ObjectRef{Name: "ox"}}
	get := func() (e entry) {
		p.each(func(_ controller.Key, got *entry) { e = *got })
		return e
	}
	p.put(key, entry{state: 1, since: 10, how: stays})
	p.put(key, entry{state: 1, since: 20, how: fails, unstored: true})
	if e := get(); e.since != 10 || e.how != fails {
		t.Errorf("the position is %+v, want the time of the first pass", e)
	}
	p.put(key, entry{state: 2, since: 30, how: fails, unstored: true})
	if e := get(); e.since != 30 {
		t.Errorf("the position is %+v, want the time of the other state", e)
	}
	long := strings.Repeat("é", maxReason)
	p.put(key, entry{state: 2, since: 40, reason: long})
	if e := get(); len(e.reason) > maxReason || !strings.HasPrefix(e.reason, "éé") || !strings.HasSuffix(e.reason, "é…") {
		t.Errorf("the reason is %q", e.reason)
	}
}

// TestChildrenAreCountedByState checks the states of a group.
func TestChildrenAreCountedByState(t *testing.T) {
	m := newMachine(t, &Options{Renamed: map[string]string{"toil": "work"}})
	NewGroup(m, "Calf", rest{})
	m.groups[0].states = append(m.groups[0].states, m.states[1])
	w := &walk[animal]{pass: &pass[animal]{machine: m}, position: machine.Position{Children: map[string]machine.Child{
		"Calf.a": {State: "rest"}, "Calf.b": {State: "work"}, "Calf.c": {State: "rest"},
		"Calf.d": {State: "gone"}, "Calf.e": {State: "toil"}, "Cow.a": {State: "rest"},
	}}}
	got := w.entry().children
	slices.SortFunc(got, func(a, b tally) int { return int(a.state) - int(b.state) })
	if want := []tally{{0, 0, 2}, {0, 1, 2}}; !slices.Equal(got, want) {
		t.Errorf("the children are %v, want %v", got, want)
	}
}

// TestPositionsOfManyObjectsAreSmall checks the memory for each object, with its name.
func TestPositionsOfManyObjectsAreSmall(t *testing.T) {
	const objects, limit = 50_000, 230
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	p := newPositions(func(controller.Key) {}, func() {})
	for i := range objects {
		key := controller.Key{Ref: core.ObjectRef{Namespace: "meadow", Name: fmt.Sprint("animal-", i)}}
		for range 2 { // the second pass stores the same
			p.put(key, entry{state: 1, since: int64(i), how: stays, reason: fmt.Sprintf("waiting for %d replicas", i%7)})
		}
	}
	size := (heap() - before) / objects
	t.Logf("%d bytes per object", size)
	if size > limit {
		t.Errorf("%d bytes per object, want at most %d", size, limit)
	}
	runtime.KeepAlive(p)
}
