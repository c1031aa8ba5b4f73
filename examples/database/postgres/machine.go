// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres is the life of a database as a durable state machine: it is provisioned, serves, takes backups, and
// is upgraded replica by replica, or rolled back. A deleted one takes a final backup.
//
// Each replica is a PostgreSQL server of its own: the replication between them, and a place to keep the backups, are
// left out.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/database/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/inventory"
)

// Name is the name of the machine. Each database has it as a finalizer.
const Name = "db.example.com/database"

// RolledBack is the type of the condition of a database whose upgrade has failed.
const RolledBack = "RolledBack"

type ctx = *fsm.Ctx[v1.Database]

// The states, each with the states that may follow it.
type (
	// Provision is a database that has never been complete. After a change of its spec, a database begins here, too.
	Provision     struct{}
	fromProvision interface{ fromProvision() }

	// Serve is a database that needs nothing but repairs until the next backup.
	Serve     struct{}
	fromServe interface{ fromServe() }

	// Backup is a database that takes a backup.
	Backup struct {
		Attempt `json:",inline"`
	}
	fromBackup interface{ fromBackup() }

	// Upgrade is a database whose replicas are being replaced by those of another version.
	Upgrade struct {
		Version string `json:"version"`
	}
	fromUpgrade interface{ fromUpgrade() }

	// Rollback is a database whose upgrade has failed.
	Rollback struct {
		Version string `json:"version"` // that has failed
		Reason  string `json:"reason"`
	}
	fromRollback interface{ fromRollback() }

	// Retire is a database that has been deleted.
	Retire     struct{}
	fromRetire interface{ fromRetire() }

	// FinalBackup is a deleted database that takes its last backup.
	FinalBackup struct {
		Attempt `json:",inline"`
	}
	fromFinalBackup interface{ fromFinalBackup() }

	// Release is a deleted database of which only the backups remain, if any.
	Release struct{}
)

func (Serve) fromProvision()         {}
func (Backup) fromServe()            {}
func (Upgrade) fromServe()           {}
func (Serve) fromBackup()            {}
func (Backup) fromBackup()           {}
func (Serve) fromUpgrade()           {}
func (Rollback) fromUpgrade()        {}
func (Upgrade) fromRollback()        {}
func (FinalBackup) fromRetire()      {}
func (Release) fromRetire()          {}
func (FinalBackup) fromFinalBackup() {}
func (Release) fromFinalBackup()     {}

// Step declares the objects of a new database, and waits until all replicas are available.
func (Provision) Step(c ctx, to fsm.To[fromProvision]) fsm.Result[fromProvision] {
	s := &c.Obj.Status
	s.FailedVersion, s.FailedReason = "", "" // the spec has changed: a version that has failed is tried again
	if s.Version != "" {
		return to.Go(Serve{})
	}
	all, err := observe(c)
	if err == nil {
		err = declare(c, all)
	}
	if err != nil {
		return to.Retry(err)
	}
	if waiting := incomplete(all, c.Obj.Spec.Version); waiting != "" {
		return to.Stay(waiting, time.Minute)
	}
	s.Version = c.Obj.Spec.Version
	return to.Go(Serve{})
}

// Step repairs the database, and decides what comes next. An upgrade comes before a backup, which a broken version may
// prevent.
func (Serve) Step(c ctx, to fsm.To[fromServe]) fsm.Result[fromServe] {
	all, err := observe(c)
	if err != nil {
		return to.Retry(err)
	}
	s, target := &c.Obj.Status, c.Obj.Spec.Version
	if target == s.FailedVersion {
		target = s.Version
	}
	other := func(r replica) bool { return r.version != "" && r.version != target }
	if s.Version != target || slices.ContainsFunc(all, other) {
		return to.Go(Upgrade{Version: target})
	}
	if err := declare(c, all); err != nil {
		return to.Retry(err)
	}
	due := nextBackup(c.Obj)
	rest := time.Until(due)
	if rest <= 0 {
		return to.Go(Backup{Attempt{Due: metav1.NewTime(due), Timeout: c.Obj.Spec.Timeout}})
	}
	if waiting := incomplete(all, target); waiting != "" {
		return to.Stay(waiting, rest)
	}
	return to.Idle("the next backup is due at "+due.UTC().Format(time.RFC3339), rest)
}

// Step makes the backup.
func (s Backup) Step(c ctx, to fsm.To[fromBackup]) fsm.Result[fromBackup] {
	waiting, delay, err := s.run(c)
	switch {
	case errors.Is(err, errAttempt):
		return to.Go(Backup{s.next()})
	case err != nil:
		return to.Retry(err)
	case waiting != "":
		return to.Stay(waiting, delay)
	}
	c.Obj.Status.LastBackup = new(metav1.NewTime(s.latest(c.Obj)))
	return to.Go(Serve{})
}

// OnDeadline looks first: the backup may have been completed while the program did not run.
func (s Backup) OnDeadline(c ctx, to fsm.To[fromBackup]) fsm.Result[fromBackup] { return s.Step(c, to) }

// Step runs a child machine for each replica, and waits until all have the version.
func (s Upgrade) Step(c ctx, to fsm.To[fromUpgrade]) fsm.Result[fromUpgrade] {
	all, err := observe(c)
	if err != nil {
		return to.Retry(err)
	}
	back := s.Version == c.Obj.Status.Version // there is no other version to go back to
	starts := map[string]Queue{}
	for i := range c.Obj.Spec.Replicas {
		starts[podName(c.Obj, i)] = Queue{Replica{Index: i, Version: s.Version, Last: back, Timeout: c.Obj.Spec.Timeout}}
	}
	children := fsm.Env[*env](c).replicas.Run(c, starts)
	for name, broken := range fsm.Ended[Broken](children) {
		return to.Go(Rollback{Version: s.Version, Reason: name + ": " + broken.Reason})
	}
	for _, r := range fsm.Ended[Upgraded](children) { // its machine has ended: repair it here
		restore(c, all, r.Index, s.Version)
	}
	if wait, result := fsm.Join(to, children); wait {
		return result
	}
	c.Obj.Status.Version = s.Version
	return to.Go(Serve{})
}

// Step upgrades the database to the version that it had. Serve does not try the failed version again.
func (s Rollback) Step(c ctx, to fsm.To[fromRollback]) fsm.Result[fromRollback] {
	c.Obj.Status.FailedVersion, c.Obj.Status.FailedReason = s.Version, s.Reason
	return to.Go(Upgrade{Version: c.Obj.Status.Version})
}

// Step decides whether there is something to keep.
func (Retire) Step(c ctx, to fsm.To[fromRetire]) fsm.Result[fromRetire] {
	if !keeps(c.Obj) || c.Obj.Status.Version == "" {
		return to.Go(Release{})
	}
	return to.Go(FinalBackup{Attempt{Due: *c.Obj.DeletionTimestamp, Timeout: c.Obj.Spec.Timeout, Final: true}})
}

// Step makes the final backup. It is tried until it succeeds, or until keepBackups is set to false. In a namespace that
// is being deleted, no pod can be created.
func (s FinalBackup) Step(c ctx, to fsm.To[fromFinalBackup]) fsm.Result[fromFinalBackup] {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Obj.Namespace}}
	switch _, err := c.Get(namespace); {
	case err != nil:
		return to.Retry(err)
	case namespace.DeletionTimestamp != nil:
		return to.Go(Release{})
	}
	waiting, delay, err := s.run(c)
	switch {
	case errors.Is(err, errAttempt):
		return to.Go(FinalBackup{s.next()})
	case err != nil:
		return to.Retry(err)
	case waiting != "":
		return to.Stay(waiting, delay)
	}
	return to.Go(Release{})
}

// OnDeadline looks first.
func (s FinalBackup) OnDeadline(c ctx, to fsm.To[fromFinalBackup]) fsm.Result[fromFinalBackup] {
	return s.Step(c, to)
}

// Step deletes the backups, unless they are kept. The machine then deletes all that the states have declared.
func (Release) Step(c ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	if !keeps(c.Obj) && !c.Planning() {
		if err := backups(c).DeleteCollection(c, nil, backupsOf(c.Obj)); err != nil {
			return to.Retry(err)
		}
	}
	return fsm.Done(to)
}

func keeps(db *v1.Database) bool { return db.Spec.KeepBackups == nil || *db.Spec.KeepBackups }

// incomplete returns why a database has not all replicas of a version, or "".
func incomplete(all []replica, version string) string {
	have := 0
	for _, r := range all {
		if r.available && r.version == version {
			have++
		}
	}
	if have == len(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d replicas are available", have, len(all))
}

// env is what the steps need besides the database.
type env struct {
	client   *kube.Client
	replicas *fsm.Group[v1.Database, Queue]
}

// New returns the machine. Of the options, Durable, Env and Conditions are set here.
func New(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Database] {
	var options fsm.Options
	if o != nil {
		options = *o
	}
	e := &env{client: c}
	options.Durable, options.Env, options.Conditions = true, e, []string{RolledBack}
	m := fsm.New[v1.Database](c, Name, &options)
	fsm.Add(m, Provision{})
	fsm.Add(m, Serve{})
	fsm.Add(m, Backup{})
	fsm.Add(m, Upgrade{})
	fsm.Add(m, Rollback{})
	fsm.OnDelete(m, Retire{})
	fsm.OnDelete(m, FinalBackup{})
	fsm.OnDelete(m, Release{})
	e.replicas = fsm.NewGroup(m, "Replica", Queue{})
	fsm.Add(e.replicas, Drain{})
	fsm.Add(e.replicas, Replace{})
	fsm.Add(e.replicas, Check{})
	fsm.Add(e.replicas, Upgraded{})
	fsm.Add(e.replicas, Broken{})
	return m
}

// Install installs the kind.
func Install(ctx context.Context, c *kube.Client) error {
	crd, err := kube.CRD[v1.Database]()
	if err != nil {
		return err
	}
	return kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{crd}, &kube.InstallOptions{FieldManager: "database"})
}

// Run installs the kind, and runs the machine for the databases of a namespace, or of all if it is empty, until ctx
// ends. OnStep may be nil.
func Run(ctx context.Context, c *kube.Client, namespace string, onStep fsm.StepHook) error {
	if err := Install(ctx, c); err != nil {
		return err
	}
	cache := kube.NewCache(c, nil)
	ours := &kube.Selection{Namespace: namespace, LabelSelector: databaseLabel}
	databases := kube.ViewOf[v1.Database](cache, &kube.Selection{Namespace: namespace})
	pods, services := kube.ViewOf[corev1.Pod](cache, ours), kube.ViewOf[corev1.Service](cache, ours)
	ctl := kube.NewController(kube.ForView(databases), nil).
		Owns(kube.SourceView(pods)).
		Owns(kube.SourceView(services))
	m := New(c, &fsm.Options{Views: []inventory.View{pods, services}, OnStep: onStep, StuckAfter: 15 * time.Minute})
	return ctl.Run(ctx, m.Reconcile)
}
