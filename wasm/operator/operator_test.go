// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/runtime/metrics"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/operator"
)

// unreachable returns a client of a server that can't be reached, and a host that uses it.
func unreachable(t *testing.T) (*client.Client, *host.Host) {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"},
		Transport: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("on purpose")
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := h.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
	return c, h
}

func TestInvalidOptionsNameTheField(t *testing.T) {
	c, h := unreachable(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		client  *client.Client
		host    *host.Host
		options operator.Options
		wantErr string
	}{
		{"no client", nil, h, operator.Options{}, "the client is nil: pass "},
		{"no host", c, nil, operator.Options{}, "the host is nil: pass "},
		{"a directory that does not exist", c, h, operator.Options{Files: file + "s"}, "Options.Files: "},
		{"a file in place of a directory", c, h, operator.Options{Files: file}, file + " is not a directory"},
		{"an origin without a scheme", c, h, operator.Options{Origins: []string{"a"}}, `Options.Origins: "a" is not`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := operator.New(tt.client, tt.host, &tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("New = %v, want an error with %q", err, tt.wantErr)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	c, h := unreachable(t)
	o, err := operator.New(c, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // as in a program that is elected twice
		ctx, stop := context.WithCancelCause(t.Context())
		cause := errors.New("on purpose")
		stop(cause)
		if err := o.Run(ctx); !errors.Is(err, cause) {
			t.Errorf("Run = %v, want %v", err, cause)
		}
	}
}

// The interfaces that package manager and the packages of metrics and of the debug page look for.
var (
	_ metrics.Controller                         = (*operator.Operator)(nil)
	_ interface{ Name() string }                 = (*operator.Operator)(nil)
	_ interface{ Runs() []controller.RunHealth } = (*operator.Operator)(nil)
	_ interface {
		Inspect(limit int) controller.Inspection
	} = (*operator.Operator)(nil)
	_ interface{ Caches() []*cache.Cache } = (*operator.Operator)(nil)
	_ interface{ Owners() []any }          = (*operator.Operator)(nil)
	_ interface {
		Standby(ctx context.Context) error
		Ready(ctx context.Context) error
		SyncTimeout() time.Duration
	} = (*operator.Operator)(nil)
	_ interface {
		Health() []controller.SourceHealth
	} = (*operator.Operator)(nil)
)

// TestOperatorIsNotSharded checks that replicas do not divide the objects: a module would run in two of them.
func TestOperatorIsNotSharded(t *testing.T) {
	c, h := unreachable(t)
	o, err := operator.New(c, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := manager.New(c, &manager.Options{Sharding: "wasm"})
	m.Add(o)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := m.Run(ctx); err == nil || !strings.Contains(err.Error(), "use Options.LeaderElection") {
		t.Errorf("Run = %v, want an error that names the election", err)
	}
}
