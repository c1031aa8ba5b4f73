// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

// TestReadinessWaitsForTheViewsOfEveryReplica checks that a manager is not ready while one of its views may not list
// its objects, that another view is ready meanwhile, and that the manager is ready some time after the permission is
// granted.
func TestReadinessWaitsForTheViewsOfEveryReplica(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	user := "e2e-reader-of-" + ns
	grant(t, admin, ns, user, "configmaps")
	cfg := *loadConfig(t, "")
	cfg.Impersonate.User = user
	c := connect(t, &kube.ClientOptions{Config: &cfg})
	cache, here := newCache(t, c), &kube.Selection{Namespace: ns}
	log := &transcript{record: io.Discard}
	addr := freeAddr(t)
	m := kube.NewManager(c, &kube.ManagerOptions{HealthAddr: addr, Logger: slog.New(slog.NewTextHandler(log, nil))})
	m.AddToAll(kube.ViewOf[corev1.ConfigMap](cache, here))
	m.AddToAll(kube.ViewOf[corev1.Secret](cache, here))
	background(t, m.Run)

	const path = "/readyz?verbose"
	responds := func(ctx context.Context, path string, lines ...string) error {
		body, err := getText(ctx, "http://"+addr+path)
		if err != nil {
			body = err.Error()
		}
		for _, line := range lines {
			if !strings.Contains(body+"\n", line+"\n") {
				return fmt.Errorf("%s responds %q, want the line %s", path, body, line)
			}
		}
		return nil
	}
	eventually(t, "only the secrets are not synced", func(ctx context.Context) error {
		return errors.Join(
			responds(ctx, path, "[+]running ok", "[+]view-configmaps ok", "[-]view-secrets failed: reason withheld", "readyz check failed"),
			responds(ctx, "/readyz/view-configmaps", "ok"),
			responds(ctx, path+"&exclude=view-secrets", "readyz check passed"),
			responds(ctx, "/livez", "ok"),
		)
	})
	eventually(t, "the log has the reason", func(ctx context.Context) error {
		const want = "the view of secrets is not synced: "
		if err := responds(ctx, "/readyz/view-secrets", "readyz check failed"); err != nil { // each check may log
			return err
		}
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, want) && strings.Contains(line, "forbidden") && strings.Contains(line, user) {
				return nil
			}
		}
		return fmt.Errorf("no record has %q and the server's response: %s", want, log.String())
	})
	grant(t, admin, ns, user, "secrets")
	eventually(t, "the manager is ready", func(ctx context.Context) error {
		return errors.Join(
			responds(ctx, path, "[+]view-configmaps ok", "[+]view-secrets ok", "readyz check passed"),
			responds(ctx, "/readyz", "ok"),
		)
	})
}
