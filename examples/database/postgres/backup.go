// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/database/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/inventory"
)

// maxBackOff is the longest time before another attempt to make a backup.
const maxBackOff = 5 * time.Minute

// errAttempt is the error of an attempt that needs another one.
var errAttempt = errors.New("the backup has failed")

// Attempt is an attempt to make the backup that was due at a time. The names of its pod and of the backup depend on
// nothing else, so a program that was killed continues with the same ones.
type Attempt struct {
	Due     metav1.Time     `json:"due"`
	Failed  int32           `json:"failed,omitempty"` // attempts
	Timeout metav1.Duration `json:"timeout"`
	Final   bool            `json:"final,omitempty"` // of a deleted database
}

// name returns the name of the backup. The final one may be due in the same second as another one, which has older
// data.
func (a Attempt) name(db *v1.Database) string {
	kind := "backup"
	if a.Final {
		kind = "backup-final"
	}
	return fmt.Sprintf("%s-%s-%d", db.Name, kind, a.Due.Unix())
}

func (a Attempt) next() Attempt {
	a.Failed++
	return a
}

// backOff is how long the attempt waits before it begins.
func (a Attempt) backOff() time.Duration {
	if a.Failed == 0 {
		return 0
	}
	return min(time.Second<<min(a.Failed-1, 20), maxBackOff)
}

// Deadline limits the attempt.
func (a Attempt) Deadline(ctx) time.Duration { return a.backOff() + a.Timeout.Duration }

// run makes the backup in a pod. It returns why the backup is not complete, and the time until the next look. The
// attempt has failed if the error is errAttempt.
func (a Attempt) run(c ctx) (waiting string, delay time.Duration, err error) {
	all, err := observe(c)
	if err == nil {
		err = declare(c, all)
	}
	if err != nil {
		return "", 0, err
	}
	if rest := a.backOff() - time.Since(c.Since()); rest > 0 {
		return fmt.Sprintf("%d attempts have failed", a.Failed), rest, nil
	}
	backup := a.name(c.Obj)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", backup, a.Failed)}}
	if _, err := c.Get(pod); err != nil {
		return "", 0, err
	}
	c.Apply(inventory.Declaration{
		Object: dump(c.Obj, fmt.Sprintf("%s-%d", backup, a.Failed)),
		Ready:  func(*unstructured.Unstructured) error { return nil }, // its phase decides below, also if the attempt has failed
	})
	switch pod.Status.Phase {
	case corev1.PodFailed:
		return "", 0, errAttempt
	case corev1.PodSucceeded:
		return "", 0, a.record(c, backup)
	}
	if time.Since(c.Since()) >= a.Deadline(c) {
		return "", 0, errAttempt
	}
	return "the backup is not complete", time.Minute, nil
}

// record stores that the backup exists. The database does not own the record, which may outlive it.
func (a Attempt) record(c ctx, name string) error {
	if c.Planning() {
		return nil
	}
	_, err := backups(c).Create(c, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: backupLabels(c.Obj)},
		Data:       map[string]string{"version": c.Obj.Status.Version, "due": a.Due.UTC().Format(time.RFC3339)},
	}, nil)
	if errors.Is(err, kube.ErrAlreadyExists) {
		return nil
	}
	return err
}

// latest returns the last time when a backup was due, at the end of an attempt. Backups that were due while the program
// did not run are left out.
func (a Attempt) latest(db *v1.Database) time.Time {
	late := time.Since(a.Due.Time).Truncate(interval(db))
	return a.Due.Add(max(0, late))
}

// nextBackup returns when the next backup is due.
func nextBackup(db *v1.Database) time.Time {
	last := db.CreationTimestamp
	if db.Status.LastBackup != nil {
		last = *db.Status.LastBackup
	}
	return last.Add(interval(db))
}

// interval returns the time between two backups, whose names have seconds.
func interval(db *v1.Database) time.Duration {
	return max(time.Second, db.Spec.BackupInterval.Duration.Truncate(time.Second))
}

// backups are the records of backups.
func backups(c ctx) *kube.API[corev1.ConfigMap] {
	return kube.Namespaced[corev1.ConfigMap](fsm.Env[*env](c).client, c.Obj.Namespace)
}

// backupLabels returns the labels of the backups of a database.
func backupLabels(db *v1.Database) map[string]string {
	return map[string]string{backupLabel: db.Name, ownerLabel: string(db.UID)}
}

// backupsOf selects the backups of a database, and not those of an earlier one with its name.
func backupsOf(db *v1.Database) *kube.ListOptions {
	return &kube.ListOptions{LabelSelector: ownerLabel + "=" + string(db.UID)}
}
