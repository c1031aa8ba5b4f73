// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Version asks the server for its version.
func Version(ctx context.Context, c *client.Client) (*version.Info, error) {
	f := &fetcher{client: c}
	info := new(version.Info)
	err := f.get(ctx, "/version", wire.MediaTypeJSON, func(body []byte) (bool, error) {
		return true, wire.UnmarshalJSON(body, info)
	})
	if err == nil && info.GitVersion == "" {
		err = errors.New("the response has no gitVersion; is this the address of a Kubernetes API server?")
	}
	if err != nil {
		return nil, fmt.Errorf("server version: %w", err)
	}
	return info, nil
}

// Probe selects a health check of a server.
type Probe string

// The probes, see https://kubernetes.io/docs/reference/using-api/health-checks/.
const (
	Ready Probe = "readyz" // whether the server is ready for requests
	Live  Probe = "livez"  // whether the server is alive; otherwise it should be restarted
)

// HealthOptions are the options of [Health]. The zero value of a field is its default.
type HealthOptions struct {
	// Exclude lists checks to skip. Default: none.
	Exclude []string
}

// HealthReport is the result of the health checks of a server.
type HealthReport struct {
	Healthy bool
	Checks  []HealthCheck
	Text    string // the body of the response; an unhealthy server's is truncated to 64 KiB
}

// HealthCheck is one check of a server.
type HealthCheck struct {
	Name   string
	Passed bool
	Detail string // such as "ok", or "excluded: ok"
}

// Health asks the server for the result of its health checks. An unhealthy server is not an error; a failed request is.
//
// Errors: [*client.ConnectError], [core.ErrForbidden], [core.ErrNotFound].
func Health(ctx context.Context, c *client.Client, p Probe, o *HealthOptions) (*HealthReport, error) {
	if p != Ready && p != Live {
		return nil, fmt.Errorf("health: probe %q is neither %s nor %s", p, Ready, Live)
	}
	q := url.Values{"verbose": {"true"}}
	if o != nil {
		q["exclude"] = o.Exclude
	}
	resp, err := c.Do(ctx, &request.Request{Verb: "get", Method: "GET", Path: "/" + string(p), Query: q})
	if se, ok := errors.AsType[*core.StatusError](err); ok && se.Status.Code == 500 &&
		bytes.Contains(se.Body, []byte("[-]")) {
		return &HealthReport{Checks: parseChecks(string(se.Body)), Text: string(se.Body)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, nil)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return &HealthReport{Healthy: true, Checks: parseChecks(string(body)), Text: string(body)}, nil
}

// parseChecks parses the lines that describe a check, such as "[+]etcd ok".
func parseChecks(text string) []HealthCheck {
	var checks []HealthCheck
	for line := range strings.Lines(text) {
		entry, passed := strings.CutPrefix(line, "[+]")
		if !passed {
			var failed bool
			if entry, failed = strings.CutPrefix(line, "[-]"); !failed {
				continue
			}
		}
		name, detail, _ := strings.Cut(strings.TrimSpace(entry), " ")
		checks = append(checks, HealthCheck{Name: name, Passed: passed, Detail: strings.TrimSpace(detail)})
	}
	return checks
}
