// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/access"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/request"
)

// tokenLife is the requested life of a token; servers refuse less than ten minutes. It is replaced after four fifths.
const tokenLife = time.Hour

// maxUnchecked is the number of checks in succession that may fail for other reasons than a refusal, such as an API
// server that can't be reached, before a module loses its access to the objects of a watch.
const maxUnchecked = 10

// errNoAccount is why a module has no token.
var errNoAccount = errors.New("the service account does not exist")

// anonymous returns a client without credentials, whose connections the modules with a service account share. The
// host's client can't be shared: the server would recognize a client certificate of its connections before the token of
// a module.
func anonymous(ctx context.Context, c *client.Client) (*client.Client, error) {
	all := c.Config()
	return forGuests(ctx, &config.Config{
		Server: all.Server, TLSServerName: all.TLSServerName, InsecureSkipTLSVerify: all.InsecureSkipTLSVerify,
		CAFile: all.CAFile, CAData: all.CAData, ProxyURL: all.ProxyURL, DisableCompression: all.DisableCompression,
	})
}

// forGuests returns a client for the requests of guests. Its connections keep little of what a guest does not read,
// which the host's client need not do.
func forGuests(ctx context.Context, c *config.Config) (*client.Client, error) {
	return client.New(ctx, &client.Options{Config: c, StreamBufferBytes: streamBuffer})
}

// streamBuffer is the maximum number of bytes that a connection keeps of a response that a guest does not read. It is a
// part of requestCost.
const streamBuffer = 256 << 10

// tokens provides the tokens of a service account.
type tokens struct {
	client  *client.Client // of the host
	account core.ObjectRef
	logger  *slog.Logger

	noted rate.Sometimes // logs refusals

	mu    sync.Mutex // guards the fields below; held while a token is requested
	token *serviceaccount.Token
	until time.Time // when to replace it
}

// find returns the credential of a request, see [middleware.Authorization].
func (t *tokens) find(ctx context.Context) (string, middleware.Renew, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == nil || time.Now().After(t.until) {
		token, err := serviceaccount.In(t.client, t.account.Namespace).Token(ctx, t.account.Name,
			&request.TokenOptions{Expiration: tokenLife})
		switch {
		case errors.Is(err, core.ErrNotFound):
			t.token = nil // the server does not accept it any more
			t.noted.Do(func() {
				t.logger.LogAttrs(context.Background(), slog.LevelWarn, "module has no service account",
					slog.String("account", t.account.String()))
			})
			return "", nil, fmt.Errorf("%w: %w", errNoAccount, &abi.Error{
				Code: abi.Forbidden, Message: fmt.Sprintf("the service account %s does not exist: create it", t.account),
			})
		case err != nil && t.token == nil:
			return "", nil, t.explain(ctx, err)
		}
		if err == nil {
			t.token, t.until = token, time.Now().Add(time.Until(token.Expires)*4/5)
		}
	}
	used := t.token
	renew := func(context.Context) (bool, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.token == used {
			t.token = nil
		}
		return true, nil
	}
	return "Bearer " + string(used.Token), renew, nil
}

// explain returns the error of a missing token. It logs the cause and omits it, because it may contain what concerns
// only the host: the message of the server may name its user, and other errors are those of its credentials.
func (t *tokens) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.noted.Do(func() {
		t.logger.LogAttrs(context.Background(), slog.LevelWarn, "host has no token for the module", slog.Any("err", err))
	})
	refused, ok := errors.AsType[*core.StatusError](err)
	if !ok {
		return &abi.Error{Code: abi.Unavailable, Message: fmt.Sprintf("the host has no token of the service account %s, "+
			"because its request has failed: see the log of the host", t.account)}
	}
	code := abi.Unavailable
	if errors.Is(err, core.ErrForbidden) || errors.Is(err, core.ErrUnauthorized) {
		code = abi.Forbidden
	}
	return &abi.Error{Code: code, Message: fmt.Sprintf("the host has no token of the service account %s, because the server "+
		"has refused its request (%s): see the log of the host", t.account, reasonOf(refused))}
}

// reasonOf returns the reason of a response without the message of the server.
func reasonOf(e *core.StatusError) string {
	return (&core.StatusError{Status: metav1.Status{Reason: e.Status.Reason, Code: e.Status.Code}}).Error()
}

// hasAccount reports whether a module has an identity of its own.
func (m *Module) hasAccount() bool { return m.ServiceAccount != core.ObjectRef{} }

// identified returns the client with the credentials of the host, for modules without a service account. It has
// connections of its own. After an error, such as that of a file that is being replaced, the next call tries again.
func (h *Host) identified() (own *client.Client, err error) {
	h.ownMu.Lock()
	defer h.ownMu.Unlock()
	if h.own == nil {
		if own, err = forGuests(context.WithoutCancel(h.ctx), h.client.Config()); err != nil {
			return nil, err
		}
		h.own = own
	}
	return h.own, nil
}

// clientOf returns the client of a module. throttle limits its requests. The warnings of servers are written to logger.
func (h *Host) clientOf(
	ctx context.Context, m *Module, throttle middleware.Func, logger *slog.Logger,
) (*client.Client, error) {
	agent, warn := "kube-wasm/"+m.Name, middleware.LogWarnings(logger)
	if !m.hasAccount() {
		own, err := h.identified()
		if err != nil {
			return nil, err
		}
		return client.New(ctx, &client.Options{
			Share: own, UserAgent: agent, OnWarning: warn, PerAttempt: []middleware.Func{throttle},
		})
	}
	if m.ServiceAccount.Namespace == "" || m.ServiceAccount.Name == "" {
		return nil, fmt.Errorf("Module.ServiceAccount: %q needs a namespace and a name", m.ServiceAccount)
	}
	source := &tokens{
		client: h.client, account: m.ServiceAccount, logger: h.options.Logger.With(slog.String("module", m.Name)),
		noted: rate.Sometimes{Interval: time.Minute},
	}
	return client.New(ctx, &client.Options{
		Share:      h.anonymous,
		UserAgent:  agent,
		OnWarning:  warn,
		PerAttempt: []middleware.Func{throttle, middleware.Authorize(source.find)},
	})
}

// errUnreviewed is why a permission is unknown, although the server was asked.
var errUnreviewed = errors.New("the server has refused to check the permission")

func unreviewed(message string) error {
	return fmt.Errorf("%w: %w", errUnreviewed, &abi.Error{Code: abi.Unavailable, Message: message})
}

// authorize returns an error if a module may not read the objects of a watch. Without this check, the cache of the host
// would let modules read what their service accounts may not. The code of the error is Forbidden only if the server has
// decided about the module: a server that has just started refuses the check itself, or a token, until it has read its
// roles. This error is errUnreviewed, too.
func (g *guest) authorize(ctx context.Context, w *abi.Watch) error {
	if !g.module.hasAccount() {
		return nil
	}
	name := ""
	if selector, err := fields.ParseSelector(w.FieldSelector); err == nil {
		// Servers authorize a request with this selector as one for the object, so roles may allow it by resourceNames.
		name, _ = selector.RequiresExactMatch("metadata.name")
	}
	for _, verb := range []string{"list", "watch"} {
		d, err := access.Can(ctx, g.client, access.Action{
			Verb: verb, Resource: resourceOf(w), Namespace: w.Namespace, Name: name,
		})
		noToken, isToken := errors.AsType[*abi.Error](err)
		switch {
		case errors.Is(err, errNoAccount):
			return noToken
		case isToken && noToken.Code == abi.Forbidden:
			return unreviewed(noToken.Message)
		case isToken:
			return noToken
		case errors.Is(err, core.ErrUnauthorized):
			return &abi.Error{Code: abi.Forbidden, Message: err.Error()}
		case errors.Is(err, core.ErrForbidden):
			return unreviewed(err.Error())
		case err != nil:
			return &abi.Error{Code: abi.Unavailable, Message: err.Error()}
		case !d.Allowed: // also with an evaluation error, such as one about a deleted role: requests are refused, too
			return &abi.Error{Code: abi.Forbidden, Message: fmt.Sprintf("service account %s may not %s %s %s: add the rule to "+
				"a role", g.module.ServiceAccount, verb, resourceOf(w), whereOf(w))}
		}
	}
	return nil
}

// whereOf describes the namespaces of a watch.
func whereOf(w *abi.Watch) string {
	if w.Namespace != "" {
		return "in namespace " + w.Namespace
	}
	return "in all namespaces"
}

// maxRechecks is the number of checks that the host repeats at the same time, for all modules.
const maxRechecks = 16

// minRecheckTime is the least time for a repeated check, if [Options.AuthorizationInterval] is shorter.
const minRecheckTime = 10 * time.Second

// recheckKey is the key of a value that the contexts of repeated checks have, see [guest.pay].
type recheckKey struct{}

// recheck is authorize for a watch that the module has. The check does not wait for the module's other requests, which
// could delay it for as long as the module likes. Without a decision in time, the error is not Forbidden.
func (g *guest) recheck(ctx context.Context, w *abi.Watch) error {
	ctx, stop := context.WithTimeout(ctx, max(g.host.options.AuthorizationInterval, minRecheckTime))
	defer stop()
	select {
	case g.host.rechecks <- struct{}{}:
		defer func() { <-g.host.rechecks }()
	case <-ctx.Done():
		return &abi.Error{Code: abi.Unavailable, Message: "the permission was not checked in time"}
	}
	return g.authorize(context.WithValue(ctx, recheckKey{}, true), w)
}

// guard waits until a module may no longer read the objects of a watch, and returns the error; nil if ctx ends before.
// A few checks in succession that fail for another reason change nothing. After maxUnchecked of them, a server that
// refuses to check counts as a refusal.
func (g *guest) guard(ctx context.Context, w *abi.Watch) error {
	ticker := time.NewTicker(g.host.options.AuthorizationInterval)
	defer ticker.Stop()
	unchecked := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := g.recheck(ctx, w)
		switch {
		case err == nil:
			unchecked = 0
			continue
		case ctx.Err() != nil:
			return nil
		}
		unchecked++
		switch {
		case codeOf(err) == abi.Forbidden:
			return err
		case unchecked < maxUnchecked:
		case errors.Is(err, errUnreviewed):
			return &abi.Error{Code: abi.Forbidden, Message: messageOf(err).Message}
		default:
			return err
		}
	}
}
