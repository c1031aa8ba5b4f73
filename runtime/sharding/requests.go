// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/internal/leases"
)

// The labels and annotations of the Leases of a group.
const (
	groupLabel       = "sharding.kube-go.github.io/group"  // of all: the name of the group
	tableAnnotation  = "sharding.kube-go.github.io/table"  // which member owns which slot
	joinedAnnotation = "sharding.kube-go.github.io/joined" // of a member: the UID of the Lease with the table
)

// tableName returns the name of the Lease with the table.
func (o *Options) tableName() string { return o.Name + "-shards" }

// by returns what divides the objects.
func (o *Options) by() string {
	if o.ByNamespace {
		return byNamespace
	}
	return byUID
}

// newTable returns the Lease with the table of a group without members.
func (o *Options) newTable() *leases.Lease {
	return &leases.Lease{ObjectMeta: metav1.ObjectMeta{
		Name:        o.tableName(),
		Labels:      map[string]string{groupLabel: o.Name},
		Annotations: map[string]string{tableAnnotation: table{by: o.by()}.encode()},
	}}
}

// send sends a request, and returns its result.
func (t *turn) send(ctx context.Context, act action) input {
	m := t.member
	ctx, cancel := m.limit(context.WithoutCancel(ctx)) // the end of the term's context does not interrupt it
	defer cancel()
	var in input
	var err error
	switch act.kind {
	case list:
		in, err = t.list(ctx)
	case write:
		in, err = t.write(ctx, act.table)
	default:
		in = input{kind: deleted, uid: act.lease.uid}
		err = m.leases.Delete(ctx, act.lease.name, &request.DeleteOptions{
			UID: types.UID(act.lease.uid), ResourceVersion: act.lease.version,
		})
	}
	switch {
	case err == nil:
		m.note(act.kind, nil)
		if act.kind == remove {
			m.logger.Info("a member has not renewed its lease: its slots are free", "lease", act.lease.name)
		}
		return in
	case act.kind != list && (errors.Is(err, core.ErrConflict) || apierr.NotFound(err)):
		return input{kind: conflict}
	default:
		m.note(act.kind, err)
		return input{kind: failed}
	}
}

// list lists the table and the leases.
func (t *turn) list(ctx context.Context) (input, error) {
	m, in := t.member, input{kind: listed}
	all, err := m.leases.List(ctx, &request.ListOptions{LabelSelector: groupLabel + "=" + m.options.Name})
	if err != nil {
		return in, err
	}
	m.mu.Lock()
	m.reached = true
	m.mu.Unlock()
	var group *leases.Lease
	self := ""
	for _, l := range all.Items {
		switch l.Name {
		case m.options.tableName():
			group = l
			continue
		case t.name:
			self = string(l.UID)
		}
		duration := m.options.LeaseDuration
		if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
			duration = time.Duration(*s) * time.Second
		}
		in.leases = append(in.leases, lease{
			l.Name, string(l.UID), l.ResourceVersion, duration, l.Annotations[joinedAnnotation],
		})
	}
	if group != nil {
		in.group, in.version = string(group.UID), group.ResourceVersion
		in.table, err = decode(group.Annotations[tableAnnotation])
		switch by := m.options.by(); {
		case err == nil && in.table.foreign(by):
			return in, fmt.Errorf("the lease %s/%s divides the objects by %s, and this replica by %s, see "+
				"Options.ByNamespace: end the other replicas first, and delete the lease if it still has members",
				m.options.Namespace, group.Name, in.table.by, by)
		case err != nil:
			return in, fmt.Errorf("the annotation %s of the lease %s/%s is invalid: delete the lease, so that its members "+
				"start again: %w", tableAnnotation, m.options.Namespace, group.Name, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.group = group
	if m.state.self.uid == "" {
		m.state.self.uid = self
	}
	return in, nil
}

// write writes the table.
func (t *turn) write(ctx context.Context, next table) (input, error) {
	m := t.member
	m.mu.Lock()
	l := new(*m.group)
	m.mu.Unlock()
	l.Annotations = maps.Clone(l.Annotations)
	next.by = m.options.by()
	l.Annotations[tableAnnotation] = next.encode()
	l, err := m.leases.Update(ctx, l, nil)
	if err != nil {
		return input{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.group = l
	return input{kind: written, version: l.ResourceVersion, table: next}, nil
}
