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

// Policy specifies which plugins may run.
type Policy string

// The policies, named as in https://kubernetes.io/docs/reference/kubectl/kuberc/.
const (
	// AllowAll allows every plugin that a configuration names.
	AllowAll Policy = "AllowAll"
	// DenyAll allows no plugin.
	DenyAll Policy = "DenyAll"
	// Allowlist allows the plugins in PluginOptions.Allow.
	Allowlist Policy = "Allowlist"
)

// PluginOptions are the options of [NewPlugin]. The zero value of a field is its default.
type PluginOptions struct {
	// Policy specifies which plugins may run. Default: [AllowAll].
	Policy Policy
	// Allow lists the plugins that may run under the policy [Allowlist], by path, or by name as found in PATH. A plugin
	// that has the name of a listed one but another path is not allowed. Default: none.
	Allow []string

	// Timeout is how long the plugin may take. After that it is killed; on Unix, with all programs that it has started. If
	// this program has a terminal, a plugin with another mode than [config.InteractiveNever] is killed alone, because it
	// shares the process group of the terminal with this program. Default: one minute, or five minutes for a plugin that
	// may be interactive.
	Timeout time.Duration

	// Stdin is the terminal that an interactive plugin reads from. Default: os.Stdin.
	Stdin *os.File
	// NoStdin reserves standard input for the program. A plugin that requires it is an error. Default: false.
	NoStdin bool

	// Stderr receives the standard error of the plugin. Default: os.Stderr if the plugin may be interactive; otherwise it
	// is discarded. Unless Stderr is os.Stderr, the error of a failed plugin contains the end of it too.
	Stderr io.Writer
}

// Plugin is the exec plugin of a configuration: a program that prints credentials. Printing it shows only its command.
//
// Secrets are behind pointers: where fmt cannot call Format, as for an unexported field of another type, it prints
// addresses.
type Plugin struct {
	keeper

	command string
	exec    *config.ExecConfig
	cluster *clusterInfo // nil if the plugin does not request it
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

// PluginError reports a failure of a plugin.
type PluginError struct {
	// Command is the command of the plugin.
	Command string
	// Stderr is the end of the plugin's standard error, on one line. Text that looks like a token or a key is redacted.
	Stderr string
	// Hint is the configuration's hint on how to install the plugin, if it was not found.
	Hint string
	// Err is the cause.
	Err error
}

// Error returns, for example, `exec plugin "aws": exit status 255: Unable to locate credentials`.
func (e *PluginError) Error() string {
	parts := []string{fmt.Sprintf("exec plugin %q: %v", e.Command, e.Err), e.Stderr, e.Hint}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns Err.
func (e *PluginError) Unwrap() error { return e.Err }

// NewPlugin returns the plugin that a configuration names. The configuration must be valid. NewPlugin does not run the
// plugin yet.
//
// The plugin receives the environment of this process, the variables of the configuration, and KUBERNETES_EXEC_INFO as
// specified by https://kubernetes.io/docs/reference/config-api/client-authentication.v1/.
//
// For a second after it has failed, further requests get the same error and do not run it.
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
	p.obtain, p.failurePause = p.run, failurePause
	return p, nil
}

func (o *PluginOptions) check() error {
	switch o.Policy {
	case "", AllowAll, DenyAll:
		if len(o.Allow) > 0 {
			return fmt.Errorf("PluginOptions.Allow: requires the policy %s", Allowlist)
		}
	case Allowlist:
		if len(o.Allow) == 0 {
			return fmt.Errorf("PluginOptions.Allow: is empty; name the plugins, or use the policy %s", DenyAll)
		}
		for i, name := range o.Allow {
			if strings.TrimSpace(name) == "" {
				return fmt.Errorf("PluginOptions.Allow: entry %d is empty; remove it", i+1)
			}
		}
	default:
		return fmt.Errorf("PluginOptions.Policy: %q is not a valid policy; use %s, %s or %s", o.Policy, AllowAll, DenyAll,
			Allowlist)
	}
	if o.Timeout < 0 {
		return fmt.Errorf("PluginOptions.Timeout: %v is negative; leave it zero for the default", o.Timeout)
	}
	if o.NoStdin && o.Stdin != nil {
		return errors.New("PluginOptions.NoStdin: conflicts with Stdin; clear one of them")
	}
	return nil
}

func (p *Plugin) errorf(format string, args ...any) *PluginError {
	return &PluginError{Command: p.command, Err: fmt.Errorf(format, args...)}
}

// Middleware sends the plugin's token with each request that has no credentials yet, see [middleware.Authorize]. The
// plugin does not run for requests that have credentials.
func (p *Plugin) Middleware(next http.RoundTripper) http.RoundTripper {
	authorized := middleware.Authorize(p.authorization)(next)
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "" {
			return next.RoundTrip(r.WithContext(context.WithValue(r.Context(), idleKey{}, true)))
		}
		return authorized.RoundTrip(r)
	})
}

// idleKey marks a request that needs no credentials from the plugin.
type idleKey struct{}

// Certificate returns the client certificate to present, or nil if the plugin provides none. A different pointer means
// a different certificate: connections that were opened with the previous one must not be used for further requests.
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
