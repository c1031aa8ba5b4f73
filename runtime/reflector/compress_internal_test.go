// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// objects is the number of objects of filled.
const objects = 300

// filled returns a table with objects after a list, and a function that changes one of them.
func filled(t *testing.T) (*table, func(i int, value string)) {
	t.Helper()
	table := newTable(core.Resource{})
	version := 0
	put := func(i int, value, observed string) {
		version++
		head := wire.Head{
			Ref: core.ObjectRef{Namespace: "prod", Name: fmt.Sprint(i)}, UID: "1", ResourceVersion: fmt.Sprint(version),
		}
		data := fmt.Appendf(nil, `{"metadata":{"namespace":"prod","name":"%d","uid":"1","resourceVersion":"%d"},`+
			`"value":%q,"text":%q}`, i, version, value, strings.Repeat("0123456789", 100))
		if err := table.put(head, wire.NewPacked(wire.JSON, data), observed, 1, false); err != nil {
			t.Fatal(err)
		}
	}
	table.beginList(1)
	for i := range objects {
		put(i, "first", "")
	}
	if err := table.endList("1", 1); err != nil {
		t.Fatal(err)
	}
	return table, func(i int, value string) {
		put(i, value, fmt.Sprint(version+1))
		table.compress()
	}
}

func (t *table) compressed() (n int) {
	for _, objects := range t.objects {
		for _, e := range objects {
			if isCompressed(e.object) {
				n++
			}
		}
	}
	return n
}

// stateOf returns the state of an object.
func (t *table) stateOf(ref core.ObjectRef) State {
	return t.state(t.objects[ref.Namespace][ref.Name].object)
}

func TestChangedObjectsAreCompressedManyAtATime(t *testing.T) {
	table, change := filled(t)
	if n := table.compressed(); n != objects {
		t.Fatalf("%d of %d objects are compressed after the list", n, objects)
	}
	change(0, "second")
	first := table.stateOf(core.ObjectRef{Namespace: "prod", Name: "0"})
	if n := table.compressed(); n != objects-1 || first.codec != nil {
		t.Errorf("%d objects are compressed after a change of one, want %d", n, objects-1)
	}
	for i := 1; len(table.compression.recent) > 0; i++ {
		change(i%objects, "third")
		if i > 2*maxRecent/1000 {
			t.Fatalf("%d changed objects are not compressed", i)
		}
	}
	if n := table.compressed(); n != objects {
		t.Errorf("%d of %d objects are compressed", n, objects)
	}
	now := table.stateOf(core.ObjectRef{Namespace: "prod", Name: "0"})
	if !bytes.Equal(now.Packed().Bytes(), first.Packed().Bytes()) {
		t.Errorf("the object became %s", now.Packed().Bytes())
	}
}

func TestObjectsThatAreGoneAreNotCompressed(t *testing.T) {
	table, change := filled(t)
	change(0, "second")
	table.drop(core.ObjectRef{Namespace: "prod", Name: "0"}, "400")
	table.compression.recentBytes = maxRecent
	table.compress()
	if n := table.compressed(); n != objects-1 || table.count != objects-1 {
		t.Errorf("%d of %d objects are compressed, want %d", n, table.count, objects-1)
	}
}

func TestStateStaysValid(t *testing.T) {
	table, change := filled(t)
	ref := core.ObjectRef{Namespace: "prod", Name: "7"}
	before := table.stateOf(ref)
	change(7, "second")
	table.drop(ref, "400")
	table.reset()
	if head, err := before.Head(); err != nil || head.Ref != ref || head.ResourceVersion != "8" || before.codec == nil {
		t.Errorf("Head() = %v, %v", head, err)
	}
}

func TestStateIsNotPrinted(t *testing.T) {
	table, _ := filled(t)
	state := table.stateOf(core.ObjectRef{Namespace: "prod", Name: "7"})
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		got := fmt.Sprintf(format, Change{New: state})
		if strings.Contains(got, "0123456789") || strings.Contains(got, fmt.Sprintf("%x", "0123456789")) {
			t.Errorf("%s prints %s", format, got)
		}
	}
	if got := fmt.Sprint(state); !strings.Contains(got, "object of 1") {
		t.Errorf("a state is printed as %s", got)
	}
}

// A larger entry would need more memory for each object.
func TestEntryFitsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(entry{}); size > 48 {
		t.Errorf("an entry has %d bytes, want at most 48", size)
	}
}
