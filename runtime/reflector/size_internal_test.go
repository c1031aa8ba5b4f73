// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// TestSizeOfATableIsThatOfItsObjectsAndIndexes changes a table at random, and compares the size that an observer knows
// with the entries and the indexes.
func TestSizeOfATableIsThatOfItsObjectsAndIndexes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table := newTable(core.Resource{Namespaced: true})
	store := StoreOf[metav1.PartialObjectMetadata](&Reflector{table: table})
	store.form = 0 // of the objects below
	decoded := store
	var seen int64
	stop := table.observe(Observer{Seen: func(string) {}, Gone: func(wire.Packed) {}, Size: func(n int64) { seen = n }})
	held := new(atomic.Int64)
	sub := table.subscribe(subscription{held: held})
	check := func(step int) {
		t.Helper()
		want, packed := int64(0), int64(0)
		for ns, objects := range table.objects {
			for name, e := range objects {
				want += sizeOf(core.ObjectRef{Namespace: ns, Name: name}, e.object)
				packed += int64(table.state(e.object).Packed().Len())
			}
		}
		if table.owners != nil {
			pairs := 0
			for _, s := range table.owners.sets {
				pairs += s.len()
			}
			want += pairBytes*int64(pairs) + valueBytes*int64(len(table.owners.sets))
		}
		if table.labels != nil {
			for _, values := range table.labels.byKey {
				for _, s := range values {
					want += labelBytes*int64(s.len()) + labelSetBytes
				}
			}
		}
		if decoded != store {
			want += decodedFactor * packed
		}
		if seen != want {
			t.Fatalf("step %d: the observer knows %d bytes, want %d", step, seen, want)
		}
		waits := 0
		for _, p := range sub.byRef {
			waits += pendingBytes + p.old.Len()
		}
		if n := held.Load(); n != int64(waits) {
			t.Fatalf("step %d: the subscription counts %d bytes, want %d", step, n, waits)
		}
	}
	for step := range 5000 {
		ref := core.ObjectRef{Namespace: fmt.Sprint("n", r.IntN(3)), Name: fmt.Sprint("o", r.IntN(600))}
		switch step {
		case 1000:
			table.prepareIndexes(true, false)
		case 2000:
			table.prepareIndexes(false, true)
		case 2500:
			decoded = Decoded(store)
		case 3000:
			table.beginList(0)
		case 4000:
			_ = table.endList("1", 0)
		}
		if step%7 == 0 {
			table.drop(ref, "1")
		} else {
			data := fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":"%d","labels":{"a":"%d","b":"%d"},`+
				`"ownerReferences":[{"uid":"o%d"}]},"data":{"x":%q}}`, ref.Namespace, ref.Name, r.IntN(2), r.IntN(3), r.IntN(50),
				r.IntN(20), strings.Repeat("x", r.IntN(200)))
			object := wire.NewPacked(wire.JSON, []byte(data))
			head, err := object.Head()
			if err != nil {
				t.Fatal(err)
			}
			version := ""
			if step%2 == 0 {
				version = "1"
			}
			if err := table.put(wire.Head{Ref: ref, UID: head.UID}, object, version, 0, false); err != nil {
				t.Fatal(err)
			}
		}
		if step%5 == 0 {
			_, _, _ = table.next(sub)
		}
		table.compress()
		if step%10 == 0 {
			check(step)
		}
	}
	if len(table.compression.codecs) == 0 || table.owners.pairs == 0 || table.labels.pairs == 0 {
		t.Error("the test has not compressed objects, or has no indexes")
	}
	table.unsubscribe(sub)
	if n := held.Load(); n != 0 {
		t.Errorf("%d bytes are counted after the end of the subscription", n)
	}
	stop()
	if !table.reset() || table.size() != 0 {
		t.Errorf("after a reset the size is %d", table.size())
	}
}

func TestSizeIncludesIndexesThatHaveWaitedForAForm(t *testing.T) {
	table := newTable(core.Resource{Namespaced: true})
	var seen int64
	defer table.observe(Observer{Seen: func(string) {}, Gone: func(wire.Packed) {}, Size: func(n int64) { seen = n }})()
	store := StoreOf[metav1.PartialObjectMetadata](&Reflector{table: table})
	store.form = 2
	object := wire.NewPacked(wire.JSON, []byte(`{"metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"1"}}`))
	head, err := object.Head()
	if err != nil {
		t.Fatal(err)
	}
	for form := range uint64(3) {
		if form == 2 {
			Decoded(store)
		}
		table.beginList(form)
		if err := errors.Join(table.put(head, object, "", form, false), table.endList("1", form)); err != nil {
			t.Fatal(err)
		}
	}
	if want := sizeOf(head.Ref, object) + decodedFactor*int64(object.Len()); seen != want || table.size() != want {
		t.Errorf("the observer knows %d bytes and the table %d, want %d", seen, table.size(), want)
	}
}

// TestReadinessIsThatOfTheSnapshot checks that a list that ends after All has taken its snapshot does not make it
// complete.
func TestReadinessIsThatOfTheSnapshot(t *testing.T) {
	table := newTable(core.Resource{Namespaced: true})
	store := StoreOf[metav1.PartialObjectMetadata](&Reflector{table: table})
	table.beginList(store.form)
	var failed error
	for _, err := range store.each(func(take collector) error {
		err := table.selected(nil, take)
		return errors.Join(err, table.endList("1", store.form)) // in another goroutine
	}) {
		failed = err
	}
	if !errors.Is(failed, ErrNotReady) {
		t.Errorf("All yields the error %v, want ErrNotReady", failed)
	}
}
