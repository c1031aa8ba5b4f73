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

// VersionOptions are the options of [Version]. There are none yet.
type VersionOptions struct{}

// Version asks the server for its version.
func Version(ctx context.Context, c *client.Client, _ *VersionOptions) (*version.Info, error) {
	f := &fetcher{client: c}
	info := new(version.Info)
	err := f.get(ctx, "/version", wire.MediaTypeJSON, func(body []byte) error {
		return wire.UnmarshalJSON(body, info)
	})
	if err == nil && info.GitVersion == "" {
		err = errors.New("the answer has no gitVersion; is this the address of a Kubernetes API server?")
	}
	if err != nil {
		return nil, fmt.Errorf("server version: %w", err)
	}
	return info, nil
}

// Probe is what a server can be asked about its health.
type Probe string

// The probes, see https://kubernetes.io/docs/reference/using-api/health-checks/.
const (
	Ready Probe = "readyz" // whether it should get requests
	Live  Probe = "livez"  // whether it should not be restarted
)

// HealthOptions are the options of [Health]. The zero value of a field is its default.
type HealthOptions struct {
	// Exclude names checks that are not to be made. Default: none.
	Exclude []string
}

// HealthReport is what a server says about its health.
type HealthReport struct {
	Healthy bool
	Checks  []HealthCheck
	Text    string // what the server wrote; of more than 64 KiB by an unhealthy server, the start
}

// HealthCheck is one of the things that a server looks at.
type HealthCheck struct {
	Name   string
	Passed bool
	Detail string // such as "ok", or "excluded: ok"
}

// Health asks the server how it is. That it is not well is not an error; that it can't be asked is one.
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
	if se, ok := errors.AsType[*core.StatusError](err); ok && se.Status.Code == 500 && bytes.Contains(se.Body, []byte("[-]")) {
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

// parseChecks reads the lines that are about a check, such as "[+]etcd ok".
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
