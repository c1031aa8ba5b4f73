// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/finalizer"
)

const ours = "docs.example.com/cleanup"

// recorded returns Funcs that record their calls with the finalizers of the object.
func recorded(calls *[]string) finalizer.Funcs[document] {
	record := func(name string) func(context.Context, *document) (controller.Action, error) {
		return func(_ context.Context, d *document) (controller.Action, error) {
			*calls = append(*calls, name+" "+strings.Join(d.Finalizers, ","))
			return controller.AwaitChange(), nil
		}
	}
	return finalizer.Funcs[document]{Apply: record("apply"), Cleanup: record("cleanup")}
}

func TestReconcileGuardsApplyWithTheFinalizer(t *testing.T) {
	tests := []struct {
		name           string
		stored, cached *document // cached nil: as stored; stored nil: gone
		busy           int       // the number of patches that conflict
		wantCalls      []string
		wantFinalizers []string
		wantRequests   []string
	}{
		{
			name:   "the first run adds the finalizer and applies the object as stored",
			stored: doc(), wantCalls: []string{"apply " + ours},
			wantFinalizers: []string{ours}, wantRequests: []string{"PATCH"},
		},
		{
			name:   "other finalizers stay in front of ours",
			stored: doc("a/b", "c/d"), wantCalls: []string{"apply a/b,c/d," + ours},
			wantFinalizers: []string{"a/b", "c/d", ours}, wantRequests: []string{"PATCH"},
		},
		{
			name:   "an object with the finalizer needs no request",
			stored: doc(ours), wantCalls: []string{"apply " + ours},
			wantFinalizers: []string{ours},
		},
		{
			name:   "a deleted object is cleaned up, then the finalizer is removed",
			stored: deleted(ours), wantCalls: []string{"cleanup " + ours},
			wantRequests: []string{"PATCH"},
		},
		{
			name:   "a deleted object keeps the finalizers of others",
			stored: deleted("a/b", ours, "c/d"), wantCalls: []string{"cleanup a/b," + ours + ",c/d"},
			wantFinalizers: []string{"a/b", "c/d"}, wantRequests: []string{"PATCH"},
		},
		{
			name:           "a deleted object without our finalizer is ignored",
			stored:         deleted("a/b"),
			wantFinalizers: []string{"a/b"},
		},
		{
			name:   "a finalizer that others added meanwhile is kept when ours is added",
			stored: doc("a/b"), cached: doc(), wantCalls: []string{"apply a/b," + ours},
			wantFinalizers: []string{"a/b", ours}, wantRequests: []string{"PATCH", "GET", "PATCH"},
		},
		{
			name:   "a finalizer that others removed meanwhile stays removed when ours is removed",
			stored: deleted(ours, "c/d"), cached: deleted("a/b", ours, "c/d"), wantCalls: []string{"cleanup a/b," + ours + ",c/d"},
			wantFinalizers: []string{"c/d"}, wantRequests: []string{"PATCH", "GET", "PATCH"},
		},
		{
			name:   "our own finalizer, not yet in the cache, is not added twice",
			stored: doc(ours), cached: doc(), wantCalls: []string{"apply " + ours},
			wantFinalizers: []string{ours}, wantRequests: []string{"PATCH", "GET"},
		},
		{
			name:   "our own finalizer, still in the cache but removed, is not an error",
			stored: deleted("a/b"), cached: deleted("a/b", ours), wantCalls: []string{"cleanup a/b," + ours},
			wantFinalizers: []string{"a/b"}, wantRequests: []string{"PATCH", "GET"},
		},
		{
			name:   "an object that was deleted in the meantime is not applied",
			stored: deleted("a/b"), cached: doc("a/b"),
			wantFinalizers: []string{"a/b"}, wantRequests: []string{"PATCH", "GET"},
		},
		{
			name:         "an object that no longer exists is not applied",
			cached:       doc(),
			wantRequests: []string{"PATCH"},
		},
		{
			name:      "an object that no longer exists after its cleanup is not an error",
			cached:    deleted(ours),
			wantCalls: []string{"cleanup " + ours}, wantRequests: []string{"PATCH"},
		},
		{
			name:   "an unrelated write of another client at the same time is not an error",
			busy:   2,
			stored: doc("a/b"), wantCalls: []string{"apply a/b," + ours}, wantFinalizers: []string{"a/b", ours},
			wantRequests: []string{"PATCH", "GET", "PATCH", "GET", "PATCH"},
		},
		{
			name:   "an unrelated write during the removal is not an error",
			busy:   1,
			stored: deleted(ours, "a/b"), wantCalls: []string{"cleanup " + ours + ",a/b"}, wantFinalizers: []string{"a/b"},
			wantRequests: []string{"PATCH", "GET", "PATCH"},
		},
		{
			name:   "a finalizer that the list has twice is removed",
			stored: deleted(ours, "a/b", ours, "a/b"), wantCalls: []string{"cleanup " + ours + ",a/b," + ours + ",a/b"},
			wantFinalizers: []string{"a/b", "a/b"}, wantRequests: []string{"PATCH"},
		},
		{
			name:   "a finalizer that the list has twice is not added",
			stored: doc(ours, ours), wantCalls: []string{"apply " + ours + "," + ours}, wantFinalizers: []string{ours, ours},
		},
		{
			name:   "finalizers without a domain are kept",
			stored: deleted("foregroundDeletion", ours, "kubernetes"), wantCalls: []string{"cleanup foregroundDeletion," + ours + ",kubernetes"},
			wantFinalizers: []string{"foregroundDeletion", "kubernetes"}, wantRequests: []string{"PATCH"},
		},
		{
			name:   "another object of the same name is not touched by an add",
			stored: as("other", doc()), cached: doc(),
			wantRequests: []string{"PATCH", "GET"},
		},
		{
			name:   "another object of the same name is not touched by a removal",
			stored: as("other", doc(ours)), cached: deleted(ours), wantCalls: []string{"cleanup " + ours},
			wantFinalizers: []string{ours}, wantRequests: []string{"PATCH", "GET"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &server{stored: tt.stored, busy: tt.busy}
			cached := tt.cached
			if cached == nil {
				cached = new(*tt.stored)
			}
			var calls []string
			action, err := finalizer.Reconcile(t.Context(), s.api(), ours, cached, recorded(&calls))
			if err != nil || action != controller.AwaitChange() {
				t.Errorf("Reconcile() = %v, %v; want await change, nil", action, err)
			}
			if diff := cmp.Diff(tt.wantCalls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantFinalizers, s.finalizers()); diff != "" {
				t.Errorf("stored finalizers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantRequests, s.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReconcileReturnsTheActionOfApply(t *testing.T) {
	later := controller.RequeueAfter(time.Minute)
	s := &server{stored: doc()}
	action, err := finalizer.Reconcile(t.Context(), s.api(), ours, doc(), finalizer.Funcs[document]{
		Apply:   func(context.Context, *document) (controller.Action, error) { return later, nil },
		Cleanup: func(context.Context, *document) (controller.Action, error) { return later, nil },
	})
	if action != later || err != nil {
		t.Errorf("Reconcile() = %v, %v; want %v, nil", action, err, later)
	}
}

func TestUnfinishedCleanupKeepsTheFinalizer(t *testing.T) {
	broken := errors.New("bucket is busy")
	later := controller.RequeueAfter(time.Minute)
	tests := []struct {
		name   string
		action controller.Action
		err    error
	}{
		{name: "cleanup failed", err: broken},
		{name: "cleanup failed permanently", err: core.Terminal(broken)},
		{name: "cleanup requests another call", action: later},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &server{stored: deleted(ours)}
			action, err := finalizer.Reconcile(t.Context(), s.api(), ours, deleted(ours), finalizer.Funcs[document]{
				Apply: func(context.Context, *document) (controller.Action, error) { panic("applied") },
				Cleanup: func(context.Context, *document) (controller.Action, error) {
					return tt.action, tt.err
				},
			})
			if action != tt.action || !errors.Is(err, tt.err) {
				t.Errorf("Reconcile() = %v, %v; want %v, %v", action, err, tt.action, tt.err)
			}
			if core.IsTerminal(err) != core.IsTerminal(tt.err) {
				t.Errorf("IsTerminal(%v) = %v", err, core.IsTerminal(err))
			}
			if !slices.Contains(s.finalizers(), ours) || len(s.requests) > 0 {
				t.Errorf("finalizers are %v after requests %v", s.finalizers(), s.requests)
			}
		})
	}
}

func TestFailureOfTheServerIsReturned(t *testing.T) {
	tests := []struct {
		name    string
		server  *server
		cached  *document
		want    error
		wantMsg string
		calls   int // requests
	}{
		{
			name:   "a rejection for another reason is returned immediately",
			server: &server{stored: doc(), refuse: map[string]int{"PATCH": 422}}, cached: doc(),
			want: core.ErrInvalid, wantMsg: "finalizer docs.example.com/cleanup: patch documents.docs.example.com prod/a", calls: 2,
		},
		{
			name:   "a server error is not retried",
			server: &server{stored: doc(), refuse: map[string]int{"PATCH": 503}}, cached: doc(),
			want: core.ErrUnavailable, calls: 1,
		},
		{
			name:   "the error of a forbidden read includes the error that made the read necessary",
			server: &server{stored: doc("a/b"), refuse: map[string]int{"GET": 403}}, cached: doc(),
			want: core.ErrForbidden, wantMsg: "the test of /metadata/finalizers failed", calls: 2,
		},
		{
			name:   "finalizers that change continuously are an error",
			server: &server{stored: doc(), restless: true}, cached: doc("z/z"),
			want: core.ErrInvalid, wantMsg: "changed the object 5 times", calls: 10,
		},
		{
			name:   "continuous writes of other fields are an error",
			server: &server{stored: doc(), busy: 9}, cached: doc(),
			want: core.ErrConflict, wantMsg: "changed the object 5 times", calls: 10,
		},
		{
			name: "a kind that is not served is not a deleted object",
			server: &server{
				stored: doc(), refuse: map[string]int{"PATCH": 404},
				message: "the server could not find the requested resource",
			}, cached: doc(),
			want: core.ErrNotFound, wantMsg: "does not serve", calls: 1,
		},
		{
			name:   "a denial of a webhook does not mean that the object is deleted",
			server: &server{stored: doc(), refuse: map[string]int{"PATCH": 404}, message: "no quota"}, cached: doc(),
			want: core.ErrNotFound, wantMsg: "server said: no quota", calls: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls []string
			_, err := finalizer.Reconcile(t.Context(), tt.server.api(), ours, tt.cached, recorded(&calls))
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.wantMsg) {
				t.Errorf("Reconcile() = %v, want %v with %q", err, tt.want, tt.wantMsg)
			}
			if len(calls) > 0 {
				t.Errorf("%v was called without the finalizer in place", calls)
			}
			if got := len(tt.server.requests); got != tt.calls {
				t.Errorf("%d requests %v, want %d", got, tt.server.requests, tt.calls)
			}
		})
	}
}

func TestInvalidArgumentsAreTerminalErrors(t *testing.T) {
	var calls []string
	ok := recorded(&calls)
	tests := []struct {
		name, finalizer string
		obj             *document
		funcs           finalizer.Funcs[document]
		want            string
	}{
		{name: "a name without a domain", finalizer: "cleanup", obj: doc(), funcs: ok, want: "qualified by a domain"},
		{name: "an empty name", finalizer: "", obj: doc(), funcs: ok, want: "qualified by a domain"},
		{name: "a name with a bad domain", finalizer: "Docs_/cleanup", obj: doc(), funcs: ok, want: "qualified by a domain"},
		{name: "a name with two slashes", finalizer: "docs.example.com/a/b", obj: doc(), funcs: ok, want: "qualified by a domain"},
		{name: "a missing function", finalizer: ours, obj: doc(), funcs: finalizer.Funcs[document]{Apply: ok.Apply}, want: "must both be set"},
		{name: "an object that no server returned", finalizer: ours, obj: as("", doc()), funcs: ok, want: "no UID"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &server{stored: doc()}
			_, err := finalizer.Reconcile(t.Context(), s.api(), tt.finalizer, tt.obj, tt.funcs)
			if !core.IsTerminal(err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Reconcile() = %v, want a terminal error with %q", err, tt.want)
			}
			if len(s.requests)+len(calls) > 0 {
				t.Errorf("requests %v, calls %v; want 0", s.requests, calls)
			}
		})
	}
}
