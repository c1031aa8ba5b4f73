// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

var errNo = errors.New("no")

// script is a reconcile whose runs execute a list of steps, and then do nothing. It records the time of each run.
type script struct {
	mu    sync.Mutex // guards the fields below
	steps []func() (controller.Action, error)
	began time.Time
	at    []time.Duration
}

func play(steps ...func() (controller.Action, error)) *script {
	return &script{steps: steps, began: time.Now()}
}

func (s *script) reconcile(context.Context, *document) (controller.Action, error) {
	return s.next()()
}

func (s *script) next() func() (controller.Action, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Since(s.began))
	if len(s.steps) == 0 {
		return succeed
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step
}

// want checks the times of the runs since the last call.
func (s *script) want(t *testing.T, want ...time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.at, want) {
		t.Errorf("runs at %v, want %v", s.at, want)
	}
	s.at = nil
}

func succeed() (controller.Action, error) { return controller.AwaitChange(), nil }

func fail(err error) func() (controller.Action, error) {
	return func() (controller.Action, error) { return controller.RequeueAfter(time.Hour), err }
}

func again(d time.Duration) func() (controller.Action, error) {
	return func() (controller.Action, error) { return controller.RequeueAfter(d), nil }
}

func TestNextRunFollowsItsDelay(t *testing.T) {
	const ms = time.Millisecond
	tooMany := &core.StatusError{RetryAfter: 3 * time.Second}
	tests := []struct {
		name  string
		steps []func() (controller.Action, error)
		want  []time.Duration
	}{
		{"a success waits for a change", []func() (controller.Action, error){succeed}, []time.Duration{0}},
		{
			"failures are retried with doubling delays, and the action of a failure is ignored",
			[]func() (controller.Action, error){fail(errNo), fail(errNo), fail(errNo)},
			[]time.Duration{0, 5 * ms, 15 * ms, 35 * ms},
		},
		{
			"a success resets the delays",
			[]func() (controller.Action, error){fail(errNo), fail(errNo), again(ms), fail(errNo)},
			[]time.Duration{0, 5 * ms, 15 * ms, 16 * ms, 21 * ms},
		},
		{
			"a retry waits for the server's Retry-After",
			[]func() (controller.Action, error){fail(fmt.Errorf("apply: %w", tooMany)), fail(errNo)},
			[]time.Duration{0, 3000 * ms, 3010 * ms},
		},
		{
			"a terminal error is not retried, wherever it is in the chain",
			[]func() (controller.Action, error){fail(fmt.Errorf("apply: %w", core.Terminal(tooMany)))},
			[]time.Duration{0},
		},
		{
			"a requeue runs after its delay, and a negative one after the back-off",
			[]func() (controller.Action, error){again(time.Minute), again(-time.Minute)},
			[]time.Duration{0, time.Minute, time.Minute + 5*ms},
		},
		{
			"requeues without a delay double the back-off, as failures do",
			[]func() (controller.Action, error){again(0), again(-1), fail(errNo), again(time.Millisecond - 1)},
			[]time.Duration{0, 5 * ms, 15 * ms, 35 * ms, 75 * ms},
		},
		{
			"a requeue with a delay resets the back-off",
			[]func() (controller.Action, error){again(0), again(0), again(ms), again(0)},
			[]time.Duration{0, 5 * ms, 15 * ms, 16 * ms, 21 * ms},
		},
		{
			"a panic is retried",
			[]func() (controller.Action, error){func() (controller.Action, error) { panic("oh") }, fail(errNo)},
			[]time.Duration{0, 5 * ms, 15 * ms},
		},
		{
			"a run that ended its goroutine is retried",
			[]func() (controller.Action, error){func() (controller.Action, error) {
				runtime.Goexit()
				return controller.AwaitChange(), nil
			}, fail(errNo)},
			[]time.Duration{0, 5 * ms, 15 * ms},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				s := play(tt.steps...)
				start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1}), s.reconcile)
				after(time.Hour)
				s.want(t, tt.want...)
			})
		})
	}
}

// After more than a thousand runs the reconcile stops requeueing, so that the test ends even with a hot loop.
func TestARequeueWithoutADelayDoesNotSpin(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Hour, 30} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				runs := 0
				options := &controller.Options{OnResult: func(controller.Result) { runs++ }}
				start(t, controller.New(controller.For[document](w.cache), options),
					func(context.Context, *document) (controller.Action, error) {
						if runs > 1000 {
							return controller.AwaitChange(), nil
						}
						return controller.RequeueAfter(d), nil
					})
				after(6 * time.Second)
				const want = 11 // at the start, after 5 ms, 15 ms and so on, the last after 5.115 s
				if runs != want {
					t.Errorf("%d runs in 6 s, want %d", runs, want)
				}
			})
		})
	}
}

func TestAChangeComesBeforeARequeueAndDoesNotReplaceIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		s := play(again(time.Minute), succeed, again(time.Hour), again(time.Second))
		start(t, controller.New(controller.For[document](w.cache), nil), s.reconcile)
		after(30 * time.Second)
		w.Put(documents, doc("prod/a", "2"))
		after(30 * time.Second)
		s.want(t, 0, 30*time.Second, time.Minute)
		w.Put(documents, doc("prod/a", "3")) // requests a second, while an hour is pending
		after(2 * time.Hour)
		s.want(t, time.Minute, 61*time.Second)
	})
}

func TestAChangeComesBeforeARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		s := play(fail(errNo))
		options := &controller.Options{Retry: &applier.Backoff{InitialBackoff: time.Minute}}
		start(t, controller.New(controller.For[document](w.cache), options), s.reconcile)
		after(time.Second)
		w.Put(documents, doc("prod/a", "2")) // succeeds, so that there is nothing to retry
		after(time.Hour)
		s.want(t, 0, time.Second)
	})
}

func TestARetryOfTheInitialListStaysBehindLiveChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/old", "1"))
		w.Put(documents, doc("prod/older", "1"))
		var runs journal
		failed := false
		start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1}),
			func(ctx context.Context, d *document) (controller.Action, error) {
				<-time.After(time.Second)
				runs.add(d.Name[:3])
				if !failed {
					failed = true
					return controller.Action{}, errNo
				}
				return controller.AwaitChange(), nil
			})
		after(1500 * time.Millisecond) // the failed object waits, and the other one runs
		w.Put(documents, doc("prod/new", "1"))
		after(time.Minute)
		runs.want(t, "old", "old", "new", "old")
	})
}

func TestARequestedRunOfTheInitialListStaysBehindLiveChanges(t *testing.T) {
	const within = 500 * time.Millisecond
	for name, first := range map[string]func() (controller.Action, error){
		"RequeueAfter": again(within),
		"RetryWithin": func() (controller.Action, error) {
			return controller.Action{}, controller.RetryWithin(core.Terminal(errNo), within)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/old", "1"))
				w.Put(documents, doc("prod/older", "1"))
				var runs journal
				s := play(first)
				start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1}),
					func(_ context.Context, d *document) (controller.Action, error) {
						<-time.After(time.Second)
						runs.add(d.Name[:3])
						return s.next()()
					})
				after(1600 * time.Millisecond) // the requested run waits, and the other object runs
				w.Put(documents, doc("prod/new", "1"))
				after(time.Minute)
				runs.want(t, "old", "old", "new", "old")
			})
		})
	}
}

func TestARequestedRunHasThePriorityOfAChangeBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var priorities []applier.Priority
		s := play(again(time.Minute), again(time.Hour), again(time.Minute))
		start(t, controller.New(controller.For[document](w.cache), nil),
			func(ctx context.Context, _ *document) (controller.Action, error) {
				run, _ := controller.RunOf(ctx)
				priorities = append(priorities, run.Priority)
				return s.next()()
			})
		after(time.Second)
		w.Put(documents, doc("prod/a", "2")) // requests an hour, while a minute is pending
		after(2 * time.Hour)
		s.want(t, 0, time.Second, time.Minute, 2*time.Minute)
		want := []applier.Priority{applier.Low, applier.Normal, applier.Normal, applier.Normal}
		if !slices.Equal(priorities, want) {
			t.Errorf("the runs have the priorities %v, want %v", priorities, want)
		}
	})
}

func TestATerminalErrorWaitsForAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		s := play(fail(core.Terminal(errNo)))
		start(t, controller.New(controller.For[document](w.cache), nil), s.reconcile)
		after(time.Second)
		w.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		s.want(t, 0, time.Second)
	})
}

func TestDeletedObjectIsNotReconciledAndItsFailuresAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var results journal
		s := play(fail(errNo), fail(errNo), fail(errNo), fail(errNo))
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Retry:    &applier.Backoff{InitialBackoff: time.Minute},
			OnResult: func(r controller.Result) { results.add(fmt.Sprintf("%d failures", r.Failures)) },
		})
		start(t, c, s.reconcile)
		after(time.Minute)
		s.want(t, 0, time.Minute)
		w.Delete(documents, ref("prod/a"))
		after(time.Hour)
		s.want(t)
		if q := c.Metrics().Applier; q.Delayed > 0 || q.Ready > 0 || q.Running > 0 {
			t.Errorf("the queue is not empty: %+v", q)
		}
		w.Put(documents, doc("prod/a", "1"))
		after(time.Minute)
		s.want(t, 61*time.Minute, 62*time.Minute)
		results.want(t, "1 failures", "2 failures", "1 failures", "2 failures")
	})
}

// TestRequestedRunOfAnObjectThatNoLongerExistsIsForgotten checks that the applier does not keep the object until the
// time of the run, and that an object of the same name still runs.
func TestRequestedRunOfAnObjectThatNoLongerExistsIsForgotten(t *testing.T) {
	for name, tt := range map[string]struct {
		during bool // the object is deleted during its run
		onGone func(context.Context, controller.Key)
	}{
		"deleted later":             {false, nil},
		"deleted later with OnGone": {false, func(context.Context, controller.Key) {}},
		"deleted during its run":    {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				var runs journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{OnGone: tt.onGone})
				start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					<-time.After(time.Minute)
					_, _ = runs.note(ctx, d)
					return controller.RequeueAfter(24 * time.Hour), nil
				})
				if !tt.during {
					after(time.Hour)
				}
				w.Delete(documents, ref("prod/a"))
				after(time.Hour)
				if q := c.Metrics().Applier; q.Delayed > 0 || q.Ready > 0 || q.Running > 0 {
					t.Errorf("the applier keeps the deleted object: %+v", q)
				}
				w.Put(documents, doc("prod/a", "2"))
				after(25 * time.Hour)
				runs.want(t, "a=1", "a=2", "a=2")
			})
		})
	}
}

func TestPanicFailsOnlyItsRun(t *testing.T) {
	for want, stop := range map[string]func(){
		"panic: no":                        func() { panic(errNo) },
		"panic: runtime.Goexit was called": runtime.Goexit,
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/bad", "1"))
				w.Put(documents, doc("prod/good", "1"))
				var runs journal
				var results journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{
					Concurrency: 2,
					Logger:      w.log.logger(),
					Retry:       &applier.Backoff{InitialBackoff: time.Second, MaxBackoff: time.Second},
					OnResult: func(r controller.Result) {
						p, ok := errors.AsType[*controller.PanicError](r.Err)
						if ok && (p.Error() != want || !strings.Contains(string(p.Stack), "TestPanicFailsOnlyItsRun")) {
							t.Errorf("got %v, want %s; the stack must include the test:\n%s", p, want, p.Stack)
						}
						results.add(fmt.Sprint(r.Key.Ref.Name, " ", ok))
					},
				})
				end := start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					if d.Name == "bad" {
						stop()
					}
					return runs.note(ctx, d)
				})
				after(9 * time.Second)
				results.wantSet(t, append(slices.Repeat([]string{"bad true"}, 10), "good false")...)
				w.Put(documents, doc("prod/good", "2"))
				synctest.Wait()
				runs.want(t, "good=1", "good=2")
				if lines := w.log.with("stack="); len(lines) != 10 || !strings.Contains(lines[0], "prod/bad") {
					t.Errorf("the log does not have the 10 panics:\n%s", w.log)
				}
				end()
			})
		})
	}
}

func TestPanicOfOnResultIsLoggedAndDoesNotAffectTheRun(t *testing.T) {
	for want, stop := range map[string]func(){
		"panic: no":                        func() { panic(errNo) },
		"panic: runtime.Goexit was called": runtime.Goexit,
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				w.Put(documents, doc("prod/b", "1"))
				s := play(fail(errNo), again(time.Second), fail(errNo))
				var results, runs journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{
					Concurrency: 1,
					Logger:      w.log.logger(),
					OnResult: func(r controller.Result) {
						results.add(fmt.Sprint(r.Key.Ref.Name, " ", r.Failures))
						stop()
					},
				})
				end := start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					if d.Name == "b" {
						return runs.note(ctx, d)
					}
					return s.reconcile(ctx, d)
				})
				after(time.Hour)
				const ms = time.Millisecond
				s.want(t, 0, 5*ms, 1005*ms, 1010*ms)
				runs.want(t, "b=1")
				results.wantSet(t, "a 0", "a 0", "a 1", "a 1", "b 0")
				lines := w.log.with("msg=OnResult")
				if len(lines) != 5 || !strings.Contains(lines[0], want) || !strings.Contains(lines[0], "stack=") ||
					!strings.Contains(lines[0], "TestPanicOfOnResult") {
					t.Errorf("the log does not report the 5 panics with their stacks:\n%s", w.log)
				}
				w.Put(documents, doc("prod/b", "2")) // the key was released
				synctest.Wait()
				runs.want(t, "b=2")
				end()
			})
		})
	}
}

// touchy is a document that panics when it is decoded.
type touchy struct{ document }

func (*touchy) UnmarshalJSON([]byte) error { panic(errNo) }

func TestPanicOfDecodingFailsOnlyItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var results, runs journal
		c := controller.New(controller.For[touchy](w.cache), &controller.Options{
			OnResult: func(r controller.Result) {
				results.add(fmt.Sprint(r.Key, " ", r.Err, " ", core.IsTerminal(r.Err)))
			},
		})
		start(t, c, func(context.Context, *touchy) (controller.Action, error) {
			runs.add("run")
			return controller.AwaitChange(), nil
		})
		after(time.Hour)
		results.want(t, "prod/a panic: no true")
		runs.want(t)
	})
}

func TestOnResultReceivesEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var mu sync.Mutex // guards got
		var got []controller.Result
		c := controller.New(controller.For[document](w.cache), &controller.Options{OnResult: func(r controller.Result) {
			mu.Lock()
			defer mu.Unlock()
			r.Run = controller.Run{Key: r.Key}
			got = append(got, r)
		}})
		terminal := core.Terminal(errNo)
		s := play(fail(errNo), fail(errNo), again(time.Minute), again(0), fail(terminal), fail(terminal))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			<-time.After(time.Millisecond)
			return s.reconcile(ctx, d)
		})
		after(time.Hour)
		c.ReconcileAll()
		after(time.Hour)
		a := controller.Run{Key: controller.Key{Ref: ref("prod/a")}}
		want := []controller.Result{
			{Run: a, Err: errNo, Failures: 1, RetryIn: 5 * time.Millisecond, Took: time.Millisecond},
			{Run: a, Err: errNo, Failures: 2, RetryIn: 10 * time.Millisecond, Took: time.Millisecond},
			{Run: a, Action: controller.RequeueAfter(time.Minute), Took: time.Millisecond},
			{Run: a, Action: controller.RequeueAfter(0), RetryIn: 5 * time.Millisecond, Took: time.Millisecond},
			{Run: a, Err: terminal, Failures: 2, Took: time.Millisecond},
			{Run: a, Err: terminal, Failures: 1, Took: time.Millisecond},
		}
		same := cmp.Options{
			cmp.Comparer(func(a, b error) bool { return a == b }),
			cmp.Comparer(func(a, b controller.Action) bool { return a == b }),
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// An object that can't be decoded is reported only once: only a change can resolve the error.
func TestObjectThatCannotBeDecodedIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, &broken{ObjectMeta: doc("prod/a", "").ObjectMeta, Text: 7})
		w.Put(documents, doc("prod/b", "1"))
		var runs, results journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{OnResult: func(r controller.Result) {
			if r.Err != nil {
				results.add(fmt.Sprint(r.Key, " ", core.IsTerminal(r.Err)))
			}
		}})
		start(t, c, runs.note)
		after(time.Hour)
		results.want(t, "prod/a true")
		w.Put(documents, doc("prod/a", "1"))
		synctest.Wait()
		runs.want(t, "b=1", "a=1")
	})
}

func TestActionsDescribeThemselves(t *testing.T) {
	for want, a := range map[string]controller.Action{
		"await change":             controller.AwaitChange(),
		"requeue after 5m0s":       controller.RequeueAfter(5 * time.Minute),
		"requeue after back-off":   controller.RequeueAfter(0),
		"requeue after back-off ":  controller.RequeueAfter(-1),
		"requeue after back-off  ": controller.RequeueAfter(30),
		"await change ":            {},
		"requeue after 1ms":        controller.RequeueAfter(time.Millisecond),
		"requeue after 1.5s":       controller.RequeueAfter(1500 * time.Millisecond),
		"requeue after 1h0m0s":     controller.RequeueAfter(time.Hour),
	} {
		if got := a.String(); got != strings.TrimSpace(want) {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestTerminalKeepsTheErrorAndIsDetected(t *testing.T) {
	if core.Terminal(nil) != nil {
		t.Error("Terminal(nil) is an error")
	}
	err := fmt.Errorf("apply: %w", core.Terminal(errNo))
	if !core.IsTerminal(err) || !errors.Is(err, errNo) || err.Error() != "apply: no" {
		t.Errorf("a wrapped terminal error: %v", err)
	}
	if core.IsTerminal(errNo) || core.IsTerminal(nil) {
		t.Error("errors that were not marked are terminal")
	}
}

func TestControllerCopiesItsOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		o := &controller.Options{Retry: &applier.Backoff{InitialBackoff: time.Minute}, Logger: w.log.logger()}
		c := controller.New(controller.For[document](w.cache), o)
		o.Retry.InitialBackoff = time.Hour
		runs := 0
		start(t, c, func(context.Context, *document) (controller.Action, error) {
			runs++
			return controller.Action{}, errNo
		})
		after(2 * time.Minute)
		if runs != 2 {
			t.Errorf("%d runs within two minutes, want 2: the back-off is that of New", runs)
		}
	})
}
