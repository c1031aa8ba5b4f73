// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// Policy says which plugins may run.
type Policy string

// The policies, named as in https://kubernetes.io/docs/reference/kubectl/kuberc/.
const (
	// AllowAll lets every plugin run that a configuration names.
	AllowAll Policy = "AllowAll"
	// DenyAll lets no plugin run.
	DenyAll Policy = "DenyAll"
	// Allowlist lets those run that PluginOptions.Allow names.
	Allowlist Policy = "Allowlist"
)

// PluginOptions are the options of [NewPlugin]. The zero value of a field is its default.
type PluginOptions struct {
	// Policy says which plugins may run. Default [AllowAll].
	Policy Policy
	// Allow names the plugins that may run under the policy [Allowlist], by path, or as they are found in PATH. One that is
	// found elsewhere than the name on the list is another plugin.
	Allow []string

	// Timeout is how long the plugin may take, until it is killed with all programs that it has started. One that can talk
	// to a person is killed alone, as it shares the terminal's process group with us. Default one minute, and five when it
	// can talk to a person.
	Timeout time.Duration

	// Stdin is what an interactive plugin reads from: a terminal. Default os.Stdin.
	Stdin *os.File
	// NoStdin says that the program needs its standard input itself. A plugin that can't do without is an error.
	NoStdin bool

	// Stderr gets what the plugin says to people. Default: os.Stderr when it can talk to a person, else nobody. Unless it
	// is os.Stderr, the end of what was said stands in the error, too, if the plugin fails.
	Stderr io.Writer
}

// Plugin is the exec plugin of a configuration: a program that prints credentials. Printing it shows its command only.
//
// What is secret stands behind pointers: where fmt cannot call Format, as for an unexported field of another type, it
// prints addresses.
type Plugin struct {
	keeper

	command string
	exec    *config.ExecConfig
	cluster *clusterInfo // nil when the plugin does not ask for it
	options PluginOptions
}

// Format prints the command, whatever the verb is.
func (p *Plugin) Format(f fmt.State, verb rune) {
	text := "exec plugin"
	if p != nil {
		text = fmt.Sprintf("exec plugin %q", p.command)
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// PluginError says what went wrong with a plugin.
type PluginError struct {
	// Command is the plugin's.
	Command string
	// Stderr is the end of what the plugin had to say, on one line. What looks like a token or a key is left out.
	Stderr string
	// Hint is what the configuration says about how to install the plugin, if it is not there.
	Hint string
	// Err is what went wrong.
	Err error
}

// Error returns, for example, `exec plugin "aws": exit status 255: Unable to locate credentials`.
func (e *PluginError) Error() string {
	parts := []string{fmt.Sprintf("exec plugin %q: %v", e.Command, e.Err), e.Stderr, e.Hint}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns Err.
func (e *PluginError) Unwrap() error { return e.Err }

// NewPlugin returns the plugin that a configuration names, which must be valid. It does not run it yet.
//
// The program gets the environment of this process, the variables of the configuration, and KUBERNETES_EXEC_INFO as
// https://kubernetes.io/docs/reference/config-api/client-authentication.v1/ has it.
func NewPlugin(cfg *config.Config, o *PluginOptions) (*Plugin, error) {
	if cfg.Exec == nil {
		return nil, errors.New("the configuration has no exec plugin: set Exec")
	}
	p := &Plugin{command: cfg.Exec.Command, exec: new(*cfg.Exec)}
	if o != nil {
		p.options = *o
	}
	if err := p.options.check(); err != nil {
		return nil, err
	}
	if p.options.Policy == DenyAll {
		return nil, p.errorf("is not allowed to run: the policy is %s", DenyAll)
	}
	if p.exec.ProvideClusterInfo {
		info, err := newClusterInfo(cfg)
		if err != nil {
			return nil, err
		}
		p.cluster = info
	}
	p.obtain = p.run
	return p, nil
}

func (o *PluginOptions) check() error {
	switch o.Policy {
	case "", AllowAll, DenyAll:
		if len(o.Allow) > 0 {
			return fmt.Errorf("PluginOptions.Allow: needs the policy %s", Allowlist)
		}
	case Allowlist:
		if len(o.Allow) == 0 {
			return fmt.Errorf("PluginOptions.Allow: is empty; name the plugins, or use the policy %s", DenyAll)
		}
		for i, name := range o.Allow {
			if strings.TrimSpace(name) == "" {
				return fmt.Errorf("PluginOptions.Allow: number %d is empty; remove it", i+1)
			}
		}
	default:
		return fmt.Errorf("PluginOptions.Policy: %q is not known; use %s, %s or %s", o.Policy, AllowAll, DenyAll, Allowlist)
	}
	if o.Timeout < 0 {
		return fmt.Errorf("PluginOptions.Timeout: %v is negative; leave it out for its default", o.Timeout)
	}
	if o.NoStdin && o.Stdin != nil {
		return errors.New("PluginOptions.NoStdin: excludes Stdin; clear one")
	}
	return nil
}

func (p *Plugin) errorf(format string, args ...any) *PluginError {
	return &PluginError{Command: p.command, Err: fmt.Errorf(format, args...)}
}

// Layer sends the plugin's token with each request that has no credentials yet, see [middleware.Authorize]. For those
// that have, the plugin does not run.
func (p *Plugin) Layer(next http.RoundTripper) http.RoundTripper {
	authorized := middleware.Authorize(p.authorization)(next)
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "" {
			return next.RoundTrip(r.WithContext(context.WithValue(r.Context(), idleKey{}, true)))
		}
		return authorized.RoundTrip(r)
	})
}

// idleKey marks a request that needs nothing of the plugin.
type idleKey struct{}

// Certificate returns the client certificate to present, or nil when the plugin gives none. Another pointer is another
// certificate; the connections made with the one before must not be used for further requests.
func (p *Plugin) Certificate(ctx context.Context) (*tls.Certificate, error) {
	if ctx.Value(idleKey{}) != nil {
		if c := p.peek(); c != nil {
			return c.cert, nil
		}
		return nil, nil
	}
	c, err := p.get(ctx)
	if err != nil {
		return nil, err
	}
	return c.cert, nil
}
