// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Peer is the program of the section Two replicas of README.md, written with controller-runtime: two controllers with
// leader election, health endpoints, metrics and caches that are synced on standby. It is compiled, and not run.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		slog.Error("the program has failed", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	m, err := ctrl.NewManager(cfg, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "shop", LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress: ":8081",
		Metrics:                server.Options{BindAddress: ":8080"},
		Controller:             config.Controller{EnableWarmup: new(true)},
	})
	if err != nil {
		return err
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	err = m.AddReadyzCheck("caches", func(r *http.Request) error {
		if !m.GetCache().WaitForCacheSync(r.Context()) {
			return errors.New("not synced")
		}
		return nil
	})
	if err != nil {
		return err
	}
	namespaces := &namespaceReconciler{m.GetClient()}
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.Namespace{}).Complete(namespaces); err != nil {
		return err
	}
	secrets := &secretReconciler{m.GetClient()}
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.Secret{}).Complete(secrets); err != nil {
		return err
	}
	return m.Start(ctx)
}

type namespaceReconciler struct{ client client.Client }

// Reconcile implements reconcile.Reconciler.
func (r *namespaceReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var ns corev1.Namespace
	if err := r.client.Get(ctx, req.NamespacedName, &ns); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("namespace", "labels", ns.Labels)
	return ctrl.Result{}, nil
}

type secretReconciler struct{ client client.Client }

// Reconcile implements reconcile.Reconciler.
func (r *secretReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var secret corev1.Secret
	if err := r.client.Get(ctx, req.NamespacedName, &secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("secret", "type", secret.Type)
	return ctrl.Result{}, nil
}
