// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// stage is the state that the acts of the demo share.
type stage struct {
	client  *kube.Client
	cluster *cluster.Cluster // nil if the demo did not start it
	dir     string           // directory of the files that the controller writes
	wait    bool             // wait for Enter before the end

	namespace string
	docs      *kube.API[v1.Document]
	maps      *kube.API[corev1.ConfigMap]
	runs      atomic.Int64 // number of reconciles
	failures  atomic.Int64
	events    atomic.Int64
	replicas  map[string]context.CancelCauseFunc // stop the replicas
	reconcile chan string                        // the name of the latest replica that has reconciled, until it is read
}

var errEnded = errors.New("the demo has ended")

// play runs the acts of the demo, and then restores the cluster.
func play(ctx context.Context, s *screen, st *stage) (err error) {
	undo, err := st.prepare(ctx, s)
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return err
	}
	stop, err := st.start(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	acts := []func(context.Context, *screen) error{
		st.create, st.edit, st.deleteConfigMap, st.mistake, st.handOver, st.killServer, st.deleteDocument,
	}
	for _, act := range acts {
		if err := act(ctx, s); err != nil {
			return err
		}
	}
	if err := st.summary(ctx, s); err != nil {
		return err
	}
	if st.wait {
		s.say("press Enter to end")
		enter := make(chan struct{})
		go func() { // ends with the program
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			close(enter)
		}()
		select {
		case <-enter:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return st.deleteAll(ctx)
}

// prepare installs the CustomResourceDefinition and creates a namespace. Call undo even if prepare returns an error.
func (st *stage) prepare(ctx context.Context, s *screen) (undo func() error, err error) {
	s.step("Install the CustomResourceDefinition that kube-derive generated from a Go struct")
	var undos []func(context.Context) error
	undo = func() error {
		if st.cluster != nil {
			return nil // the whole cluster is deleted
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
		defer cancel()
		var errs []error
		for _, undo := range slices.Backward(undos) {
			errs = append(errs, undo(ctx))
		}
		return errors.Join(errs...)
	}

	crds := kube.Dynamic(st.client, kube.CRDResource())
	crd, err := kube.CRD[v1.Document]()
	if err != nil {
		return undo, err
	}
	// A definition that was installed before is not removed.
	if _, err := crds.Get(ctx, crd.GetName(), nil); errors.Is(err, kube.ErrNotFound) {
		undos = append(undos, func(ctx context.Context) error {
			if err := crds.Delete(ctx, crd.GetName(), nil); err != nil {
				return err
			}
			return kube.AwaitGone(ctx, crds, crd.GetName(), "", nil)
		})
	}
	if err := documents.Install(ctx, st.client); err != nil {
		return undo, err
	}
	s.say("%s is established", crd.GetName())

	namespaces := kube.ClusterWide[corev1.Namespace](st.client)
	ns, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "demo-"}}, nil)
	if err != nil {
		return undo, err
	}
	undos = append(undos, func(ctx context.Context) error {
		if err := namespaces.Delete(ctx, ns.Name, nil); err != nil {
			return err
		}
		return kube.AwaitGone(ctx, namespaces, ns.Name, ns.UID, nil)
	})
	st.namespace = ns.Name
	st.docs = kube.Namespaced[v1.Document](st.client, ns.Name)
	st.maps = kube.Namespaced[corev1.ConfigMap](st.client, ns.Name)
	return undo, nil
}

// start runs two replicas of the controller, and prints the conditions of documents and the events as they change.
func (st *stage) start(ctx context.Context, s *screen) (stop func() error, err error) {
	s.step("Run two replicas of the controller, with its objects in namespace %s", st.namespace)
	names, pages := []string{"replica-1", "replica-2"}, map[string]string{}
	for _, name := range names {
		if pages[name], err = freeAddr(ctx); err != nil {
			return nil, err
		}
		s.say("debug page   %-8s http://%s/debug/controllers", name, pages[name])
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	st.replicas, st.reconcile = map[string]context.CancelCauseFunc{}, make(chan string, 1)
	for _, name := range names {
		ctx, end := context.WithCancelCause(ctx)
		st.replicas[name] = end
		wg.Go(func() {
			if err := st.run(ctx, s, name, pages[name]); err != nil {
				cancel(err) // nothing must wait for a replica that has stopped
			}
		})
	}
	wg.Go(func() { st.showConditions(ctx, s) })
	wg.Go(func() { st.showEvents(ctx, s) })
	s.say("running")
	return func() error {
		cancel(errEnded)
		wg.Wait()
		if err := context.Cause(ctx); !errors.Is(err, errEnded) {
			return err
		}
		return nil
	}, nil
}

// freeAddr returns an address that no program listens to.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "localhost:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// run runs a replica of the controller.
func (st *stage) run(ctx context.Context, s *screen, name, page string) error {
	return documents.Run(ctx, st.client, &documents.Options{
		Dir:       st.dir,
		Election:  &kube.ElectionOptions{Namespace: st.namespace, Identity: name},
		DebugAddr: page,
		Logger:    slog.New(slog.DiscardHandler), // OnResult prints the errors
		OnResult: func(r kube.Result) {
			st.runs.Add(1)
			st.latest(name)
			if r.Err != nil {
				st.failures.Add(1)
				s.say("reconcile    %-8s failed, retry in %v: %v", r.Key.Ref.Name, r.RetryIn.Round(time.Millisecond), r.Err)
			}
		},
	})
}

// latest makes a replica the latest one that has reconciled.
func (st *stage) latest(name string) {
	for {
		select {
		case st.reconcile <- name:
			return
		case <-st.reconcile:
		}
	}
}

func (st *stage) showConditions(ctx context.Context, s *screen) {
	last := map[string]string{}
	for ev, err := range kube.Watch(ctx, st.docs, quiet()) {
		if err != nil {
			return // the demo has ended
		}
		if ev.Type == kube.Bookmark {
			continue
		}
		doc := ev.Object
		text := "no condition yet"
		if cond := meta.FindStatusCondition(doc.Status.Conditions, v1.ConditionReady); cond != nil {
			text = fmt.Sprintf("Ready=%s %s: %s (generation %d)",
				cond.Status, cond.Reason, cond.Message, cond.ObservedGeneration)
		}
		switch {
		case ev.Type == kube.Deleted:
			text = "deleted"
		case doc.DeletionTimestamp != nil:
			text = fmt.Sprintf("being deleted, finalizers %v", doc.Finalizers)
		}
		if last[doc.Name] != text {
			last[doc.Name] = text
			s.say("document     %-8s %s", doc.Name, text)
		}
	}
}

func (st *stage) showEvents(ctx context.Context, s *screen) {
	events := kube.Namespaced[eventsv1.Event](st.client, st.namespace)
	for ev, err := range kube.Watch(ctx, events, quiet()) {
		if err != nil {
			return // the demo has ended
		}
		if e := ev.Object; ev.Type == kube.Added || ev.Type == kube.Modified {
			st.events.Add(1)
			times := ""
			if e.Series != nil {
				times = fmt.Sprintf(" (%d times)", e.Series.Count)
			}
			s.say("event        %-8s %s %s: %s%s", e.Regarding.Name, e.Type, e.Reason, e.Note, times)
		}
	}
}

// quiet returns the options of a watch whose failures the demo does not show, since it kills the API server on purpose.
func quiet() *kube.WatchOptions { return &kube.WatchOptions{OnError: func(error) {}} }
