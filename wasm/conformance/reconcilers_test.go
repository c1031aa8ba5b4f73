// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

const (
	taskPath = "/apis/conformance.test/v1/tasks"
	notePath = "/apis/conformance.test/v1/notes"
)

// task is an object that the guest reconciles. Each case has one, in a namespace of its own.
type task struct {
	*world

	t         *testing.T
	namespace string
}

// do creates or replaces the task with commands for the guest.
func (k *task) do(commands ...string) {
	k.named("task", commands...)
}

func (k *task) named(name string, commands ...string) {
	list := []any{}
	for _, c := range commands {
		list = append(list, c)
	}
	k.server.put(taskPath, object{
		"apiVersion": "conformance.test/v1", "kind": "Task", "spec": object{"do": list},
		"metadata": object{"namespace": k.namespace, "name": name},
	})
}

// reports returns the rest of all reports about the task that begin with a word.
func (k *task) reports(word string) []string { return k.about("task", word) }

func (k *task) about(name, word string) []string {
	var all []string
	for _, r := range k.logged("reconciler") {
		if text, ok := strings.CutPrefix(r.text, "@"+k.namespace+"/"+name+" "+word+" "); ok {
			all = append(all, text)
		}
	}
	return all
}

// runs waits until the guest has been called n times for the task.
func (k *task) runs(n int) {
	k.t.Helper()
	k.await(k.t, fmt.Sprintf("run %d", n), func() bool { return len(k.reports("r")) >= n })
}

// wrote waits until the server has received a request for the task's namespace that matches.
func (k *task) wrote(what string, matches func(received) bool) received {
	k.t.Helper()
	var all []received
	k.await(k.t, what, func() bool {
		all = k.server.received(func(r received) bool {
			return strings.Contains(r.path, "/namespaces/"+k.namespace+"/") && matches(r)
		})
		return len(all) > 0
	})
	return all[0]
}

// note returns a note of the task's namespace in JSON, with data.
func (k *task) note(name, data string) string {
	const format = `{"apiVersion":"conformance.test/v1","kind":"Note","metadata":{"namespace":%q,"name":%q},"data":%q}`
	return fmt.Sprintf(format, k.namespace, name, data)
}

func (k *task) putNote(name string) {
	k.server.put(notePath, object{
		"apiVersion": "conformance.test/v1", "kind": "Note", "metadata": object{"namespace": k.namespace, "name": name},
	})
}

func (k *task) hasNote(name string) bool { return k.server.get(notePath, k.namespace+"/"+name) != nil }

// reconcilerClaim is a case of the suite for reconcilers.
type reconcilerClaim struct {
	name  string
	alone bool          // the case has a host of its own, because the module fails
	wake  time.Duration // the time limit of a call, if alone; by default, the one that a busy machine does not exceed
	run   func(k *task)
}

// reconcilerClaims are the cases of section 7.
func reconcilerClaims() []reconcilerClaim {
	return []reconcilerClaim{{
		name: "a guest is called for each object",
		run: func(k *task) {
			k.do()
			k.named("other")
			k.runs(1)
			if got := k.reports("r")[0]; got != "tasks present 0" {
				k.t.Errorf("the guest was called with %q", got)
			}
			k.await(k.t, "the run of the other object", func() bool { return len(k.about("other", "r")) > 0 })
		},
	}, {
		name: "a guest is called again when the object changes",
		run: func(k *task) {
			k.do()
			k.runs(1)
			k.do("log 0 61")
			k.runs(2)
		},
	}, {
		name: "an object of the response is applied",
		run: func(k *task) {
			k.do("apply " + k.note("n", "one"))
			r := k.wrote("the apply", func(r received) bool {
				return r.method == "PATCH" && strings.HasSuffix(r.path, "/notes/n")
			})
			if !strings.HasPrefix(r.contentType, "application/apply-patch") || !strings.Contains(r.query, "fieldManager=") {
				k.t.Errorf("the server has received %+v", r)
			}
			k.await(k.t, "the object", func() bool { return k.hasNote("n") })
		},
	}, {
		name: "the reconciled object becomes the controller of an applied object",
		run: func(k *task) {
			k.do("apply " + k.note("n", "one"))
			k.await(k.t, "the object", func() bool { return k.hasNote("n") })
			refs, _ := metadata(k.server.get(notePath, k.namespace+"/n"))["ownerReferences"].([]any)
			uid := metadata(k.server.get(taskPath, k.namespace+"/task"))["uid"]
			if len(refs) != 1 || refs[0].(object)["uid"] != uid || refs[0].(object)["controller"] != true {
				k.t.Errorf("the owner references are %v", refs)
			}
		},
	}, {
		name: "an applied object keeps its own owner references",
		run: func(k *task) {
			k.do(`apply {"apiVersion":"conformance.test/v1","kind":"Note","metadata":{"namespace":"` + k.namespace +
				`","name":"n","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]}}`)
			k.await(k.t, "the object", func() bool { return k.hasNote("n") })
			refs, _ := metadata(k.server.get(notePath, k.namespace+"/n"))["ownerReferences"].([]any)
			if len(refs) != 1 || refs[0].(object)["uid"] != "y" {
				k.t.Errorf("the owner references are %v", refs)
			}
		},
	}, {
		name: "an applied object of a kind that is not owned has no owner",
		run: func(k *task) {
			k.do(`apply {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"` + k.namespace + `","name":"c"}}`)
			k.await(k.t, "the object", func() bool { return k.server.get(configMapPath, k.namespace+"/c") != nil })
			if refs := metadata(k.server.get(configMapPath, k.namespace+"/c"))["ownerReferences"]; refs != nil {
				k.t.Errorf("the owner references are %v", refs)
			}
		},
	}, {
		name: "the owned objects are in the request",
		run: func(k *task) {
			k.putNote("foreign")
			k.do("apply "+k.note("n1", "one"), "apply "+k.note("n2", "two"))
			k.await(k.t, "a run with the owned objects", func() bool {
				return slices.Contains(k.reports("r"), "tasks present 2")
			})
			if all := k.reports("o"); slices.Contains(all, "Note foreign") || !slices.Contains(all, "Note n2") {
				k.t.Errorf("the owned objects are %v", all)
			}
		},
	}, {
		name: "owned objects that the object does not control are in the request",
		run: func(k *task) {
			k.do()
			k.runs(1)
			k.server.put(notePath, object{
				"apiVersion": "conformance.test/v1", "kind": "Note",
				"metadata": object{"namespace": k.namespace, "name": "n", "ownerReferences": []any{object{
					"apiVersion": "conformance.test/v1", "kind": "Task", "name": "task",
					"uid": metadata(k.server.get(taskPath, k.namespace+"/task"))["uid"],
				}}},
			})
			for n := 2; !slices.Contains(k.reports("r"), "tasks present 1"); n++ { // the host may not have the note yet
				k.do(fmt.Sprintf("log 0 %x", 'a'+n%2))
				k.runs(n)
			}
		},
	}, {
		name: "objects that are too large for a message fail the run and not the module", alone: true,
		run: func(k *task) {
			k.server.mu.Lock()
			uid := fmt.Sprint("uid-", k.server.version+3) // of the task, after two notes
			k.server.mu.Unlock()
			var notes []object
			for _, name := range []string{"n1", "n2"} {
				notes = append(notes, object{
					"apiVersion": "conformance.test/v1", "kind": "Note", "data": strings.Repeat("x", abi.MaxMessage/2),
					"metadata": object{"namespace": k.namespace, "name": name, "ownerReferences": []any{object{
						"apiVersion": "conformance.test/v1", "kind": "Task", "name": "task", "uid": uid, "controller": true,
					}}},
				})
			}
			k.server.putAll(notePath, notes)
			k.do()
			k.await(k.t, "the error", func() bool {
				return slices.ContainsFunc(k.logged("reconciler"), func(r record) bool {
					return strings.Contains(r.err, "Task "+k.namespace+"/task and 2 objects that it owns")
				})
			})
			k.named("other")
			k.await(k.t, "the run of another object", func() bool { return len(k.about("other", "r")) > 0 })
			if s := k.status("reconciler"); s.Stats.Failures > 0 {
				k.t.Errorf("the module has failed: %+v", s)
			}
		},
	}, {
		name: "a change of an owned object wakes its owner",
		run: func(k *task) {
			k.do("apply " + k.note("n", "one"))
			k.await(k.t, "a run with the owned object", func() bool {
				return slices.Contains(k.reports("r"), "tasks present 1")
			})
			k.server.remove(notePath, k.namespace+"/n")
			k.await(k.t, "the object", func() bool { return k.hasNote("n") })
		},
	}, {
		name: "an object of the response is deleted",
		run: func(k *task) {
			k.putNote("n")
			k.putNote("stays")
			k.do(`delete {"apiVersion":"conformance.test/v1","kind":"Note","namespace":"` + k.namespace + `","name":"n"}`)
			k.await(k.t, "the delete", func() bool { return !k.hasNote("n") })
			if !k.hasNote("stays") {
				k.t.Error("another object was deleted")
			}
		},
	}, {
		name: "an object with another UID is not deleted",
		run: func(k *task) {
			k.putNote("n")
			k.do(`delete {"apiVersion":"conformance.test/v1","kind":"Note","namespace":"` + k.namespace +
				`","name":"n","uid":"x"}`)
			r := k.wrote("the delete", func(r received) bool { return r.method == "DELETE" })
			if !strings.Contains(r.body, `"uid":"x"`) || !k.hasNote("n") {
				k.t.Errorf("the server has received %+v", r)
			}
		},
	}, {
		name: "a deletion of an absent object succeeds",
		run: func(k *task) {
			k.do(`delete {"apiVersion":"conformance.test/v1","kind":"Note","namespace":"`+k.namespace+`","name":"absent"}`,
				`status {"done":"yes"}`)
			k.hasStatus("yes")
		},
	}, {
		name: "the status is written once",
		run: func(k *task) {
			k.do(`status {"done":"yes"}`)
			k.hasStatus("yes")
			k.runs(2) // the status has changed the object
			k.do(`status {"done":"yes"}`, "log 0 61")
			k.do(`status {"done":"really"}`)
			k.hasStatus("really")
			writes := k.server.received(func(r received) bool {
				return strings.HasSuffix(r.path, "/namespaces/"+k.namespace+"/tasks/task/status")
			})
			if len(writes) > 3 {
				k.t.Errorf("the status was written %d times", len(writes))
			}
		},
	}, {
		name: "a status that is null is not written",
		run: func(k *task) {
			k.do("status null")
			k.runs(1)
			k.do(`status {"done":"yes"}`)
			k.hasStatus("yes")
			writes := k.server.received(func(r received) bool {
				return strings.HasSuffix(r.path, "/namespaces/"+k.namespace+"/tasks/task/status")
			})
			if !strings.Contains(writes[0].body, `"yes"`) {
				k.t.Errorf("the status was written with %s", writes[0].body)
			}
		},
	}, {
		name: "an event is recorded",
		run: func(k *task) {
			k.do(`event {"type":"Warning","reason":"Tested","message":"it was tested"}`)
			r := k.wrote("the event", func(r received) bool {
				return r.method == "POST" && strings.HasSuffix(r.path, "/events") && strings.Contains(r.body, "Tested")
			})
			if !strings.Contains(r.body, "it was tested") || !strings.Contains(r.body, `"Warning"`) {
				k.t.Errorf("the event is %s", r.body)
			}
		},
	}, {
		name: "a guest is called again after the time that it asks for",
		run: func(k *task) {
			k.do("requeue 20")
			k.runs(3)
		},
	}, {
		name: "a guest is called again after an error",
		run: func(k *task) {
			k.do("error it failed")
			k.runs(3)
			k.do(`status {"done":"yes"}`)
			k.hasStatus("yes")
		},
	}, {
		name: "an error fails the run after the writes",
		run: func(k *task) {
			k.do("apply "+k.note("n", "one"), `status {"done":"yes"}`, "requeue 3600000", "error it failed after "+k.namespace)
			k.hasStatus("yes")
			if !k.hasNote("n") {
				k.t.Error("the object was not applied before the status")
			}
			k.await(k.t, "two failed runs", func() bool {
				failed := 0
				for _, r := range k.logged("reconciler") {
					if strings.Contains(r.err, "it failed after "+k.namespace) {
						failed++
					}
				}
				return failed > 1
			})
		},
	}, {
		name: "a response has at most a thousand objects and events", alone: true,
		run: func(k *task) {
			events := slices.Repeat([]string{`event {"type":"Normal","reason":"Tested","message":"again"}`}, 1000)
			k.do(append(events, `status {"done":"yes"}`)...)
			k.hasStatus("yes")
			if s := k.status("reconciler"); s.Stats.Failures > 0 {
				k.t.Errorf("the module has failed with a thousand events: %+v", s)
			}
			k.do(append(events, events[0], `status {"done":"no"}`)...)
			k.await(k.t, "the failure", func() bool { return k.status("reconciler").Stats.Failures > 0 })
			k.do(`status {"done":"again"}`)
			k.hasStatus("again")
			writes := k.server.received(func(r received) bool { return strings.Contains(r.body, `"done":"no"`) && r.method == "PATCH" })
			if len(writes) > 0 {
				k.t.Errorf("the server has received %v", writes)
			}
		},
	}, {
		name: "a run fails when an object can not be applied",
		run: func(k *task) {
			k.do(`apply {"apiVersion":"conformance.test/v1","kind":"Unknown","metadata":{"name":"n"}}`, `status {"done":"yes"}`)
			k.runs(2)
			if got := k.server.get(taskPath, k.namespace+"/task")["status"]; got != nil {
				k.t.Errorf("the status is %v", got)
			}
		},
	}, {
		name: "a response that is not JSON fails the run", alone: true,
		run: func(k *task) {
			k.do("garbage")
			k.runs(2)
			k.do(`status {"done":"yes"}`)
			k.hasStatus("yes")
		},
	}, {
		name: "a trap fails the run and others continue", alone: true,
		run: func(k *task) {
			k.do("trap unreachable")
			k.named("other", `status {"done":"yes"}`)
			k.runs(1)
			k.do(`status {"done":"yes"}`)
			k.hasStatus("yes")
			k.await(k.t, "the status of the other object", func() bool {
				status, _ := k.server.get(taskPath, k.namespace+"/other")["status"].(object)
				return status["done"] == "yes"
			})
		},
	}, {
		name: "a deleted object is not reconciled",
		run: func(k *task) {
			k.do()
			k.runs(1)
			n := len(k.reports("r"))
			k.server.remove(taskPath, k.namespace+"/task")
			k.named("other")
			k.await(k.t, "the run of the other object", func() bool { return len(k.about("other", "r")) > 0 })
			if all := k.reports("r"); len(all) != n {
				k.t.Errorf("the guest was called with %v", all)
			}
		},
	}, {
		name: "a reconciler can not submit",
		run: func(k *task) {
			k.do(fmt.Sprintf("submit-filled %d 2", abi.OpDelay))
			k.runs(1)
			k.result(fmt.Sprint(int(abi.Invalid)))
		},
	}, {
		name: "a reconciler calls requests",
		run: func(k *task) {
			k.do(fmt.Sprintf("call %d 4096 %x", abi.OpRequest, encode(get("/test/echo"))))
			k.await(k.t, "the result", func() bool { return len(k.reports("= 0")) > 0 })
			if text := k.reports("= 0")[0]; !strings.Contains(text, `"status":200`) || !strings.HasSuffix(text, "GET  ") {
				k.t.Errorf("the result is %q", text)
			}
		},
	}, {
		name: "the time of a request does not count as time of the guest", alone: true, wake: 4 * time.Second,
		run: func(k *task) {
			gate := k.server.block("/apis/conformance.test/v1/slow")
			k.do(fmt.Sprintf("call %d 4096 %x", abi.OpRequest, encode(get("/apis/conformance.test/v1/slow/x"))),
				`status {"done":"yes"}`)
			k.runs(1)
			k.named("other", `status {"done":"yes"}`)
			k.await(k.t, "the status of the other object", func() bool {
				status, _ := k.server.get(taskPath, k.namespace+"/other")["status"].(object)
				return status["done"] == "yes"
			})
			<-time.After(8 * time.Second) // twice the limit
			gate()
			k.hasStatus("yes")
			if n := len(k.reports("trap")); n > 0 || k.status("reconciler").Failures > 0 {
				k.t.Errorf("the status is %+v", k.status("reconciler"))
			}
		},
	}, {
		name: "a reconciler has the arguments and the environment of its module by WASI",
		run: func(k *task) {
			k.do("arguments", "environ")
			k.await(k.t, "the results", func() bool { return len(k.reports("= 0")) > 1 })
			all := k.reports("= 0")
			if env := strings.TrimSpace(all[1]); all[0] != "2" || env != "COLOR=green" {
				k.t.Errorf("the reconciler has %s arguments and the environment %q", all[0], env)
			}
		},
	}, {
		name: "repeated failures of a reconciler quarantine the module", alone: true,
		run: func(k *task) {
			name := "failing"
			m := host.Module{Name: name, Binary: k.program.reconciler, Limits: host.Limits{LogsPerSecond: 1 << 20}}
			w := newWorld(k.t, k.program, host.Options{MaxFailures: 2})
			w.set(k.t, m)
			(&task{w, k.t, k.namespace}).do("trap unreachable")
			w.await(k.t, "the quarantine", func() bool { return w.status(name).Phase == host.Quarantined })
			if s := w.status(name); s.Err == nil || s.Failures != 2 {
				k.t.Errorf("the status is %+v", s)
			}
		},
	}, {
		name: "a reconciler has no watches to read",
		run: func(k *task) {
			k.do(fmt.Sprintf("call %d 4096 %x", abi.OpGet, encode(abi.Get{Watch: 1, Name: "a"})))
			k.runs(1)
			k.result(fmt.Sprint(int(abi.NotFound)) + " ")
		},
	}}
}

// hasStatus waits until the task has a status.
func (k *task) hasStatus(done string) {
	k.t.Helper()
	k.await(k.t, "the status "+done, func() bool {
		status, _ := k.server.get(taskPath, k.namespace+"/task")["status"].(object)
		return status["done"] == done
	})
}

// result checks the first result of a command of the task.
func (k *task) result(want string) {
	k.t.Helper()
	k.await(k.t, "the result", func() bool { return len(k.reports("= 0")) > 0 })
	if got := k.reports("= 0")[0]; got != want {
		k.t.Errorf("the result is %q, want %q", got, want)
	}
}

func testReconcilers(t *testing.T, p program) {
	t.Helper()
	m := host.Module{
		Name: "reconciler", Binary: p.reconciler, Limits: host.Limits{CallTimeout: time.Minute},
		Args: []string{"argument"}, Env: map[string]string{"COLOR": "green"},
	}
	shared := newWorld(t, p, host.Options{})
	shared.set(t, m)
	for _, c := range reconcilerClaims() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := shared
			if c.alone {
				w = newWorld(t, p, host.Options{MaxFailures: 1000})
				m := m
				m.Limits.CallTimeout = cmp.Or(c.wake, m.Limits.CallTimeout)
				w.set(t, m)
			}
			k := &task{w, t, moduleOf(c.name)}
			c.run(k)
			for _, r := range w.logged(m.Name) {
				if strings.HasPrefix(r.text, "@"+k.namespace+"/") && strings.Contains(r.text, " ! ") {
					t.Errorf("the guest has noticed: %s", r.text)
				}
			}
		})
	}
}
