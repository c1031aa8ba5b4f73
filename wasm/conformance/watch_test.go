// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

const configMapPath = "/api/v1/configmaps"

// configMaps selects the ConfigMaps of a namespace.
func configMaps(namespace string) abi.Watch {
	return abi.Watch{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true, Namespace: namespace}
}

func (g *guest) watch(mode string, w abi.Watch) int64 {
	g.t.Helper()
	return g.submit(mode, abi.OpWatch, w)
}

// put creates or replaces a ConfigMap in the namespace of the case, and returns its version.
func (g *guest) put(name string, data object, labels ...string) string {
	meta := object{"namespace": g.module.Name, "name": name}
	if len(labels) > 0 {
		all := object{}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			all[key] = value
		}
		meta["labels"] = all
	}
	return g.server.put(configMapPath, configMap(meta, data))
}

func configMap(meta, data object) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
}

func (g *guest) remove(name string) { g.server.remove(configMapPath, g.module.Name+"/"+name) }

// synced2 waits until a watch that is not read is synced.
func (g *guest) synced2(id int64) {
	g.t.Helper()
	g.awaitStatistics(id, func(s statistics) bool { return s.flags&abi.FlagSynced != 0 })
}

// fill changes an object until a guest that does not read receives no more.
func (g *guest) fill(id int64) {
	g.t.Helper()
	for held := g.statistics(id).held; held < abi.MaxDepth; {
		g.put("filler", object{"n": fmt.Sprint(held)})
		held = g.awaitStatistics(id, func(s statistics) bool { return s.held > held }).held
	}
}

// readAll reads the items of a watch in the mode H until it knows a version of an object.
func (g *guest) readAll(id int64, name, version string) {
	g.t.Helper()
	for range 2000 {
		g.do("read %d 10", id)
		if state(g.changes(id))[name].ResourceVersion == version {
			return
		}
	}
	g.t.Fatalf("version %s of %s has not arrived", version, name)
}

// watchClaims are the cases of section 6 that concern changes.
func watchClaims() []claim {
	return []claim{{
		name: "a watch sends all objects between sync begin and synced",
		run: func(g *guest) {
			g.put("a", object{"k": "1"})
			g.put("b", nil)
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			all := g.items(id)
			if all[0].flags&abi.FlagSyncBegin == 0 {
				g.t.Errorf("the first item has the flags %d", all[0].flags)
			}
			if names := slices.Sorted(maps.Keys(state(g.changes(id)))); !slices.Equal(names, []string{"a", "b"}) {
				g.t.Errorf("the objects are %v", names)
			}
		},
	}, {
		name: "an item of a watch is not larger than a message, and the watch of a larger object ends",
		run: func(g *guest) {
			g.put("a", object{"k": strings.Repeat("x", 40_000)})
			g.put("b", object{"k": strings.Repeat("x", abi.MaxMessage-20_000)})
			id := g.watch("w", configMaps(g.module.Name))
			g.known(id, "a", "b")
			for _, it := range g.items(id) {
				if it.size > abi.MaxMessage {
					g.t.Errorf("an item has %d bytes", it.size)
				}
			}
			keys := configMaps(g.module.Name)
			keys.KeysOnly = true
			other := g.watch("w", keys)
			g.put("c", object{"k": strings.Repeat("x", abi.MaxMessage)})
			g.wantError(id, abi.TooLarge)
			g.known(other, "a", "b", "c")
			g.remove("c")
			g.known(other, "a", "b")
		},
	}, {
		name: "a watch without objects is synced",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			if all := g.changes(id); len(all) > 0 || g.items(id)[0].flags&abi.FlagSyncBegin == 0 {
				g.t.Errorf("the items are %+v, the changes %+v", g.items(id), all)
			}
		},
	}, {
		name: "a change has the new state and its version",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			for n := range 3 {
				version := g.put("a", object{"n": fmt.Sprint(n)})
				c := g.version(id, "a", version)
				data, _ := c.object["data"].(object)
				if c.Namespace != g.module.Name || c.UID == "" || data["n"] != fmt.Sprint(n) {
					g.t.Errorf("the change is %+v", c)
				}
			}
		},
	}, {
		name: "a deleted object is gone",
		run: func(g *guest) {
			g.put("a", nil)
			g.put("b", nil)
			id := g.watch("w", configMaps(g.module.Name))
			g.known(id, "a", "b")
			g.remove("a")
			g.known(id, "b")
			all := g.changes(id)
			if c := all[len(all)-1]; c.Type != abi.ChangeGone || c.Name != "a" || c.Namespace != g.module.Name || c.size != 0 {
				g.t.Errorf("the change is %+v", c)
			}
		},
	}, {
		name: "a version is seen when all changes up to it were sent",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			last := ""
			for n := range 50 {
				last = g.put(fmt.Sprint("o", n%3), object{"n": fmt.Sprint(n)})
			}
			g.await(g.t, "the version", func() bool {
				return slices.ContainsFunc(g.allChanges(id), func(c change) bool {
					return c.Type == abi.ChangeSeen && number(c.ResourceVersion) >= number(last)
				})
			})
			seen := 0
			for _, c := range g.allChanges(id) {
				switch version := number(c.ResourceVersion); {
				case c.Type == abi.ChangeSeen:
					seen = version
				case version <= seen:
					g.t.Errorf("version %d of %s has arrived after version %d was seen", version, c.Name, seen)
				}
			}
		},
	}, {
		name: "a version is seen without a change of the selected objects",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			version := g.put("a", nil)
			g.version(id, "a", version)
			g.remove("a")
			later := strconv.Itoa(number(version) + 1)
			g.await(g.t, "the version", func() bool {
				all := g.allChanges(id)
				return number(all[len(all)-1].ResourceVersion) >= number(later)
			})
		},
	}, {
		name: "an object that was deleted and created again is gone and then set",
		run: func(g *guest) {
			g.put("a", nil)
			id := g.watch("H", configMaps(g.module.Name))
			g.synced2(id)
			g.fill(id)
			g.remove("a")
			again := g.put("a", nil)
			g.readAll(id, "a", again)
			g.wantGoneBetweenUIDs(id, "a")
		},
	}, {
		name: "a deletion is not lost when the guest does not read",
		run: func(g *guest) {
			g.put("a", nil)
			g.put("b", nil)
			id := g.watch("H", configMaps(g.module.Name))
			g.synced2(id)
			g.fill(id)
			g.remove("a")
			g.remove("b")
			version := g.put("end", nil)
			g.readAll(id, "end", version)
			g.known(id, "end", "filler")
		},
	}, {
		name: "only the newest state of an object waits for a guest that does not read, and is merged",
		run: func(g *guest) {
			g.put("a", nil)
			id := g.watch("H", configMaps(g.module.Name))
			g.synced2(id)
			g.fill(id)
			const updates = 1000
			version := ""
			for n := range updates {
				version = g.put("a", object{"n": fmt.Sprint(n)})
			}
			// Another guest has received all of them, so the host has, too.
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2"})
			other.version(other.watch("w", configMaps(g.module.Name)), "a", version)
			g.readAll(id, "a", version)
			if n := len(g.changes(id)); n > abi.MaxDepth+10 {
				g.t.Errorf("%d changes have arrived after %d updates, want those that were not read and the last", n, updates)
			}
			if c := state(g.changes(id))["a"]; !c.Merged {
				g.t.Errorf("the last change is %+v, want a merged one", c.Change)
			}
			g.readAll(id, "a", g.put("a", nil))
			if c := state(g.changes(id))["a"]; c.Merged {
				g.t.Errorf("the change is %+v, although no other change of the object waited", c.Change)
			}
		},
	}, {
		name: "five thousand objects arrive at a guest that does not read at first",
		run: func(g *guest) {
			id := g.watch("h", configMaps(g.module.Name))
			g.synced2(id)
			const objects = 5000
			var all []object
			for n := range objects {
				all = append(all, configMap(object{"namespace": g.module.Name, "name": fmt.Sprintf("o%04d", n)}, nil))
			}
			g.server.putAll(configMapPath, all)
			last := g.put("last", nil)
			g.awaitStatistics(id, func(s statistics) bool {
				if s.held > abi.MaxDepth {
					g.t.Fatalf("the guest has %d unread items", s.held)
				}
				g.do("read %d 1000", id)
				return s.changes > objects
			})
			text := g.do("call %d 4000 %x", abi.OpGet, encode(abi.Get{Watch: id, Namespace: g.module.Name, Name: "last"}))
			if v := metadata(result[object](g.t, text))["resourceVersion"]; v != last {
				g.t.Errorf("the version of the last object is %v, want %s", v, last)
			}
		},
	}, {
		name: "keysOnly sends no objects and get reads them",
		run: func(g *guest) {
			version := g.put("a", object{"k": "v"})
			w := configMaps(g.module.Name)
			w.KeysOnly = true
			id := g.watch("w", w)
			if c := g.version(id, "a", version); c.size != 0 || c.UID == "" {
				g.t.Errorf("the change is %+v", c)
			}
			text := g.do("call %d 4000 %x", abi.OpGet, encode(abi.Get{Watch: id, Namespace: g.module.Name, Name: "a"}))
			if data, _ := result[object](g.t, text)["data"].(object); data["k"] != "v" {
				g.t.Errorf("the object is %s", text)
			}
		},
	}, {
		name: "the projection metadata has only metadata",
		run: func(g *guest) {
			version := g.put("a", object{"k": "v"}, "l=1")
			w := configMaps(g.module.Name)
			w.Projection = abi.ProjectionMetadata
			c := g.version(g.watch("w", w), "a", version)
			names := slices.Sorted(maps.Keys(c.object))
			if !slices.Equal(names, []string{"apiVersion", "kind", "metadata"}) || metadata(c.object)["labels"] == nil {
				g.t.Errorf("the object is %v", c.object)
			}
		},
	}, {
		name: "a late guest receives all objects and shares the watch",
		run: func(g *guest) {
			w := configMaps(g.module.Name)
			w.LabelSelector = "shared-by=" + g.module.Name
			g.put("a", nil, w.LabelSelector)
			first := g.watch("w", w)
			g.known(first, "a")
			g.put("b", nil, w.LabelSelector)
			g.known(first, "a", "b")
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2"})
			second := other.watch("w", w)
			other.synced(second)
			other.known(second, "a", "b")
			version := g.put("c", nil, w.LabelSelector)
			g.version(first, "c", version)
			other.version(second, "c", version)
			watches := g.server.received(func(r received) bool {
				return strings.Contains(r.query, "watch=true") && strings.Contains(r.query, g.module.Name)
			})
			if len(watches) != 1 {
				g.t.Errorf("the server has %d watches, want 1: %v", len(watches), watches)
			}
		},
	}, {
		name: "a watch has only the objects of its label selector",
		run: func(g *guest) {
			g.put("a", nil, "tier=web")
			g.put("b", nil, "tier=db")
			w := configMaps(g.module.Name)
			w.LabelSelector = "tier=web"
			id := g.watch("w", w)
			g.synced(id)
			g.known(id, "a")
		},
	}, {
		name: "an object that the selector stops to match is gone",
		run: func(g *guest) {
			g.put("a", nil, "tier=web")
			w := configMaps(g.module.Name)
			w.LabelSelector = "tier=web"
			id := g.watch("w", w)
			g.known(id, "a")
			g.put("a", nil, "tier=db")
			g.known(id)
		},
	}, {
		name: "a watch has only the objects of its field selector",
		run: func(g *guest) {
			g.put("a", nil)
			g.put("b", nil)
			w := configMaps(g.module.Name)
			w.FieldSelector = "metadata.name=b"
			id := g.watch("w", w)
			g.synced(id)
			g.known(id, "b")
		},
	}, {
		name: "a watch has only the objects of its namespace",
		run: func(g *guest) {
			g.put("a", nil)
			g.server.put(configMapPath, object{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"namespace": g.module.Name + "-2", "name": "b"},
			})
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			g.known(id, "a")
		},
	}, {
		name: "a watch without a namespace has the objects of all",
		run: func(g *guest) {
			w := configMaps("")
			w.LabelSelector = "all-of=" + g.module.Name
			g.put("a", nil, w.LabelSelector)
			g.server.put(configMapPath, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{
				"namespace": g.module.Name + "-2", "name": "b", "labels": object{"all-of": g.module.Name},
			}})
			g.known(g.watch("w", w), "a", "b")
		},
	}, {
		name: "two equal watches of a guest are independent",
		run: func(g *guest) {
			g.put("a", nil)
			first, second := g.watch("w", configMaps(g.module.Name)), g.watch("w", configMaps(g.module.Name))
			g.known(first, "a")
			g.known(second, "a")
			g.do("cancel %d", first)
			g.put("b", nil)
			g.known(second, "a", "b")
			g.known(first, "a")
		},
	}, {
		name: "a watch continues when the server ends it",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			g.put("a", nil)
			g.known(id, "a")
			g.server.cutWatches()
			g.put("b", nil)
			g.remove("a")
			g.known(id, "b")
		},
	}, {
		name: "a watch that the server does not allow ends with forbidden",
		run:  func(g *guest) { g.wantError(g.deny(), abi.Forbidden) },
	}, {
		name: "a watch that the service account of the module may not have ends with forbidden",
		run: func(g *guest) {
			account := core.ObjectRef{Namespace: g.module.Name, Name: "account"}
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2", ServiceAccount: account})
			other.wantError(other.deny(), abi.Forbidden)
			id := other.watch("w", configMaps(g.module.Name))
			other.synced(id)
			reviews := g.server.received(func(r received) bool {
				return strings.HasSuffix(r.path, "accessreviews") && strings.Contains(r.body, account.Name)
			})
			if len(reviews) == 0 {
				g.t.Error("the host has not asked whether the service account may list and watch")
			}
		},
	}}
}

// deny forbids to read secrets, and submits a watch of them.
func (g *guest) deny() int64 {
	g.t.Helper()
	g.server.deny("/api/v1/secrets")
	return g.submit("l", abi.OpWatch, abi.Watch{
		Version: "v1", Kind: "Secret", Resource: "secrets", Namespaced: true, Namespace: g.module.Name,
	})
}

// wantGoneBetweenUIDs checks that an object was gone before it got another UID.
func (g *guest) wantGoneBetweenUIDs(id int64, name string) {
	g.t.Helper()
	var uids []string
	uid := ""
	for _, c := range g.changes(id) {
		switch {
		case c.Name != name:
		case c.Type == abi.ChangeGone:
			uid = ""
		default:
			if uid != "" && uid != c.UID {
				g.t.Errorf("the UID of %s changed from %s to %s without gone", name, uid, c.UID)
			}
			if uid = c.UID; !slices.Contains(uids, uid) {
				uids = append(uids, uid)
			}
		}
	}
	if len(uids) != 2 {
		g.t.Errorf("the UIDs of %s are %v, want two", name, uids)
	}
}

// number returns the number of a version.
func number(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}

// readClaims are the cases of get and list.
func readClaims() []claim {
	return []claim{{
		name: "get returns the last state of an object that is gone",
		run: func(g *guest) {
			version := g.put("a", object{"k": "last"})
			id := g.watch("w", configMaps(g.module.Name))
			g.known(id, "a")
			g.remove("a")
			g.known(id)
			ask := abi.Get{Watch: id, Namespace: g.module.Name, Name: "a", ResourceVersion: version}
			text := g.do("call %d 4000 %x", abi.OpGet, encode(ask))
			if data, _ := result[object](g.t, text)["data"].(object); data["k"] != "last" {
				g.t.Errorf("the object is %s", text)
			}
			ask.ResourceVersion = ""
			g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpGet, encode(ask))
		},
	}, {
		name: "get returns an object or a code",
		run: func(g *guest) {
			version := g.put("a", object{"k": "v"})
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			ask := abi.Get{Watch: id, Namespace: g.module.Name, Name: "a"}
			text := g.do("call %d 4000 %x", abi.OpGet, encode(ask))
			if obj := result[object](g.t, text); metadata(obj)["resourceVersion"] != version || obj["data"] == nil {
				g.t.Errorf("the object is %v", obj)
			}
			ask.Name = "absent"
			g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpGet, encode(ask))
		},
	}, {
		name: "get and list of an unknown watch return not found",
		run: func(g *guest) {
			delay := g.submit("l", abi.OpDelay, abi.Delay{Millis: 1 << 30})
			for _, id := range []int64{0, -1, delay, 1 << 40} {
				g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpGet, encode(abi.Get{Watch: id, Name: "a"}))
				g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpList, encode(abi.List{Watch: id}))
			}
		},
	}, {
		name: "get of a cancelled watch returns not found",
		run: func(g *guest) {
			g.put("a", nil)
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			g.do("cancel %d", id)
			ask := abi.Get{Watch: id, Namespace: g.module.Name, Name: "a"}
			g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpGet, encode(ask))
		},
	}, {
		name:   "get and list return the code of an ended watch until its last item has arrived",
		limits: host.Limits{CacheBytes: 1 << 20},
		run: func(g *guest) {
			id := g.watch("H", configMaps(g.module.Name))
			g.synced2(id)
			g.fill(id)
			putLarge(g.server, g.module.Name, 60)
			ask := encode(abi.Get{Watch: id, Namespace: g.module.Name, Name: "filler"})
			g.await(g.t, "the end of the watch", func() bool { return g.number("call %d 4000 %x", abi.OpGet, ask) < 0 })
			g.wantCode(abi.OverLimit, "call %d 4000 %x", abi.OpGet, ask)
			g.wantCode(abi.OverLimit, "call %d 4000 %x", abi.OpList, encode(abi.List{Watch: id}))
			for g.statistics(id).flags&abi.FlagLast == 0 {
				g.do("read %d 10", id)
			}
			g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpGet, ask)
			g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpList, encode(abi.List{Watch: id}))
		},
	}, {
		name: "get and list of invalid messages return invalid",
		run: func(g *guest) {
			for _, op := range []abi.Operation{abi.OpGet, abi.OpList} {
				g.wantCode(abi.Invalid, "call %d 4000 7b", op)
				g.wantCode(abi.Invalid, "call %d 4000 %x", op, `{"watch":"one"}`)
			}
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			g.wantCode(abi.Invalid, "call %d 4000 %x", abi.OpList, encode(abi.List{Watch: id, Limit: -1}))
		},
	}, {
		name: "get and list before the watch is synced return not ready",
		run: func(g *guest) {
			// No other case has this resource, which the server lists only later.
			w := abi.Watch{Group: "conformance.test", Version: "v1", Kind: "Late", Resource: "lates", Namespaced: true}
			open := g.server.block("/apis/conformance.test/v1/lates")
			defer open()
			id := g.watch("w", w)
			g.wantCode(abi.NotReady, "call %d 4000 %x", abi.OpGet, encode(abi.Get{Watch: id, Namespace: "x", Name: "a"}))
			g.wantCode(abi.NotReady, "call %d 4000 %x", abi.OpList, encode(abi.List{Watch: id}))
			open()
			g.synced(id)
			g.wantCode(abi.NotFound, "call %d 4000 %x", abi.OpGet, encode(abi.Get{Watch: id, Namespace: "x", Name: "a"}))
		},
	}, {
		name: "get returns the state before the last change by its version",
		run: func(g *guest) {
			first := g.put("a", object{"n": "1"})
			id := g.watch("w", configMaps(g.module.Name))
			g.version(id, "a", first)
			second := g.put("a", object{"n": "2"})
			g.version(id, "a", second)
			for version, want := range map[string]string{first: first, second: second, "": second, "7": second} {
				ask := abi.Get{Watch: id, Namespace: g.module.Name, Name: "a", ResourceVersion: version}
				text := g.do("call %d 4000 %x", abi.OpGet, encode(ask))
				if got := metadata(result[object](g.t, text))["resourceVersion"]; got != want {
					g.t.Errorf("get of version %q returned version %v, want %s", version, got, want)
				}
			}
		},
	}, {
		name: "list returns each object once in pages",
		run: func(g *guest) {
			for n := range 12 {
				g.put(fmt.Sprintf("o%02d", n), nil)
			}
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			var names []string
			var sizes []int
			ask := abi.List{Watch: id, Limit: 5}
			for range 5 {
				page := result[abi.Page](g.t, g.do("call %d 100000 %x", abi.OpList, encode(ask)))
				sizes = append(sizes, len(page.Items))
				for _, data := range page.Items {
					names = append(names, nameOf(data))
				}
				if ask.Continue = page.Continue; ask.Continue == "" {
					break
				}
			}
			slices.Sort(names)
			if n := len(names); n != 12 || len(slices.Compact(names)) != 12 || !slices.Equal(sizes, []int{5, 5, 2}) {
				g.t.Errorf("the pages have the sizes %v and the objects %v", sizes, names)
			}
		},
	}, {
		name: "list selects by label",
		run: func(g *guest) {
			g.put("a", nil, "tier=web")
			g.put("b", nil, "tier=db")
			g.put("c", nil)
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			for selector, want := range map[string][]string{
				"tier=web": {"a"}, "tier": {"a", "b"}, "tier!=web": {"b", "c"}, "tier in (db)": {"b"}, "x=y": {},
			} {
				ask := abi.List{Watch: id, LabelSelector: selector}
				page := result[abi.Page](g.t, g.do("call %d 100000 %x", abi.OpList, encode(ask)))
				names := []string{}
				for _, data := range page.Items {
					names = append(names, nameOf(data))
				}
				slices.Sort(names)
				if !slices.Equal(names, want) {
					g.t.Errorf("list of %q has %v, want %v", selector, names, want)
				}
			}
			g.wantCode(abi.Invalid, "call %d 4000 %x", abi.OpList, encode(abi.List{Watch: id, LabelSelector: "tier in ("}))
		},
	}, {
		name: "list selects by namespace",
		run: func(g *guest) {
			w := configMaps("")
			w.LabelSelector = "listed-by=" + g.module.Name
			g.put("a", nil, w.LabelSelector)
			g.server.put(configMapPath, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{
				"namespace": g.module.Name + "-2", "name": "b", "labels": object{"listed-by": g.module.Name},
			}})
			id := g.watch("w", w)
			g.known(id, "a", "b")
			ask := abi.List{Watch: id, Namespace: g.module.Name}
			page := result[abi.Page](g.t, g.do("call %d 100000 %x", abi.OpList, encode(ask)))
			if len(page.Items) != 1 || nameOf(page.Items[0]) != "a" {
				g.t.Errorf("the page has %s", page.Items)
			}
		},
	}}
}

// nameOf returns the name of an object in JSON.
func nameOf(data []byte) string {
	var obj struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal(data, &obj); err != nil {
		return err.Error()
	}
	return obj.Metadata.Name
}
