// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs f in a bubble with jobs whose wakes are recorded.
func bubble(t *testing.T, f func(t *testing.T, j *jobs, woken *wakes)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWakes()
		j := newJobs(w.add)
		ctx, stop := context.WithCancel(t.Context())
		j.begin(ctx)
		f(t, j, w)
		stop()
		j.end()
	})
}

// returns is work that returns something.
func returns(value string, err error) work {
	return func(context.Context) (string, error) { return value, err }
}

func TestJobRunsOnceAndWakesItsObject(t *testing.T) {
	bubble(t, func(t *testing.T, j *jobs, w *wakes) {
		if r := j.do("a", "x", time.Minute, returns("1", nil)); r.done || r.err != nil {
			t.Errorf("a job that has just begun: %+v", r)
		}
		synctest.Wait()
		if names := w.take(); !names["a"] {
			t.Error("the object was not woken")
		}
		for range 2 {
			if r := j.do("a", "x", time.Minute, returns("2", nil)); !r.done || r.value != "1" {
				t.Errorf("the result is %+v", r)
			}
		}
	})
}

func TestFailedJobIsRepeatedAfterADelayThatDoubles(t *testing.T) {
	bubble(t, func(t *testing.T, j *jobs, _ *wakes) {
		fails := returns("", errors.New("on purpose"))
		j.do("a", "x", 5*time.Second, fails)
		for _, seconds := range []time.Duration{1, 2, 4, 5, 5} {
			want := seconds * time.Second
			synctest.Wait()
			if r := j.do("a", "x", 5*time.Second, fails); r.err == nil || r.wait != want || !r.fresh {
				t.Fatalf("the result is %+v, want a wait of %v", r, want)
			}
			if r := j.do("a", "x", 5*time.Second, fails); r.fresh {
				t.Errorf("an error is reported as new twice: %+v", r)
			}
			<-time.After(want)
			if r := j.do("a", "x", 5*time.Second, fails); r.err == nil || r.wait != 0 || r.done {
				t.Fatalf("the result of the next attempt is %+v", r)
			}
		}
		synctest.Wait()
		<-time.After(time.Minute)
		j.do("a", "x", time.Second, returns("1", nil))
		synctest.Wait()
		if r := j.do("a", "x", time.Second, fails); !r.done || r.value != "1" {
			t.Errorf("the result is %+v", r)
		}
	})
}

func TestNextJobOfAnObjectReplacesThePreviousOneAndWaitsForItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, j *jobs, _ *wakes) {
		var order []string
		j.do("a", "1", time.Minute, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			if cause := context.Cause(ctx); cause != errReplaced {
				t.Errorf("the job ends because of %v", cause)
			}
			<-time.After(time.Minute) // it does not end at once
			order = append(order, "1")
			return "", nil
		})
		synctest.Wait()
		skipped := func(context.Context) (string, error) { panic("it was replaced before it began") }
		j.do("a", "2", time.Minute, skipped)
		j.do("a", "3", time.Minute, func(context.Context) (string, error) {
			order = append(order, "3")
			return "", nil
		})
		j.do("b", "1", time.Minute, returns("b", nil))
		synctest.Wait()
		if other := j.do("b", "1", time.Minute, nil); !other.done {
			t.Error("the job of another object waits")
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if fmt.Sprint(order) != "[1 3]" {
			t.Errorf("the order is %v", order)
		}
	})
}

func TestJobsOfObjectsThatDoNotExistAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, j *jobs, w *wakes) {
		j.do("a", "x", time.Minute, returns("", nil))
		j.do("b", "x", time.Minute, returns("", nil))
		j.forget("a") // active
		synctest.Wait()
		j.forget("b") // ended
		j.forget("c")
		if len(j.all) > 0 {
			t.Errorf("the jobs are %v", j.all)
		}
		if names := w.take(); names["a"] {
			t.Error("an object that does not exist was woken")
		}
	})
}

func TestStoppedJobsStartNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs(func(string) {})
		if j.do("a", "x", time.Minute, nil); len(j.all) > 0 {
			t.Error("a job begins before begin")
		}
		ctx, stop := context.WithCancel(t.Context())
		j.begin(ctx)
		j.do("a", "x", time.Minute, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		stop()
		synctest.Wait()
		if r := j.do("a", "x", time.Minute, nil); r != (result{}) {
			t.Errorf("the end of the program is a result: %+v", r)
		}
		j.end()
		if r := j.do("a", "x", time.Minute, nil); r != (result{}) || len(j.all) > 0 {
			t.Errorf("after end: %+v, %v", r, j.all)
		}
	})
}

// TestJobsOfAnObjectNeverOverlap is a model test: whatever the steps ask for, one job of an object runs at a time, the
// last one that was asked for gets done, and its object is woken.
func TestJobsOfAnObjectNeverOverlap(t *testing.T) {
	for seed := range uint64(50) {
		bubble(t, func(t *testing.T, j *jobs, w *wakes) {
			r := rand.New(rand.NewPCG(seed, 1))
			active, last := map[string]int{}, map[string]string{}
			job := func(name string, takes time.Duration, fails bool) work {
				return func(ctx context.Context) (string, error) {
					j.mu.Lock()
					active[name]++
					if active[name] > 1 {
						t.Errorf("seed %d: %d jobs of %s are active", seed, active[name], name)
					}
					j.mu.Unlock()
					<-time.After(takes)
					j.mu.Lock()
					active[name]--
					j.mu.Unlock()
					if fails {
						return "", errors.New("on purpose")
					}
					return name, context.Cause(ctx)
				}
			}
			for range 100 {
				name, id := string(rune('a'+r.IntN(3))), string(rune('0'+r.IntN(3)))
				j.do(name, id, time.Minute, job(name, time.Duration(r.IntN(3000))*time.Millisecond, r.IntN(3) == 0))
				last[name] = id
				<-time.After(time.Duration(r.IntN(2000)) * time.Millisecond)
			}
			w.take()
			for name, id := range last {
				for range 1000 {
					out := j.do(name, id, time.Minute, job(name, time.Second, false))
					if out.done {
						break
					}
					<-time.After(out.wait)
					synctest.Wait()
					<-time.After(time.Second)
				}
				if out := j.do(name, id, time.Minute, nil); !out.done {
					t.Errorf("seed %d: the last job of %s does not get done: %+v", seed, name, out)
				}
			}
		})
	}
}
