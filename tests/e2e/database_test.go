// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	v1 "github.com/kube-go/sdk/examples/database/api/v1"
	"github.com/kube-go/sdk/examples/database/postgres"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// The database tests run without a node. So they play the part of the kubelet, which is small: the pods of replicas
// become ready, those of backups succeed. No image is pulled, and no PostgreSQL runs.
const (
	brokenVersion  = "broken"  // never ready
	failingVersion = "failing" // its pods fail
)

// databaseKubelet sets the status of a pod. Fail reports whether the pod of a backup fails.
func databaseKubelet(ctx context.Context, pods *kube.API[corev1.Pod], pod *corev1.Pod, fail func(name string) bool) error {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending {
		return nil
	}
	phase, ready := corev1.PodRunning, corev1.ConditionTrue
	switch main := pod.Spec.Containers[0]; {
	case main.Name == "backup" && fail(pod.Name):
		phase = corev1.PodFailed
	case main.Name == "backup":
		phase = corev1.PodSucceeded
	case strings.HasSuffix(main.Image, ":"+brokenVersion):
		ready = corev1.ConditionFalse
	case strings.HasSuffix(main.Image, ":"+failingVersion):
		phase = corev1.PodFailed
	}
	if phase != corev1.PodRunning {
		ready = corev1.ConditionFalse
	}
	_, err := pods.In(pod.Namespace).Status().Patch(ctx, pod.Name, kube.StrategicMergePatch(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{
			"phase": phase, "conditions": []map[string]any{{"type": corev1.PodReady, "status": ready}},
		},
	}), nil)
	if errors.Is(err, kube.ErrNotFound) || errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return err
}

// dueTime matches the time in the name of a backup.
var dueTime = regexp.MustCompile(`-[0-9]{9,}`)

func newDatabase(name string, spec v1.DatabaseSpec) *v1.Database {
	return &v1.Database{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// databaseLeftovers returns the objects that a deleted database has left, with the due times of backups as DUE.
func databaseLeftovers(t testing.TB, c *kube.Client, ns string) []string {
	t.Helper()
	var all []string
	add := func(kind, name string, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if name != "kube-root-ca.crt" {
			all = append(all, kind+" "+dueTime.ReplaceAllString(name, "-DUE"))
		}
	}
	for o, err := range kube.Namespaced[corev1.Pod](c, ns).All(t.Context(), nil) {
		add("pod", o.GetName(), err)
	}
	for o, err := range kube.Namespaced[corev1.Service](c, ns).All(t.Context(), nil) {
		add("service", o.GetName(), err)
	}
	for o, err := range kube.Namespaced[corev1.Secret](c, ns).All(t.Context(), nil) {
		add("secret", o.GetName(), err)
	}
	for o, err := range kube.Namespaced[corev1.ConfigMap](c, ns).All(t.Context(), nil) {
		add("record", o.GetName(), err)
	}
	return all
}

// history is what a watch has seen of the pods and the secret of a database.
type history struct {
	mu       sync.Mutex // guards the fields below
	pods     map[string][]podLife
	serving  map[string]bool // by the UID of a pod
	complete int             // the number of replicas from which the availability counts
	fewest   int             // available replicas since it was complete
	seen     bool            // it was complete
	secrets  map[string]bool // the passwords
	failing  bool            // the first attempt of each backup fails, not only that of each second one
}

// fail reports whether the pod of a backup fails.
func (h *history) fail(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var due, attempt int
	_, err := fmt.Sscanf(strings.Replace(name, "-final", "", 1), "db-backup-%d-%d", &due, &attempt)
	return err == nil && attempt == 0 && (h.failing || due/2%2 == 0)
}

// podLife is a pod of a name.
type podLife struct{ uid, image, phase string }

func (h *history) pod(event kube.WatchEvent[corev1.Pod]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pod := event.Object
	lives, uid := h.pods[pod.Name], string(pod.UID)
	if len(lives) == 0 || lives[len(lives)-1].uid != uid {
		lives = append(lives, podLife{uid: uid})
	}
	last := &lives[len(lives)-1]
	last.image, last.phase = pod.Spec.Containers[0].Image, string(pod.Status.Phase)
	h.pods[pod.Name] = lives
	delete(h.serving, uid)
	for _, cond := range pod.Status.Conditions {
		serves := cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue && pod.Labels["db.example.com/serving"] == "true"
		if serves && event.Type != kube.Deleted && pod.DeletionTimestamp == nil {
			h.serving[uid] = true
		}
	}
	if n := len(h.serving); h.complete > 0 {
		h.seen = h.seen || n >= h.complete
		if h.seen {
			h.fewest = min(h.fewest, n)
		}
	}
}

// end ends the count of available replicas. From then on, the first attempt of each backup fails.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.complete, h.failing = 0, true
}

// executioner is a middleware that kills a program at a random write to a namespace: before the server gets it, or
// after the server has processed it. From then on, all requests fail.
type executioner struct {
	ns    string
	left  atomic.Int64 // writes until the death
	after bool
	dead  atomic.Bool
	die   context.CancelCauseFunc
}

var errExecuted = errors.New("the program was killed")

func (e *executioner) middleware(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if e.dead.Load() {
			return nil, errExecuted
		}
		write := r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+e.ns+"/")
		last := write && e.left.Add(-1) == 0
		if last {
			e.dead.Store(true)
			defer e.die(errExecuted)
		}
		if last && !e.after {
			return nil, errExecuted
		}
		resp, err := next.RoundTrip(r)
		if last && err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			return nil, errExecuted
		}
		return resp, err
	})
}

// killDatabases runs the program of databases again and again, and kills it at random writes to a namespace.
func killDatabases(
	ctx context.Context, t *testing.T, cfg *kube.Config, ns string, r *rand.Rand, onStep fsm.StepHook, kills *atomic.Int64,
) error {
	for ctx.Err() == nil {
		life, die := context.WithCancelCause(ctx)
		e := &executioner{ns: ns, after: r.IntN(2) == 0, die: die}
		e.left.Store(1 + r.Int64N(10)) // a pass that creates everything has 8 writes
		c, err := kube.NewClient(life, &kube.ClientOptions{
			Config: cfg, PerAttempt: []middleware.Func{e.middleware}, Logger: debugLogger(t),
		})
		if err == nil {
			err = postgres.Run(life, c, ns, onStep)
		}
		cause := context.Cause(life)
		die(nil)
		switch {
		case errors.Is(cause, errExecuted):
			kills.Add(1)
		case ctx.Err() == nil:
			return fmt.Errorf("the program has ended by itself: %w", err)
		}
	}
	return context.Cause(ctx)
}

// TestDatabaseSurvivesRandomKills kills the program of a database at random writes, from its creation over backups, an
// upgrade, a failing upgrade and a change of the replicas to its deletion.
func TestDatabaseSurvivesRandomKills(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := postgres.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	ns, coverage, kills := newNamespace(t, c), new(fsmtest.Coverage), new(atomic.Int64)
	awaitPods(t, c, ns)
	dbs, pods := kube.Namespaced[v1.Database](c, ns), kube.Namespaced[corev1.Pod](c, ns)
	h := &history{pods: map[string][]podLife{}, serving: map[string]bool{}, secrets: map[string]bool{}, complete: 3, fewest: 3}
	background(t, func(ctx context.Context) error {
		for event, err := range kube.Watch(ctx, pods, nil) {
			if err != nil {
				return err
			}
			if event.Type == kube.Bookmark {
				continue
			}
			h.pod(event)
			if event.Type == kube.Deleted {
				continue
			}
			if err := databaseKubelet(ctx, pods, event.Object, h.fail); err != nil {
				return err
			}
		}
		return nil
	})
	background(t, func(ctx context.Context) error {
		for event, err := range kube.Watch(ctx, kube.Namespaced[corev1.Secret](c, ns), nil) {
			if err != nil {
				return err
			}
			if event.Type == kube.Bookmark {
				continue
			}
			h.mu.Lock()
			h.secrets[string(event.Object.Data["password"])] = true
			h.mu.Unlock()
		}
		return nil
	})
	program := background(t, func(ctx context.Context) error {
		return killDatabases(ctx, t, c.Config(), ns, rand.New(rand.NewPCG(seed, 0)), coverage.OnStep, kills)
	})

	second := metav1.Duration{Duration: time.Second}
	_, err := dbs.Create(limit(t), newDatabase("db", v1.DatabaseSpec{
		Version: "17", Replicas: 3, BackupInterval: metav1.Duration{Duration: 2 * time.Second},
		DrainTime: metav1.Duration{Duration: 200 * time.Millisecond}, Timeout: metav1.Duration{Duration: 3 * time.Minute},
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	ready := kube.StatusCondition[v1.Database]("Ready", metav1.ConditionTrue)
	begin := time.Now()
	await := func(what string, generation int64, check func(*v1.Database) error) *v1.Database {
		t.Helper()
		db, err := kube.Await(limit(t), dbs, "db", func(db *v1.Database) error {
			if db.Status.FSM == nil || db.Status.FSM.Generation < generation {
				return errors.New("the spec was not observed")
			}
			return errors.Join(ready(db), check(db))
		}, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: after %v and %d kills", what, time.Since(begin).Round(time.Millisecond), kills.Load())
		return db
	}
	change := func(spec map[string]any) int64 {
		t.Helper()
		db, err := dbs.Patch(limit(t), "db", kube.MergePatch(map[string]any{"spec": spec}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return db.Generation
	}
	is := func(version, failed string, available int32) func(*v1.Database) error {
		return func(db *v1.Database) error {
			s := db.Status
			if s.Version != version || s.FailedVersion != failed || s.Available != available {
				return fmt.Errorf("the status is %s, %q, %d", s.Version, s.FailedVersion, s.Available)
			}
			return nil
		}
	}
	await("provisioned", 1, is("17", "", 3))
	await("two backups", 1, func(*v1.Database) error {
		if n := len(databaseBackups(t, c, ns)); n < 2 {
			return fmt.Errorf("%d backups exist", n)
		}
		return nil
	})
	await("upgraded", change(map[string]any{"version": "18"}), is("18", "", 3))
	// No backup has the short timeout, since a busy machine may need longer for one.
	db := await("rolled back", change(map[string]any{"version": brokenVersion, "timeout": "5s", "backupInterval": "1h"}),
		is("18", brokenVersion, 3))
	if err := kube.StatusCondition[v1.Database](postgres.RolledBack, metav1.ConditionTrue)(db); err != nil {
		t.Error(err)
	}
	await("rolled back again", change(map[string]any{"version": failingVersion, "timeout": "3m", "backupInterval": "2s"}),
		is("18", failingVersion, 3))
	h.end()
	db = await("smaller", change(map[string]any{"version": "18", "replicas": 2}), is("18", "", 2))
	if kube.StatusCondition[v1.Database](postgres.RolledBack, metav1.ConditionTrue)(db) == nil {
		t.Error("it is still rolled back")
	}
	eventually(t, "the program is killed often", func(context.Context) error { // its backups continue
		if n := kills.Load(); n < 20 {
			return fmt.Errorf("it was killed %d times, want at least 20", n)
		}
		return nil
	})
	if err := dbs.Delete(limit(t), "db", nil); err != nil {
		t.Fatal(err)
	}
	deleted, err := dbs.GetOrNil(limit(t), "db", nil)
	if err != nil || deleted == nil {
		t.Fatalf("the deleted database is %v, %v; want one with a finalizer", deleted, err)
	}
	if err := kube.AwaitGone(limit(t), dbs, "db", "", nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("deleted: after %v and %d kills", time.Since(begin).Round(time.Millisecond), kills.Load())
	all := databaseBackups(t, c, ns)
	for _, left := range databaseLeftovers(t, c, ns) {
		if left != "record db-backup-DUE" && left != "record db-backup-final-DUE" {
			t.Errorf("it has left the %s", left)
		}
	}
	// Another one takes a backup, but does not keep it.
	_, err = dbs.Create(limit(t), newDatabase("other", v1.DatabaseSpec{
		Version: "17", Replicas: 1, BackupInterval: second, KeepBackups: new(false),
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Await(limit(t), dbs, "other", func(db *v1.Database) error {
		if db.Status.LastBackup == nil {
			return errors.New("it has no backup")
		}
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.DeleteAndWait(limit(t), dbs, "other", nil); err != nil {
		t.Fatal(err)
	}
	if left := databaseLeftovers(t, c, ns); len(left) != len(all) {
		t.Errorf("%d backups of the first one and the second one have left %v", len(all), left)
	}
	if err := program(); !errors.Is(err, errStopped) {
		t.Error(err)
	}
	t.Logf("the program was killed %d times in %v", kills.Load(), time.Since(begin).Round(time.Millisecond))
	checkHistory(t, h)
	checkBackups(t, h, all, db, deleted.DeletionTimestamp.Time)
	coverage.Check(t, postgres.New(c, nil).Graph())
}

// databaseBackups returns the due times of the backups, by name.
func databaseBackups(t testing.TB, c *kube.Client, ns string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	selected := &kube.ListOptions{LabelSelector: "db.example.com/backup=db"}
	for cm, err := range kube.Namespaced[corev1.ConfigMap](c, ns).All(t.Context(), selected) {
		if err != nil {
			t.Fatal(err)
		}
		due, err := time.Parse(time.RFC3339, cm.Data["due"])
		if err != nil {
			t.Fatal(err)
		}
		all[cm.Name] = due
	}
	return all
}

// checkHistory checks what has happened to the password and to the replicas.
func checkHistory(t *testing.T, h *history) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.secrets) != 2 { // one of each database
		t.Errorf("there were %d passwords", len(h.secrets))
	}
	if !h.seen || h.fewest < 2 {
		t.Errorf("at some time, only %d of 3 replicas were available", h.fewest)
	}
	got := map[string]string{}
	for name, lives := range h.pods {
		if strings.Contains(name, "other-") {
			continue
		}
		if strings.Contains(name, "backup") {
			if len(lives) != 1 {
				t.Errorf("the pod %s was created %d times: %v", name, len(lives), lives)
			}
			continue
		}
		var versions []string
		for _, l := range lives {
			versions = append(versions, strings.TrimPrefix(l.image, "postgres:"))
		}
		got[name] = strings.Join(versions, " ")
	}
	want := map[string]string{"db-0": "17 18 broken 18 failing 18", "db-1": "17 18", "db-2": "17 18"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the versions of the pods (-want +got):\n%s", diff)
	}
}

// checkBackups checks that each backup was taken once, at a time when it was due, and that the final one exists. The
// last one before it may be missing: it was not complete when the database was deleted.
func checkBackups(t *testing.T, h *history, all map[string]time.Time, db *v1.Database, deleted time.Time) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	succeeded := map[string]int{}
	for name, lives := range h.pods {
		if backup := name[:strings.LastIndex(name, "-")]; lives[0].phase == string(corev1.PodSucceeded) && strings.HasPrefix(name, "db-backup") {
			succeeded[backup]++
		}
	}
	final, last := false, time.Time{}
	for name, due := range all {
		if succeeded[name] != 1 {
			t.Errorf("the backup %s was taken %d times", name, succeeded[name])
		}
		delete(succeeded, name)
		if strings.HasPrefix(name, "db-backup-final-") {
			final = !final && due.Equal(deleted)
			continue
		}
		if since := due.Sub(db.CreationTimestamp.Time); since <= 0 || since%(2*time.Second) != 0 {
			t.Errorf("the backup %s was due %v after the creation", name, since)
		}
		if due.After(last) {
			last = due
		}
	}
	maps.DeleteFunc(succeeded, func(name string, _ int) bool {
		due, err := strconv.ParseInt(strings.TrimPrefix(name, "db-backup-"), 10, 64)
		return err == nil && time.Unix(due, 0).After(last)
	})
	if len(succeeded) > 0 {
		t.Errorf("the backups %v were lost", succeeded)
	}
	if !final {
		t.Errorf("the final backup is not among %v", all)
	}
}

// TestDatabaseOfADeletedNamespace checks that a namespace with a database that keeps its backups can be deleted.
func TestDatabaseOfADeletedNamespace(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := postgres.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	namespaces := kube.ClusterWide[corev1.Namespace](c)
	space, err := namespaces.Create(limit(t), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "database-"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ns := space.Name
	awaitPods(t, c, ns)
	dbs, pods := kube.Namespaced[v1.Database](c, ns), kube.Namespaced[corev1.Pod](c, ns)
	background(t, func(ctx context.Context) error {
		for event, err := range kube.Watch(ctx, pods, nil) {
			if err == nil && event.Type != kube.Bookmark && event.Type != kube.Deleted {
				err = databaseKubelet(ctx, pods, event.Object, func(string) bool { return false })
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	background(t, func(ctx context.Context) error { return postgres.Run(ctx, c, ns, nil) })
	if _, err := dbs.Create(limit(t), newDatabase("shop", v1.DatabaseSpec{Version: "17"}), nil); err != nil {
		t.Fatal(err)
	}
	ready := kube.StatusCondition[v1.Database]("Ready", metav1.ConditionTrue)
	if _, err := kube.Await(limit(t), dbs, "shop", ready, nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.DeleteAndWait(limit(t), namespaces, ns, nil); err != nil {
		t.Error(err)
	}
}

// TestDatabaseSurvivesEachCrash kills the program of a database with one replica before and after each of its writes,
// from its creation to its deletion with a final backup.
func TestDatabaseSurvivesEachCrash(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := postgres.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	ns, ready := "", kube.StatusCondition[v1.Database]("Ready", metav1.ConditionTrue)
	succeeds := func(string) bool { return false }
	fsmtest.Crash(t, fsmtest.Scenario[v1.Database]{
		Connect: atWrites(t, c),
		Machine: func(c *kube.Client) *fsm.Machine[v1.Database] { return postgres.New(c, nil) },
		Create: func(tb testing.TB, c *kube.Client) *v1.Database {
			tb.Helper()
			ns = newNamespace(t, c)
			awaitPods(t, c, ns)
			db, err := kube.Namespaced[v1.Database](c, ns).Create(tb.Context(), newDatabase("crash", v1.DatabaseSpec{Version: "17"}), nil)
			if err != nil {
				tb.Fatal(err)
			}
			return db
		},
		Between: func(tb testing.TB, c *kube.Client, db *v1.Database) {
			tb.Helper()
			dbs, pods := kube.Namespaced[v1.Database](c, ns), kube.Namespaced[corev1.Pod](c, ns)
			for pod, err := range pods.All(tb.Context(), nil) {
				if err == nil {
					err = databaseKubelet(tb.Context(), pods, pod, succeeds)
				}
				if err != nil {
					tb.Fatal(err)
				}
			}
			if ready(db) != nil || db.DeletionTimestamp != nil {
				return
			}
			if err := dbs.Delete(tb.Context(), db.Name, nil); err != nil {
				tb.Fatal(err)
			}
		},
		Done: func(db *v1.Database) bool { return db == nil },
		Final: func(tb testing.TB, c *kube.Client, _ *v1.Database) string {
			tb.Helper()
			return strings.Join(databaseLeftovers(tb, c, ns), ", ")
		},
		Path: func(path string) string { return dueTime.ReplaceAllString(path, "-DUE") },
	})
}
