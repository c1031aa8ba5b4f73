// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestEverythingEqualsTheServerAfterFaults checks that stores, subscribers, indexes and watches have exactly the
// objects of the server after faults under load, that the controller has no work left and all its objects are correct,
// and that the use of memory and goroutines is bounded.
func TestEverythingEqualsTheServerAfterFaults(t *testing.T) {
	t.Parallel()
	s := newFaultyCluster(t)
	t.Run("watches are cut every second", func(t *testing.T) { testCutWatches(t, s) })
	t.Run("30 percent of all requests are rejected", func(t *testing.T) { testRejections(t, s.in(t)) })
	t.Run("the API server rejects all requests five times", func(t *testing.T) { testOverload(t, s.in(t)) })
	t.Run("one source is forbidden", func(t *testing.T) { testForbiddenSource(t, s.in(t)) })
	t.Run("the API server is killed 20 times, and etcd is compacted", func(t *testing.T) { testKills(t, s.in(t)) })
}

// testCutWatches cuts all watches every second, in turns by a reset of all connections and by an end of the responses.
func testCutWatches(t *testing.T, s *testbed) {
	link, cfg := newProxy(t, s.config)
	s = s.in(t) // its goroutines do not include those of the proxy that always run
	sub := s.newSubject(t, cfg)
	sub.control(t)
	sub.ready(t)
	l, stop := s.startLoad(t)
	for range 5 {
		l.await(t)
		link.drop()
		_ = rest(t.Context(), time.Second)
		l.await(t)
		sub.faults.endWatches()
		_ = rest(t.Context(), time.Second)
	}
	stop()
	sub.settle(t)
	s.end(t, sub)
}

// testRejections rejects a third of all requests. Watches are cut, too, because they would not send requests otherwise.
func testRejections(t *testing.T, s *testbed) {
	sub := s.newSubject(t, s.config)
	sub.control(t)
	sub.ready(t)
	l, stop := s.startLoad(t)
	sub.faults.rejecting.Store(true)
	for range 5 {
		l.await(t)
		sub.faults.endWatches()
		_ = rest(t.Context(), 2*time.Second)
	}
	sub.faults.rejecting.Store(false)
	stop()
	if n := sub.faults.rejected.Load(); n == 0 {
		t.Error("no request was rejected")
	} else {
		t.Logf("%d requests were rejected", n)
	}
	sub.settle(t)
	s.end(t, sub)
}

// testOverload makes the API server reject all requests of the subject with 429, for some seconds each time, by its own
// priority and fairness: https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
func testOverload(t *testing.T, s *testbed) {
	const user = "e2e-overload"
	all := []string{"*"}
	allow(t, s, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: all})
	allow(t, s, user, rbacv1.PolicyRule{
		APIGroups: []string{s.widgets.Resource().Group}, Resources: []string{"widgets"}, Verbs: all,
	})
	level := &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: new(int32(0)), LendablePercent: new(int32(0)), BorrowingLimitPercent: new(int32(0)),
				LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		},
	}
	if _, err := kube.ClusterWide[flowcontrolv1.PriorityLevelConfiguration](s.direct).Create(limit(t), level, nil); err != nil {
		t.Fatal(err)
	}
	schemas := kube.ClusterWide[flowcontrolv1.FlowSchema](s.direct)
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: user},
			MatchingPrecedence:         1000,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: all, APIGroups: all, Resources: all, Namespaces: all, ClusterScope: true,
				}},
			}},
		},
	}
	cfg := *s.config
	cfg.Impersonate.User = user
	sub := s.newSubject(t, &cfg)
	sub.control(t)
	sub.ready(t)
	l, stop := s.startLoad(t)
	for range 5 {
		l.await(t)
		if _, err := schemas.Create(limit(t), schema, nil); err != nil {
			t.Fatal(err)
		}
		before := sub.faults.refused.Load()
		eventually(t, "the server rejects requests", func(context.Context) error {
			sub.faults.endWatches()
			if n := sub.faults.refused.Load() - before; n < 10 {
				return fmt.Errorf("it has rejected %d", n)
			}
			return nil
		})
		if err := schemas.Delete(limit(t), user, nil); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	sub.settle(t)
	s.end(t, sub)
}

// testForbiddenSource starts without the permission to read secrets. All other sources must work immediately.
func testForbiddenSource(t *testing.T, s *testbed) {
	const user = "e2e-faults"
	all := []string{"*"}
	allow(t, s, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: all})
	allow(t, s, user, rbacv1.PolicyRule{
		APIGroups: []string{s.widgets.Resource().Group}, Resources: []string{"widgets"}, Verbs: all,
	})
	cfg := *s.config
	cfg.Impersonate.User = user
	sub := s.newSubject(t, &cfg)
	sub.control(t)
	_, stop := s.startLoad(t)
	for _, ready := range []func(context.Context) error{sub.maps.view.Ready, sub.widgets.view.Ready} {
		if err := ready(limit(t)); err != nil {
			t.Fatal(err)
		}
	}
	sub.began = currentUsage(t)
	eventually(t, "the controller works without the secrets", func(ctx context.Context) error {
		for cm, err := range s.maps.All(ctx, nil) {
			if err != nil || metav1.GetControllerOf(cm) != nil {
				return err
			}
		}
		return errors.New("no widget has a child")
	})
	stop()
	forbidden := func() error {
		if err := sub.secrets.view.Health(); !errors.Is(err, kube.ErrForbidden) {
			return fmt.Errorf("Health = %w, want ErrForbidden", err)
		}
		if n := sub.secrets.view.Store().Len(); n > 0 {
			return fmt.Errorf("the store has %d forbidden secrets", n)
		}
		return nil
	}
	settle(t, func(ctx context.Context) error {
		return errors.Join(
			forbidden(), sub.maps.check(ctx), sub.widgets.check(ctx), sub.values.check(ctx), sub.checkIndex(ctx), sub.checkWatched(ctx))
	})
	_, stop = s.startLoad(t)
	allow(t, s, user, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"},
	})
	if err := sub.secrets.view.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	stop()
	sub.settle(t)
	s.end(t, sub)
}

// allow gives a user one permission in the namespace of the testbed.
func allow(t *testing.T, s *testbed, user string, rule rbacv1.PolicyRule) {
	t.Helper()
	name := rule.Resources[0]
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
	if _, err := kube.Namespaced[rbacv1.Role](s.direct, s.ns).Create(limit(t), role, nil); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := kube.Namespaced[rbacv1.RoleBinding](s.direct, s.ns).Create(limit(t), binding, nil); err != nil {
		t.Fatal(err)
	}
}

// testKills kills the API server repeatedly. Sometimes it discards the history of etcd in the meantime, so that no
// watch can resume. The delays of a watch grow with each failure, and the first subject misses most of the later
// servers. Therefore new subjects start in between.
func testKills(t *testing.T, s *testbed) {
	const kills, groups = 20, 4
	var subjects []*subject
	var l *load
	stop := func() {}
	for i := range kills {
		first, last := i%(kills/groups) == 0, i%(kills/groups) == kills/groups-1
		if first {
			sub := s.newSubject(t, s.config)
			if i == 0 {
				sub.control(t) // several controllers would undo the changes of each other
			}
			sub.ready(t)
			subjects = append(subjects, sub)
		}
		if i == 0 {
			l, stop = s.startLoad(t)
		}
		l.await(t)
		s.restart(t, last)
	}
	stop()
	var expired int64
	for _, sub := range subjects {
		sub.settle(t)
		expired += sub.expired.Load()
	}
	if expired == 0 {
		t.Error("no watch was rejected because its version is compacted")
	}
	s.end(t, subjects...)
}

// restart kills the API server, and starts it again. If compact is true, all earlier resource versions expire.
func (s *testbed) restart(t *testing.T, compact bool) {
	t.Helper()
	apiserver := s.cluster.Component(cluster.APIServer)
	if err := apiserver.Kill(); err != nil {
		t.Fatal(err)
	}
	if compact {
		if _, err := s.cluster.CompactEtcd(limit(t)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, started := limit(t), make(chan error)
	go func() {
		pprof.SetGoroutineLabels(context.Background()) // the goroutines of the cluster are not those of the test
		started <- apiserver.Start(ctx)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

// suspend pauses the API server for a time. Its connections stay open.
func (s *testbed) suspend(t *testing.T, d time.Duration) {
	t.Helper()
	apiserver := s.cluster.Component(cluster.APIServer)
	if err := apiserver.Pause(); err != nil {
		t.Fatal(err)
	}
	_ = rest(t.Context(), d)
	if err := apiserver.Resume(); err != nil {
		t.Fatal(err)
	}
}
