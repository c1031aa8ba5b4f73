// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/kube-go/sdk/examples/database/api/v1"
)

// TestOneReplicaLeavesAtATime checks which replica is upgraded next.
func TestOneReplicaLeavesAtATime(t *testing.T) {
	old, upgraded := replica{version: "17", available: true}, replica{version: "18", available: true}
	broken, starting := replica{version: "17"}, replica{version: "18"}
	for _, tc := range []struct {
		name string
		in   []replica
		want int32
	}{
		{"the first one of the old version", []replica{upgraded, old, old}, 1},
		{"one that is not available", []replica{old, old, broken}, 2},
		{"none before a new one is available", []replica{starting, old, old}, 0},
		{"a missing one", []replica{old, {}, old}, 1},
		{"none at the end", []replica{upgraded, upgraded}, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := turn(tc.in, "18"); got != tc.want {
				t.Errorf("turn(%+v) = %d, want %d", tc.in, got, tc.want)
			}
		})
	}
}

// TestBackupTimes checks when backups are due, also after a time in which none was made.
func TestBackupTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &v1.Database{Spec: v1.DatabaseSpec{BackupInterval: metav1.Duration{Duration: time.Hour}}}
		db.CreationTimestamp = metav1.Now()
		for _, tc := range []struct {
			late, want time.Duration // after the backup was due
		}{{0, 0}, {59 * time.Minute, 0}, {time.Hour, time.Hour}, {150 * time.Minute, 2 * time.Hour}} {
			due := nextBackup(db)
			time.Sleep(time.Until(due.Add(tc.late)))
			last := Attempt{Due: metav1.NewTime(due)}.latest(db)
			if got := last.Sub(due); got != tc.want {
				t.Errorf("after a backup that ends %v late, the last one counts as due %v late, want %v", tc.late, got, tc.want)
			}
			db.Status.LastBackup = new(metav1.NewTime(last))
		}
	})
}

// TestBackupsOfAnEarlierDatabaseAreKept checks that a database does not select those of another one with its name.
func TestBackupsOfAnEarlierDatabaseAreKept(t *testing.T) {
	earlier := &v1.Database{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "1"}}
	later := &v1.Database{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "2"}}
	selected, err := labels.Parse(backupsOf(later).LabelSelector)
	if err != nil {
		t.Fatal(err)
	}
	for db, want := range map[*v1.Database]bool{earlier: false, later: true} {
		if got := selected.Matches(labels.Set(backupLabels(db))); got != want {
			t.Errorf("the backups of the database with the UID %s are selected: %t, want %t", db.UID, got, want)
		}
	}
}

// TestAttemptsBackOff checks the delays and the deadlines of attempts.
func TestAttemptsBackOff(t *testing.T) {
	a := Attempt{Timeout: metav1.Duration{Duration: time.Minute}}
	want := map[int32]time.Duration{0: 0, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 10: maxBackOff, 99: maxBackOff}
	for range 100 {
		if d, ok := want[a.Failed]; ok && (a.backOff() != d || a.Deadline(nil) != d+time.Minute) {
			t.Errorf("attempt %d waits for %v and has %v, want %v", a.Failed, a.backOff(), a.Deadline(nil), d)
		}
		a = a.next()
	}
}

// TestTheFinalBackupHasItsOwnName checks that a final backup is not taken for one that was due in the same second.
func TestTheFinalBackupHasItsOwnName(t *testing.T) {
	db := &v1.Database{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	a := Attempt{Due: metav1.Unix(1e9, 0)}
	last := a
	last.Final = true
	if got := [2]string{a.name(db), last.name(db)}; got != [2]string{"shop-backup-1000000000", "shop-backup-final-1000000000"} {
		t.Errorf("the names are %q", got)
	}
	if next := last.next(); next.name(db) != last.name(db) {
		t.Errorf("the next attempt makes the backup %s, want %s", next.name(db), last.name(db))
	}
}
