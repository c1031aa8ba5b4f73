// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// logBytes is the maximum size of a log record.
const logBytes = 16 << 10

// logClaims are the cases of log.
func logClaims() []claim {
	return []claim{{
		name: "a log record has the level and the name of the module",
		run: func(g *guest) {
			for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				text := "a record of level " + level.String()
				g.do("log %d %x", level, text)
				want := record{text, level, ""}
				if !slices.Contains(g.logged(g.module.Name), want) {
					g.t.Errorf("the log has no record %+v", want)
				}
			}
		},
	}, {
		name: "a log record outside of the memory is ignored",
		run: func(g *guest) {
			for _, p := range []string{"0xfffffff0 16", "0xffffffff 0xffffffff", "0 0xffffffff"} {
				g.do("log-pointer %s", p)
			}
			g.barrier()
		},
	}, {
		name: "a long log record is cut",
		run: func(g *guest) {
			g.do("log-filled 1000000")
			all := g.logged(g.module.Name)
			for _, r := range all {
				if len(r.text) > logBytes {
					g.t.Errorf("the log has a record of %d bytes", len(r.text))
				}
			}
			if !slices.ContainsFunc(all, func(r record) bool { return r.text == strings.Repeat("x", logBytes) }) {
				g.t.Errorf("the log has no record of %d bytes of the text", logBytes)
			}
		},
	}, {
		name: "a log record with invalid UTF-8 is written",
		run: func(g *guest) {
			g.do("log 0 %x", "broken \xff\xfe record")
			if !slices.ContainsFunc(g.logged(g.module.Name), func(r record) bool {
				return strings.HasPrefix(r.text, "broken ") && strings.ToValidUTF8(r.text, "") == r.text
			}) {
				g.t.Error("the log has no record of the text, or it is not UTF-8")
			}
		},
	}, {
		name: "the number of log records is limited",
		run: func(g *guest) {
			name := g.module.Name + "-2"
			g.set(g.t, host.Module{
				Name: name, Args: []string{"1 log-many 20000"}, Limits: host.Limits{LogsPerSecond: 10},
			})
			g.await(g.t, "the start", func() bool { return g.status(name).Phase == host.Running })
			if n := len(g.logged(name)); n == 0 || n > 2000 {
				g.t.Errorf("the log has %d records", n)
			}
		},
	}, {
		name: "what a guest prints is in the log with the name of the module",
		run: func(g *guest) {
			g.do("print %x", "printed text\n")
			g.await(g.t, "the record", func() bool {
				return slices.ContainsFunc(g.logged(g.module.Name), func(r record) bool {
					return strings.Contains(r.text, "printed text") && !strings.HasPrefix(r.text, "@")
				})
			})
		},
	}, {
		name: "one fd_write writes a part of a long text", only: "C", // the library of Go calls it again
		run: func(g *guest) {
			const most = 64 << 10
			if n := g.number("print %x", strings.Repeat("x", most+100)); n != most {
				g.t.Errorf("fd_write has written %d bytes, want %d", n, most)
			}
			records := 0
			for _, r := range g.logged(g.module.Name) {
				if r.text == strings.Repeat("x", logBytes) {
					records++
				}
			}
			if records != most/logBytes {
				g.t.Errorf("the log has %d records of %d bytes, want %d", records, logBytes, most/logBytes)
			}
		},
	}}
}

// wasiClaims are the cases of section 9, and of guests that wait in poll_oneoff.
func wasiClaims() []claim {
	all := []claim{{
		name: "an actor has no environment and one argument by WASI",
		run: func(g *guest) {
			env := map[string]string{"COLOR": "green"}
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2", Args: []string{"1 count"}, Env: env})
			if text := strings.TrimSpace(other.do("environ")); text != "" {
				g.t.Errorf("the environment is %q", text)
			}
			if n := other.number("arguments"); n != 1 {
				g.t.Errorf("a guest has %d arguments, want the name of the program", n)
			}
		},
	}, {
		name: "the monotonic clock goes on",
		run: func(g *guest) {
			last := int64(-1)
			for range 5 {
				now := g.number("clock")
				if now < last {
					g.t.Errorf("the clock went from %d to %d", last, now)
				}
				last = now
			}
			id := g.submit("l", abi.OpDelay, abi.Delay{Millis: 20})
			g.last(id)
			if passed := g.number("clock") - last; passed < int64(20*time.Millisecond) {
				g.t.Errorf("the clock went on by %d ns during a delay of 20 ms", passed)
			}
		},
	}, {
		name: "random numbers differ",
		run: func(g *guest) {
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2"})
			seen := map[string]bool{}
			for _, o := range []*guest{g, other, g, other} {
				r := o.do("random")
				if seen[r] {
					g.t.Errorf("%s was returned twice", r)
				}
				seen[r] = true
			}
		},
	}, {
		name: "poll_oneoff without descriptor 100 waits for a clock within the time limit",
		run: func(g *guest) {
			before := g.number("clock")
			if n := g.number("wait 30"); n != 1 {
				g.t.Errorf("poll_oneoff reported %d events, want 1", n)
			}
			if passed := g.number("clock") - before; passed < int64(30*time.Millisecond) {
				g.t.Errorf("poll_oneoff returned after %d ns, want 30 ms", passed)
			}
		},
	}, {
		name:   "poll_oneoff without descriptor 100 ends an instance that waits beyond the time limit",
		limits: host.Limits{CallTimeout: 4 * time.Second},
		run: func(g *guest) {
			g.send("wait 3600000")
			g.session(2)
			s := g.status(g.module.Name)
			if s.Failures != 1 || s.Err == nil || !strings.Contains(s.Err.Error(), "time limit") {
				g.t.Errorf("the status is %+v, want one failure by the time limit", s)
			}
		},
	}}
	for _, name := range []string{
		"path_open", "path_filestat_get", "path_create_directory", "path_unlink_file", "fd_prestat_get", "fd_read_0",
		"fd_read_3", "fd_write_3", "fd_readdir", "sock_recv", "sock_send", "sock_shutdown",
	} {
		all = append(all, claim{name: name + " is not available", run: func(g *guest) {
			const badDescriptor, notSupported = 8, 52
			if n := g.number("wasi %s", name); n != badDescriptor && n != notSupported {
				g.t.Errorf("%s = %d, want EBADF or ENOSYS", name, n)
			}
		}})
	}
	return all
}

// failureClaims are the cases of section 10.
func failureClaims() []claim {
	all := []claim{{
		name: "operations of an ended instance are cancelled",
		run: func(g *guest) {
			key := "for=" + g.module.Name
			g.submit("l", abi.OpRequest, get("/test/hang?"+key))
			g.hangs(key)
			g.send("trap unreachable")
			g.ended(key)
		},
	}, {
		name: "a watch of a new instance sends all objects again",
		run: func(g *guest) {
			g.put("a", nil)
			g.known(g.watch("w", configMaps(g.module.Name)), "a")
			g.send("trap unreachable")
			g.session(2)
			before := len(g.reports("~"))
			g.watch("w", configMaps(g.module.Name))
			g.await(g.t, "the object", func() bool { return len(g.reports("~")) > before })
		},
	}, {
		name: "a module that fails repeatedly is quarantined until it is set again",
		run: func(g *guest) {
			m := host.Module{Name: g.module.Name + "-2", Args: []string{"1 trap unreachable"}}
			other := g.set(g.t, m)
			g.await(g.t, "the quarantine", func() bool { return g.status(m.Name).Phase == host.Quarantined })
			s := g.status(m.Name)
			if n := len(other.reports("start")); n != 3 || s.Failures != 3 || s.Err == nil {
				g.t.Errorf("the module has started %d times, its status is %+v", n, s)
			}
			g.barrier()
			if n := len(other.reports("start")); n != 3 {
				g.t.Errorf("the quarantined module has started %d times", n)
			}
			m.Args = []string{"control"}
			other = g.set(g.t, m)
			other.session(1)
		},
	}, {
		name: "a module that is set again unchanged stays quarantined",
		run: func(g *guest) {
			m := host.Module{Name: g.module.Name + "-2", Args: []string{"1 trap unreachable"}}
			other := g.set(g.t, m)
			g.await(g.t, "the quarantine", func() bool { return g.status(m.Name).Phase == host.Quarantined })
			g.set(g.t, m)
			g.barrier()
			if n := len(other.reports("start")); n != 3 {
				g.t.Errorf("the module has started %d times, want 3", n)
			}
		},
	}, {
		name: "a module that is replaced starts with the new configuration",
		run: func(g *guest) {
			g.do("count")
			m := g.module
			m.Namespace = "away"
			if err := g.Set(g.t.Context(), m); err != nil {
				g.t.Fatal(err)
			}
			g.session(2)
			if text := g.do("startup"); !strings.Contains(text, `"namespace":"away"`) {
				g.t.Errorf("the message of kube_start is %s", text)
			}
		},
	}, {
		name: "a module that is removed is not called again",
		run: func(g *guest) {
			g.submit("l", abi.OpDelay, abi.Delay{Millis: 100})
			g.Remove(g.t.Context(), g.module.Name)
			n := len(g.logged(g.module.Name))
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2"})
			other.last(other.submit("l", abi.OpDelay, abi.Delay{Millis: 200}))
			if all := g.logged(g.module.Name); len(all) != n {
				g.t.Errorf("the removed module has logged: %v", all[n:])
			}
		},
	}}
	for kind, text := range map[string]string{
		"unreachable": "a trap", "panic": "a panic", "exit0": "an exit without an error", "exit3": "an exit with an error",
		"stack": "an overflow of the stack", "memory": "too much memory", "loop": "an endless loop",
		"deadlock": "a deadlock",
	} {
		limits := host.Limits{MemoryBytes: 32 << 20}
		if kind == "loop" || kind == "deadlock" {
			limits.CallTimeout = 4 * time.Second // the others must not exceed it on a busy machine
		}
		all = append(all, claim{
			name: text + " ends only the instance", limits: limits,
			run: func(g *guest) {
				for range 3 {
					g.do("count")
				}
				g.send("trap %s", kind)
				g.session(2)
				if n := g.do("count"); n != "1" {
					g.t.Errorf("the new instance has counted to %s, want 1", n)
				}
				s := g.status(g.module.Name)
				if s.Failures != 1 || s.Err == nil || s.Phase != host.Running {
					g.t.Errorf("the status is %+v", s)
				}
			},
		})
	}
	return all
}

// quiesced waits until the guest was asked whether it may be unloaded, or is ready to end.
func (g *guest) quiesced(reason int32) {
	g.t.Helper()
	g.await(g.t, fmt.Sprintf("kube_quiesce with reason %d", reason), func() bool {
		return slices.Contains(g.reports("q"), strconv.Itoa(int(reason)))
	})
}

// unloads waits until the guest is unloaded.
func (g *guest) unloads() {
	g.t.Helper()
	g.await(g.t, "the phase Unloaded", func() bool { return g.status(g.module.Name).Phase == host.Unloaded })
}

// unloadClaims are the cases of section 11, and of kube_quiesce. They have a host that unloads actors soon.
func unloadClaims() []claim {
	return []claim{{
		name: "kube_quiesce announces the removal of a module",
		run: func(g *guest) {
			g.Remove(g.t.Context(), g.module.Name)
			g.quiesced(abi.ReasonStop)
		},
	}, {
		name: "an idle actor that agrees is unloaded and its memory comes back",
		run: func(g *guest) {
			for n := range 3 {
				g.unloads()
				g.quiesced(abi.ReasonUnload)
				if got := g.number("count"); got != int64(n+1) {
					g.t.Errorf("the guest has counted to %d, want %d", got, n+1)
				}
			}
			if n := len(g.reports("start")); n != 1 {
				g.t.Errorf("the guest has started %d times, want once", n)
			}
		},
	}, {
		name: "a watch goes on while an actor is unloaded",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			g.unloads()
			g.put("a", nil)
			g.known(id, "a")
			g.unloads()
			g.remove("a")
			g.known(id)
		},
	}, {
		name: "a delay wakes an actor that is unloaded",
		run: func(g *guest) {
			id := g.submit("l", abi.OpDelay, abi.Delay{Millis: 1000})
			g.unloads()
			g.last(id)
		},
	}, {
		name: "a timer of a scheduler wakes an actor that is unloaded", only: "Go",
		run: func(g *guest) {
			g.do("sleep 1000")
			g.unloads()
			g.await(g.t, "the end of the timer", func() bool { return len(g.reports("t")) == 1 })
		},
	}, {
		name: "a request goes on while an actor is unloaded",
		run: func(g *guest) {
			open := g.server.block("/apis/conformance.test/v1/slow")
			id := g.submit("l", abi.OpRequest, get("/apis/conformance.test/v1/slow/x"))
			g.unloads()
			open()
			g.wantResponse(id, 404)
		},
	}, {
		name: "unread items are not lost while an actor is unloaded",
		run: func(g *guest) {
			id := g.submit("h", abi.OpRequest, get("/test/big?bytes=1000000"))
			g.awaitStatistics(id, func(s statistics) bool { return s.held > 10 })
			g.unloads()
			s := g.awaitStatistics(id, func(s statistics) bool { return s.flags&abi.FlagLast != 0 })
			if s.bytes < 1000000 || g.number("read %d 1000", id) != int64(s.items) {
				g.t.Errorf("the statistics are %+v", s)
			}
		},
	}, {
		name: "the clock does not go back and random numbers differ after an actor was unloaded",
		run: func(g *guest) {
			clock, seen := g.number("clock"), map[string]bool{}
			for range 3 {
				g.unloads()
				now, random := g.number("clock"), g.do("random")
				if now < clock || seen[random] {
					g.t.Errorf("the clock went from %d to %d, random numbers were %v and %s", clock, now, seen, random)
				}
				clock, seen[random] = now, true
			}
		},
	}, {
		name: "an actor that does not agree is not unloaded",
		run: func(g *guest) {
			g.do("quiesce 1")
			before := len(g.reports("q"))
			g.await(g.t, "another kube_quiesce", func() bool { return len(g.reports("q")) > before })
			if phase := g.status(g.module.Name).Phase; phase != host.Running {
				g.t.Errorf("the phase is %s", phase)
			}
		},
	}, {
		name: "a trap after an actor was unloaded ends only the instance",
		run: func(g *guest) {
			g.unloads()
			g.send("trap unreachable")
			g.session(2)
			if n := g.do("count"); n != "1" {
				g.t.Errorf("the new instance has counted to %s, want 1", n)
			}
		},
	}}
}
