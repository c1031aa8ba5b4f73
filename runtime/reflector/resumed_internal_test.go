// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// packedState returns an object by its name, UID and version, such as "a/1/5".
func packedState(s string) wire.Packed {
	f := strings.Split(s, "/")
	data := fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q,"resourceVersion":%q}}`, f[0], f[1], f[2])
	return wire.NewPacked(wire.JSON, []byte(data))
}

func headState(s string) wire.Head {
	f := strings.Split(s, "/")
	return wire.Head{Ref: core.ObjectRef{Name: f[0]}, UID: types.UID(f[1]), ResourceVersion: f[2]}
}

// TestResumedStateIsConfirmed checks with which events a state is confirmed, for a snapshot of version 10 with the
// objects "a/1/5" and "b/2/6", and a list of version 20.
func TestResumedStateIsConfirmed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sample string // "" if the list was empty
		count  int64
		events string // such as "=a/1/12" (changed), "-a/1/13" (deleted), "15" (bookmark)
		want   string // the objects, or an error
	}{
		{"a bookmark of the version", "a/1/5", 2, "20", "a/1/5 b/2/6"},
		{"a bookmark of a later version", "a/1/5", 2, "15 25", "a/1/5 b/2/6"},
		{"older bookmarks", "a/1/5", 2, "10 11 19", "unconfirmed"},
		{"changes up to the version", "a/1/12", 2, "=a/1/12 =b/2/20", "a/1/12 b/2/20"},
		{"a later change of the object in the list", "a/1/5", 2, "=a/1/21", "a/1/21 b/2/6"},
		{"a later deletion of the object in the list", "a/1/5", -1, "-a/1/21", "b/2/6"},
		{"a later new object", "a/1/5", 2, "=c/3/21", "a/1/5 b/2/6 c/3/21"},
		{"a deletion", "b/2/6", 1, "-a/1/12 20", "b/2/6"},
		{"a replaced object", "a/9/13", 2, "-a/1/12 =a/9/13 20", "a/9/13 b/2/6"},
		{"all objects deleted", "", 0, "-a/1/12 -b/2/13 20", ""},

		{"an object with another UID", "a/1/5", 2, "=a/9/12", "another cluster"},
		{"an object that is missing", "c/1/5", -1, "20", "c is not as on the server"},
		{"an object of another version", "a/1/12", -1, "20", "a is not as on the server"},
		{"an object of another UID in the list", "a/9/5", -1, "20", "a is not as on the server"},
		{"an object that is too new", "a/1/5", -1, "=a/1/12 20", "a is not as on the server"},
		{"objects that no longer exist", "a/1/5", 1, "20", "2 objects, but the server has 1"},
		{"no objects", "", 0, "21", "2 objects, but the server has 0"},
		{"a version that is not a number", "a/1/5", 2, "x", "not a number"},
	} {
		s := &resumed{version: 10, newest: 20, count: tt.count, objects: map[core.ObjectRef]wire.Packed{}}
		for _, object := range []string{"a/1/5", "b/2/6"} {
			s.objects[headState(object).Ref] = packedState(object)
		}
		if tt.sample != "" {
			s.sample = headState(tt.sample)
		}
		var err error
		for event := range strings.FieldsSeq(tt.events) {
			if s.confirmed || err != nil {
				t.Errorf("%s: it is over before %s", tt.name, event)
			}
			ev := watcher.Event{Type: watcher.Bookmark, Head: wire.Head{ResourceVersion: event}}
			switch event[0] {
			case '=':
				ev = watcher.Event{Type: watcher.Apply, Head: headState(event[1:]), Object: packedState(event[1:])}
			case '-':
				ev = watcher.Event{Type: watcher.Delete, Head: headState(event[1:]), Object: packedState(event[1:])}
			}
			err = s.take(ev)
		}
		var got []string
		for _, object := range s.objects {
			head, _ := object.Head()
			got = append(got, fmt.Sprintf("%s/%s/%s", head.Ref, head.UID, head.ResourceVersion))
		}
		slices.Sort(got)
		switch result := strings.Join(got, " "); {
		case err != nil:
			if !strings.Contains(err.Error(), tt.want) || tt.want == "" || s.confirmed {
				t.Errorf("%s: error %q, want %q", tt.name, err, tt.want)
			}
		case !s.confirmed && tt.want != "unconfirmed", s.confirmed && result != tt.want:
			t.Errorf("%s: %q, confirmed %t; want %q", tt.name, result, s.confirmed, tt.want)
		}
	}
}

func TestCountOfAFirstPage(t *testing.T) {
	for _, tt := range []struct {
		meta metav1.ListMeta
		sent int64
		want int64
	}{
		{metav1.ListMeta{}, 0, 0},
		{metav1.ListMeta{}, 1, 1},
		{metav1.ListMeta{}, 9, 9}, // from a server that ignores the limit
		{metav1.ListMeta{Continue: "b", RemainingItemCount: new(int64(6))}, 1, 7},
		{metav1.ListMeta{Continue: "b"}, 1, -1},
	} {
		if got := countOf(tt.meta, tt.sent); got != tt.want {
			t.Errorf("countOf(%v, %d) = %d, want %d", tt.meta, tt.sent, got, tt.want)
		}
	}
}
