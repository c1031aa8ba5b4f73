// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/wasm/host"
)

// watchesOnServer returns the number of watches of the ConfigMaps of single namespaces that the API server has.
func watchesOnServer(ctx context.Context, c *kube.Client) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server()+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	held := regexp.MustCompile(`apiserver_longrunning_requests\{[^}]*group="",resource="configmaps",scope="namespace",` +
		`[^}]*verb="WATCH"[^}]*\} (\d+)`).FindStringSubmatch(string(text))
	if held == nil {
		return 0, nil
	}
	return strconv.Atoi(held[1])
}

// awaitWatches waits until the API server has a number of watches. Other clusters than the built-in one may have more.
func (c *crowd) awaitWatches(t *testing.T, want int) {
	t.Helper()
	if builtin == nil {
		return
	}
	eventually(t, "the watches of the API server", func(ctx context.Context) error {
		n, err := watchesOnServer(ctx, c.client)
		if err == nil && n != want {
			err = fmt.Errorf("the API server has %d watches, want %d", n, want)
		}
		return err
	})
}

// attempt is an attempt of a reader.
type attempt struct{ cache, live string }

// attempts returns the attempts of a reader so far.
func (c *crowd) attempts(name string) (all []attempt) {
	for _, line := range c.logged(name, "attempt ") {
		var a attempt
		_, text, _ := strings.Cut(line, " cache=")
		a.cache, text, _ = strings.Cut(text, " live=")
		a.live, _, _ = strings.Cut(text, `"`)
		all = append(all, a)
	}
	return all
}

// awaitAttempt waits until an attempt of a reader has a result, and returns the number of the attempts until then.
func (c *crowd) awaitAttempt(t *testing.T, name string, want attempt) (number int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the attempt %v of module %s", want, name), func(context.Context) error {
		all := c.attempts(name)
		if number = len(all); number == 0 || all[number-1] != want {
			return fmt.Errorf("the attempts are %v", all[max(0, number-5):])
		}
		return nil
	})
	return number
}

// TestRevokedModulesLoseTheirReadsAndTheOthersKeepTheirWatch runs the same three modules for two service accounts. All
// of them share one watch of the API server. Then one account loses its role for a while.
func TestRevokedModulesLoseTheirReadsAndTheOthersKeepTheirWatch(t *testing.T) {
	inC, inGo := buildInC(t, "wasm/host/testdata/greeter.c"), buildInGo(t, "./testdata/greeter")
	reader := buildInC(t, "wasm/conformance/testdata/reader.c")
	c := newCrowd(t, host.Options{AuthorizationInterval: time.Second})
	// The API server has watches of others, which it may replace: the most of some numbers counts.
	others := 0
	for range 20 {
		n, err := watchesOnServer(limit(t), c.client)
		if err != nil {
			t.Fatal(err)
		}
		others = max(others, n)
	}
	sources := map[string]string{"a": ""}
	c.writeAll(t, sources, "first")
	var adding sync.WaitGroup
	for _, account := range []string{"revoked", "kept"} {
		c.account(t, account)
		for kind, binary := range map[string][]byte{"actor": inGo, "reconciler": inC} {
			name := "greeter-" + account + "-" + kind
			adding.Go(func() {
				c.set(t, account, host.Module{Name: name, Binary: binary, Args: []string{name, c.ns, "hello"}})
			})
		}
		adding.Go(func() {
			c.set(t, account, host.Module{Name: "reader-" + account, Binary: reader, Args: []string{c.ns, "a"}})
		})
	}
	adding.Wait()
	c.awaitRight(t, "the first objects", "greeter", sources)
	c.awaitAttempt(t, "reader-revoked", attempt{"first", "first"})
	c.awaitAttempt(t, "reader-kept", attempt{"first", "first"})
	c.awaitWatches(t, others+1)
	before := map[string]host.Status{}
	for _, s := range c.host.Status() {
		before[s.Name] = s
	}

	bindings := kube.Namespaced[rbacv1.RoleBinding](c.client, c.ns)
	if err := bindings.Delete(limit(t), "revoked", nil); err != nil {
		t.Fatal(err)
	}
	refused := c.awaitAttempt(t, "reader-revoked", attempt{"-5", "403"})
	for _, name := range []string{"greeter-revoked-actor", "greeter-revoked-reconciler"} {
		eventually(t, "the refusal of "+name, func(context.Context) error {
			if len(c.logged(name, "may not list configmaps")) == 0 {
				return errors.New("it was not logged")
			}
			return nil
		})
	}
	c.writeAll(t, sources, "second")
	c.awaitRight(t, "the objects of the others", "greeter-kept", sources)
	c.awaitAttempt(t, "reader-kept", attempt{"second", "second"})
	eventually(t, "more attempts", func(context.Context) error {
		if n := len(c.attempts("reader-revoked")); n < refused+10 {
			return fmt.Errorf("there were %d attempts", n-refused)
		}
		return nil
	})
	for _, a := range c.attempts("reader-revoked")[refused:] {
		// The code of the cache is NotReady while a permission is being checked.
		if a.cache != "-5" && a.cache != "-10" || a.live != "403" {
			t.Errorf("a revoked module has read %+v", a)
		}
	}
	texts, err := c.texts(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"actor", "reconciler"} {
		name := "greeter-revoked-" + kind
		if text := texts[name+"-a"]; text != "hello first" {
			t.Errorf("the revoked module %s has written %q", name, text)
		}
		if seen := c.logged(name, "second"); len(seen) > 0 {
			t.Errorf("the revoked module %s has seen %q", name, seen)
		}
	}
	c.awaitWatches(t, others+1)

	c.bind(t, "revoked")
	c.awaitRight(t, "the objects of all", "greeter", sources)
	c.awaitAttempt(t, "reader-revoked", attempt{"second", "second"})
	c.awaitWatches(t, others+1)
	if n := c.sent.count("GET", "/namespaces/"+c.ns+"/configmaps?", "watch=true"); n != 1 {
		t.Errorf("the host has sent %d watches, want 1", n)
	}
	for _, s := range c.host.Status() {
		if s.Stats.Failures > 0 || s.Since != before[s.Name].Since {
			t.Errorf("module %s has started again: %+v", s.Name, s)
		}
	}
}

// TestRoleWithResourceNamesAllowsTheWatchOfOneObject has a role for one ConfigMap, as the authorizer of the API server
// understands it: it allows requests with the field selector metadata.name.
func TestRoleWithResourceNamesAllowsTheWatchOfOneObject(t *testing.T) {
	reader := buildInC(t, "wasm/conformance/testdata/reader.c")
	c := newCrowd(t, host.Options{})
	c.writeAll(t, map[string]string{"a": "", "b": ""}, "first")
	c.account(t, "one", "a")
	for name, args := range map[string][]string{
		"one": {c.ns, "a", "metadata.name=a"}, "all": {c.ns, "a"}, "other": {c.ns, "b", "metadata.name=b"},
	} {
		c.set(t, "one", host.Module{Name: name, Binary: reader, Args: args})
	}
	c.awaitAttempt(t, "one", attempt{"first", "first"})
	c.awaitAttempt(t, "all", attempt{"-5", "first"})
	c.awaitAttempt(t, "other", attempt{"-5", "403"})
}
