// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// names returns the sorted names of objects.
func names(t *testing.T, objects func(func(*corev1.ConfigMap, error) bool)) (all []string) {
	t.Helper()
	for obj, err := range objects {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, core.RefOf(obj).String())
	}
	slices.Sort(all)
	return all
}

// random returns an object with labels, owners and data from small sets, so that they often collide.
func random(r *rand.Rand) *corev1.ConfigMap {
	obj := configMap(fmt.Sprintf("%s/%d", []string{"prod", "dev", "test"}[r.IntN(3)], r.IntN(40)), "")
	obj.Labels = nil
	for _, key := range []string{"app", "tier", "zone"} {
		if r.IntN(3) > 0 {
			metav1.SetMetaDataLabel(&obj.ObjectMeta, key, string(rune('a'+r.IntN(4))))
		}
	}
	for range r.IntN(3) {
		uid := types.UID(fmt.Sprint("owner-", r.IntN(3)))
		obj.OwnerReferences = append(obj.OwnerReferences, metav1.OwnerReference{Kind: "A", Name: "a", UID: uid})
	}
	obj.Data = map[string]string{"uses": fmt.Sprint(r.IntN(4)), "also": fmt.Sprint(r.IntN(4))}
	return obj
}

func uses(obj *corev1.ConfigMap) []string { return []string{obj.Data["uses"], obj.Data["also"]} }

// scan returns what a selection must yield.
func scan(t *testing.T, store *reflector.Store[corev1.ConfigMap], o reflector.SelectOptions) (all []string) {
	t.Helper()
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		t.Fatal(err)
	}
	for obj, err := range store.All(nil) {
		if err != nil {
			t.Fatal(err)
		}
		owned := o.Owner == "" || slices.ContainsFunc(obj.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == o.Owner })
		if owned && (o.Namespace == "" || o.Namespace == obj.Namespace) && selector.Matches(labels.Set(obj.Labels)) {
			all = append(all, core.RefOf(obj).String())
		}
	}
	slices.Sort(all)
	return all
}

// compareSelections compares every selection with a scan of all objects.
func compareSelections(t *testing.T, store *reflector.Store[corev1.ConfigMap]) {
	t.Helper()
	for _, namespace := range []string{"", "prod", "none"} {
		for _, selector := range []string{
			"", "app==a,tier=b", "app in (a,b),zone", "zone", "!zone", "tier!=b", "app notin (a,c),tier=d", "app=a,app=b",
			"other=x", "zone,!app", "app in (a,a,b)", "app!=b", "app notin (a,b),zone", "!other", "other!=x,!zone",
		} {
			for _, owner := range []types.UID{"", "owner-1", "nobody"} {
				o := reflector.SelectOptions{Namespace: namespace, LabelSelector: selector, Owner: owner}
				if got, want := names(t, store.All(&o)), scan(t, store, o); !slices.Equal(got, want) {
					t.Fatalf("All(%+v) = %v, want %v", o, got, want)
				}
			}
		}
	}
}

// compareIndex compares an index with a scan of all objects.
func compareIndex(t *testing.T, store *reflector.Store[corev1.ConfigMap], index *reflector.Index[corev1.ConfigMap, string]) {
	t.Helper()
	for value := range 5 {
		v := fmt.Sprint(value)
		want := scan(t, store, reflector.SelectOptions{})
		want = slices.DeleteFunc(want, func(name string) bool {
			obj, err := store.Get(core.ParseObjectRef(name))
			return err != nil || !slices.Contains(uses(obj), v)
		})
		if got := names(t, index.All(v)); !slices.Equal(got, want) || index.Len(v) != len(want) {
			t.Fatalf("the index has %v and %d objects for %q, want %v", got, index.Len(v), v, want)
		}
	}
}

func TestIndexesAlwaysHaveTheObjectsOfTheStore(t *testing.T) {
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		t.Run(encoding.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(encoding)))
				server := newServer(t, encoding)
				for range 30 {
					server.Put(random(r))
				}
				reflected, store := reflect(server)
				early, decoded := reflector.IndexBy(store, uses), reflector.Decoded(store)
				stop := runUntilEnd(t, reflected)
				late := reflector.IndexBy(store, uses)
				for round := range 14 {
					switch {
					case round%6 == 5:
						server.Compact() // the next change is a new list
						server.Cut(errors.New("cut"))
					case round%12 == 11:
						if err := stop(); err != errStop {
							t.Fatal(err)
						}
						stop = runUntilEnd(t, reflected)
					}
					for range r.IntN(10) {
						if obj := random(r); r.IntN(3) == 0 {
							server.Delete(core.RefOf(obj))
						} else {
							server.Put(obj)
						}
					}
					synctest.Wait()
					compareSelections(t, store)
					compareSelections(t, decoded)
					compareDecoded(t, store, decoded)
					compareIndex(t, store, early)
					compareIndex(t, store, late)
				}
			})
		})
	}
}

func TestObjectThatCannotBeIndexedIsReportedAndHasNoValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/bad", "prod/odd")
		var reported []string
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{
			Paged: true, OnError: func(err error) { reported = append(reported, err.Error()) },
		}})
		store := reflector.StoreOf[corev1.ConfigMap](r)
		index := reflector.IndexBy(store, func(obj *corev1.ConfigMap) []string {
			if obj.Name == "bad" {
				panic("no such thing")
			}
			return []string{"all"}
		})
		server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
			if !strings.Contains(string(p.Bytes()), `"odd"`) {
				return p, nil
			}
			data := strings.Replace(string(p.Bytes()), `"data":{`, `"data":7,"x":{`, 1)
			return wire.NewPacked(wire.JSON, []byte(data)), nil
		}})
		runUntilEnd(t, r)
		if got := names(t, index.All("all")); !slices.Equal(got, []string{"prod/a"}) {
			t.Errorf("the index has %q, want prod/a", got)
		}
		all := strings.Join(reported, "\n")
		for _, want := range []string{"index of configmaps prod/bad: panic: no such thing", "index of configmaps prod/odd: decode"} {
			if !strings.Contains(all, want) {
				t.Errorf("the errors are %q, want %q", reported, want)
			}
		}
	})
}

// TestErrorsOfIndexesAreBounded checks that a function that fails for each of many objects is reported by a few errors,
// whether it runs for the objects of a list or for those that the store already has.
func TestErrorsOfIndexesAreBounded(t *testing.T) {
	const objects, most = 1000, 10
	fail := func(*corev1.ConfigMap) []string { panic("no such thing") }
	refs := make([]string, objects)
	for i := range refs {
		refs[i] = fmt.Sprintf("prod/%d", i)
	}
	for _, tt := range []struct {
		name          string
		before, after func(*reflector.Reflector, *reflector.Store[corev1.ConfigMap])
	}{
		{name: "an index that is older than the list", before: func(
			_ *reflector.Reflector, store *reflector.Store[corev1.ConfigMap],
		) {
			reflector.IndexBy(store, fail)
		}},
		{name: "an index of existing objects", after: func(
			_ *reflector.Reflector, store *reflector.Store[corev1.ConfigMap],
		) {
			reflector.IndexBy(store, fail)
		}},
		{name: "a decoded store that needs another list", after: func(
			r *reflector.Reflector, _ *reflector.Store[corev1.ConfigMap],
		) {
			reflector.Decoded(reflector.StoreOf[panicking](r))
		}},
	} {
		for _, paged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, paged: %v", tt.name, paged), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var reported []string
					r := reflector.New(newServer(t, wire.JSON, refs...), &reflector.Options{Watch: watcher.Options{
						Paged: paged, OnError: func(err error) { reported = append(reported, err.Error()) },
					}})
					store := reflector.StoreOf[corev1.ConfigMap](r)
					if tt.before != nil {
						tt.before(r, store)
					}
					runUntilEnd(t, r)
					if tt.after != nil {
						tt.after(r, store)
						synctest.Wait()
					}
					if len(reported) != most+1 {
						t.Fatalf("%d errors are reported, want %d and the number of the others", len(reported), most)
					}
					stacks := 0
					for i, text := range reported[:most] {
						if !strings.Contains(text, "panic: no such thing") {
							t.Errorf("error %d is %q, want the panic", i, text)
						}
						if strings.Contains(text, "goroutine ") {
							stacks++
						}
					}
					if stacks != 1 || !strings.Contains(reported[0], "goroutine ") {
						t.Errorf("%d errors have a stack, want only the first", stacks)
					}
					if want := fmt.Sprintf("%d other errors", objects-most); !strings.HasSuffix(reported[most], want) {
						t.Errorf("the last error is %q, want %q", reported[most], want)
					}
				})
			})
		}
	}
}

// panicking is a ConfigMap whose decoding panics.
type panicking struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              panics `json:"data"`
}

func (*panicking) KubeResource() core.Resource { return (*taggedConfigMap)(nil).KubeResource() }

type panics struct{}

func (*panics) UnmarshalJSON([]byte) error { panic("no such thing") }

func TestIndexIsNotReadyBeforeTheFirstList(t *testing.T) {
	_, store := reflect(newServer(t, wire.JSON, "prod/a"))
	index := reflector.IndexBy(store, uses)
	pairs := 0
	for obj, err := range index.All("first") {
		if pairs++; obj != nil || !errors.Is(err, reflector.ErrNotReady) {
			t.Errorf("All() yields %v, %v, want ErrNotReady", obj, err)
		}
	}
	if pairs != 1 {
		t.Errorf("All() yields %d pairs, want one", pairs)
	}
}

// After a restore of etcd from a backup, the server assigns the same versions again.
func TestSameVersionWithOtherContentIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a")
		store := run(t, server)
		sub := subscribe(t, store)
		sub.want("initial ADDED prod/a - uid-1=first", "BOOKMARK")
		server.Behave(fakesource.Behaviour{
			OnWatch: func(o *request.WatchOptions) error {
				if o.SendInitialEvents {
					return fakesource.Status(400, metav1.StatusReasonBadRequest)
				}
				return nil
			},
			OnItem: func(p wire.Packed) (wire.Packed, error) {
				data := strings.Replace(string(p.Bytes()), `"data":{"value":"first"}`, `"data":{"value":"restored"}`, 1)
				return wire.NewPacked(wire.JSON, []byte(data)), nil
			},
		})
		server.Compact()
		server.Cut(errors.New("cut"))
		synctest.Wait()
		sub.want("MODIFIED prod/a uid-1=first uid-1=restored")
	})
}

func TestIndexHasNoObjectsWithinTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, wire.JSON, "prod/a", "prod/b")
		r := reflector.New(server, &reflector.Options{Watch: watcher.Options{Paged: true}})
		store := reflector.StoreOf[corev1.ConfigMap](r)
		index := reflector.IndexBy(store, func(obj *corev1.ConfigMap) []string { return []string{obj.Data["value"]} })
		server.Behave(fakesource.Behaviour{OnItem: func(p wire.Packed) (wire.Packed, error) {
			if n := index.Len("first"); n != 0 {
				t.Errorf("Len() = %d within the first list, want 0", n)
			}
			return p, nil
		}})
		runUntilEnd(t, r)
		if n := index.Len("first"); n != 2 {
			t.Errorf("Len() = %d, want 2", n)
		}
	})
}
