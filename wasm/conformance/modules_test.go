// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

// module is a WebAssembly module whose functions do nothing. Its kube_describe returns a description.
type module struct {
	imports     [][2]string // functions without parameters
	lacks       string      // the name of an export that it does not have
	describes   string
	describesAt uint64 // the result of kube_describe; 0 for the place of the description
	traps       string // the name of an export that is a trap
	waits       string // the name of an export that never returns
	submits     []byte // a message that kube_start submits until the host refuses it; the guest reads no items
	body        int    // the number of bytes after submits that belong to the message
	delays      bool   // submits is a delay, not a request
	wakes       int64  // the result of kube_wake if submits is set; 0 for 1000
	spins       int    // kube_wake counts to this number, reads the item, and submits again; kube_reconcile returns submits
	starts      bool   // _initialize is also its start function
	setsTable   bool   // it has a table that kube_tick changes, so that no image can be taken of it
}

// The value types and instructions of the modules.
const (
	i32, i64                                       = 0x7f, 0x7e
	unreachable, loop, branch, end                 = 0x00, 0x03, 0x0c, 0x0b
	constantI32, constantI64, noResult, exportFunc = 0x41, 0x42, 0x40, 0x00
	callFunc, branchIf, greater                    = 0x10, 0x0d, 0x55
	localGet, localSet, localTee, drop, addI32     = 0x20, 0x21, 0x22, 0x1a, 0x6a
	funcref, noFunction, setTable                  = 0x70, 0xd0, 0x26
)

// exports are the functions of the modules, with their parameters and results.
func exports() []struct {
	name    string
	in, out []byte
} {
	return []struct {
		name    string
		in, out []byte
	}{
		{"_initialize", nil, nil},
		{abi.Describe, nil, []byte{i64}},
		{abi.Alloc, []byte{i32}, []byte{i32}},
		{abi.Start, []byte{i32, i32}, []byte{i32}},
		{abi.Wake, []byte{i64, i32, i32, i32}, []byte{i32}},
		{abi.Tick, nil, nil},
		{abi.Reconcile, []byte{i32, i32}, []byte{i64}},
	}
}

// The addresses of the description and of the message that kube_start submits.
const data, message = 1024, 4096

func text(s string) []byte { return wasmtest.Sized([]byte(s)) }

// encode returns the binary.
func (m module) encode() []byte {
	types := [][]byte{{0x60, 0, 0}} // that of the imports
	var imports, functions, exported, codes [][]byte
	for _, i := range m.imports {
		imports = append(imports, slices.Concat(text(i[0]), text(i[1]), []byte{0, 0}))
	}
	if m.submits != nil { // its type is the last one
		imports = append(imports, slices.Concat(text(abi.Module), text(abi.Submit), []byte{0, byte(len(exports()) + 1)}))
	}
	if m.lacks != "memory" {
		exported = append(exported, append(text("memory"), 2, 0))
	}
	for n, e := range exports() {
		types = append(types, slices.Concat([]byte{0x60}, wasmtest.Sized(e.in), wasmtest.Sized(e.out)))
		functions = append(functions, []byte{byte(n + 1)})
		ofProfile := strings.Contains(m.describes, abi.ProfileReconciler) == (e.name == abi.Reconcile) ||
			slices.Contains([]string{"_initialize", abi.Describe, abi.Alloc}, e.name)
		if ofProfile && e.name != m.lacks {
			exported = append(exported, append(text(e.name), exportFunc, byte(len(imports)+n)))
		}
		codes = append(codes, wasmtest.Sized(m.code(e.name, e.out)))
	}
	contents := [][]byte{slices.Concat([]byte{0, constantI32}, wasmtest.Signed(data), []byte{end}, text(m.describes))}
	pages := byte(2)
	if m.submits != nil {
		pages = 80
		types = append(types, []byte{0x60, 4, i32, i32, i32, i64, 1, i64})
		contents = append(contents, slices.Concat([]byte{0, constantI32}, wasmtest.Signed(message), []byte{end}, wasmtest.Sized(m.submits)))
	}
	sections := [][]byte{
		1: wasmtest.Vector(types...), 2: wasmtest.Vector(imports...), 3: wasmtest.Vector(functions...), 5: {1, 0, pages}, 7: wasmtest.Vector(exported...),
		10: wasmtest.Vector(codes...),
		11: wasmtest.Vector(contents...),
	}
	if m.setsTable {
		sections[4] = []byte{1, funcref, 0, 1}
	}
	if m.starts {
		sections[8] = []byte{byte(len(imports))}
	}
	return wasmtest.Module(sections)
}

// code returns the code of a function.
func (m module) code(name string, out []byte) []byte {
	code := []byte{0} // no variables
	if name == m.traps {
		return append(code, unreachable, end)
	}
	if name == m.waits {
		code = append(code, loop, noResult, branch, 0, end)
	}
	if name == abi.Tick && m.setsTable {
		code = append(code, constantI32, 0, noFunction, funcref, setTable, 0)
	}
	op := abi.OpRequest
	if m.delays {
		op = abi.OpDelay
	}
	submit := slices.Concat([]byte{constantI32, byte(op), constantI32}, wasmtest.Signed(message),
		[]byte{constantI32}, wasmtest.Signed(int64(len(m.submits)+m.body)), []byte{constantI64, 0, callFunc, 0})
	if name == abi.Start && m.submits != nil {
		code = slices.Concat(code, []byte{loop, noResult}, submit, []byte{constantI64, 0, greater, branchIf, 0, end})
	}
	spin := func(local byte) []byte { // which follows the parameters
		return slices.Concat([]byte{1, 1, i32, constantI32}, wasmtest.Signed(int64(m.spins)), []byte{localSet, local, loop, noResult},
			[]byte{localGet, local, constantI32}, wasmtest.Signed(-1), []byte{addI32, localTee, local, branchIf, 0, end})
	}
	switch {
	case name == abi.Wake && m.spins > 0:
		return slices.Concat(spin(4), submit, []byte{drop, constantI32, 0, end})
	case name == abi.Reconcile && m.spins > 0: // submits is the response
		return slices.Concat(spin(2), []byte{constantI64}, wasmtest.Signed(message<<32|int64(len(m.submits))), []byte{end})
	}
	switch {
	case name == abi.Wake && m.submits != nil:
		code = append(append(code, constantI32), wasmtest.Signed(cmp.Or(m.wakes, 1000))...)
	case name == abi.Describe && m.describesAt != 0:
		code = append(append(code, constantI64), wasmtest.Signed(int64(m.describesAt))...)
	case name == abi.Describe:
		code = append(append(code, constantI64), wasmtest.Signed(data<<32|int64(len(m.describes)))...)
	case name == abi.Alloc:
		code = append(append(code, constantI32), wasmtest.Signed(60000)...)
	case slices.Equal(out, []byte{i32}):
		code = append(code, constantI32, 0)
	case slices.Equal(out, []byte{i64}):
		code = append(code, constantI64, 0)
	}
	return append(code, end)
}

const (
	actor      = `{"abi":"kube_v1","profile":"actor"}`
	reconciler = `{"abi":"kube_v1","profile":"reconciler","controllers":[{"name":"a","for":` +
		`{"group":"","version":"v1","kind":"ConfigMap","resource":"configmaps","namespaced":true}}]}`
)

func importing(from, function string) module {
	return module{describes: actor, imports: [][2]string{{from, function}}}
}

func describing(description string) module { return module{describes: description} }

func TestHostRunsAnEmptyModule(t *testing.T) {
	w := newWorld(t, program{}, host.Options{})
	requires := strings.NewReplacer(`"kube_v1"`, `"kube_v1","features":["`+abi.FeatureSeen+`"]`)
	for name, description := range map[string]string{
		"actor": actor, "reconciler": reconciler,
		"actor that requires a feature":      requires.Replace(actor),
		"reconciler that requires a feature": requires.Replace(reconciler),
	} {
		w.set(t, host.Module{Name: name, Binary: module{describes: description}.encode()})
		w.await(t, "the start of "+name, func() bool { return w.status(name).Phase == host.Running })
	}
}

func TestHostRefusesModules(t *testing.T) {
	w := newWorld(t, program{}, host.Options{})
	for name, c := range map[string]struct {
		module module
		names  string // what the error must name
	}{
		"imports another module":      {importing("env", "secret"), "env"},
		"imports another version":     {importing("kube_v2", "submit"), "kube_v2"},
		"imports another WASI":        {importing("wasi_unstable", "fd_write"), "wasi_unstable"},
		"imports an unknown function": {importing("kube_v1", "steal"), "steal"},
		"imports another signature":   {importing("kube_v1", "submit"), "submit"},
		"exports no memory":           {module{describes: actor, lacks: "memory"}, "memory"},
		"exports no _initialize":      {module{describes: actor, lacks: "_initialize"}, "_initialize"},
		"exports no kube_describe":    {module{describes: actor, lacks: abi.Describe}, abi.Describe},
		"exports no kube_alloc":       {module{describes: actor, lacks: abi.Alloc}, abi.Alloc},
		"exports no kube_start":       {module{describes: actor, lacks: abi.Start}, "export"},
		"exports no kube_wake":        {module{describes: actor, lacks: abi.Wake}, abi.Wake},
		"exports no kube_tick":        {module{describes: actor, lacks: abi.Tick}, abi.Tick},
		"exports no kube_reconcile":   {module{describes: reconciler, lacks: abi.Reconcile}, abi.Reconcile},
		"describes nothing":           {describing(""), abi.Describe},
		"describes invalid JSON":      {describing("{"), abi.Describe},
		"describes another interface": {describing(`{"abi":"kube_v2","profile":"actor"}`), "kube_v2"},
		"describes no interface":      {describing(`{"profile":"actor"}`), ""},
		"describes another profile":   {describing(`{"abi":"kube_v1","profile":"daemon"}`), "daemon"},
		"describes unknown features":  {describing(`{"abi":"kube_v1","profile":"actor","features":["seen","teleport"]}`), `"teleport"`},
		"describes beyond its memory": {module{describes: actor, describesAt: 0xfffffff0_00001000}, abi.Describe},
		"describes with an overflow":  {module{describes: actor, describesAt: 0xffffffff_ffffffff}, abi.Describe},
		"describes no controllers":    {describing(`{"abi":"kube_v1","profile":"reconciler"}`), "controllers"},
		"fails in _initialize":        {module{describes: actor, traps: "_initialize"}, ""},
		"fails in kube_describe":      {module{describes: actor, traps: abi.Describe}, ""},
		"fails in kube_alloc":         {module{describes: actor, traps: abi.Alloc}, ""},
		"does not leave _initialize":  {module{describes: actor, waits: "_initialize"}, "time limit"},
		"does not leave its start":    {module{describes: actor, waits: "_initialize", starts: true}, "time limit"},
		"does not leave its start without an image": {
			module{describes: actor, waits: "_initialize", starts: true, setsTable: true}, "time limit",
		},
		"does not leave kube_describe": {module{describes: actor, waits: abi.Describe}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := host.Module{Name: moduleOf(name), Binary: c.module.encode()}
			if c.module.waits != "" {
				m.Limits.CallTimeout = 200 * time.Millisecond
			}
			err := w.Set(t.Context(), m)
			if err == nil {
				w.await(t, "the failure", func() bool {
					s := w.status(m.Name)
					return s.Err != nil && s.Phase != host.Running && s.Phase != host.Starting
				})
				err = w.status(m.Name).Err
			}
			if !strings.Contains(err.Error(), c.names) {
				t.Errorf("the error is %q, want one that names %s", err, c.names)
			}
		})
	}
	for name, binary := range map[string][]byte{
		"an empty file": nil, "a text": []byte("#!/bin/sh\n"), "a broken module": module{describes: actor}.encode()[:80],
	} {
		if err := w.Set(t.Context(), host.Module{Name: "file", Binary: binary}); err == nil {
			t.Errorf("Set of %s returned no error", name)
		}
	}
}

func TestNegativeResultOfKubeWakeEndsTheInstance(t *testing.T) {
	w := newWorld(t, program{}, host.Options{})
	w.set(t, host.Module{Name: "a", Limits: host.Limits{InFlight: 1}, Binary: module{
		describes: actor, submits: encode(abi.Delay{}), delays: true, wakes: int64(abi.OverLimit),
	}.encode()})
	w.await(t, "the quarantine", func() bool { return w.status("a").Phase == host.Quarantined })
	if s := w.status("a"); s.Failures != 3 || !errors.Is(s.Err, abi.OverLimit) || !strings.Contains(s.Err.Error(), abi.Wake) {
		t.Errorf("the status is %+v, want three failures of kube_wake with its code", s)
	}
}
