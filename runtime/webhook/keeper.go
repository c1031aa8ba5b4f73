// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
)

// fieldManager owns the fields that a keeper writes. It is not that of the program: package install migrates the writes
// of that manager to its apply, which has no bundle and so would remove it.
const fieldManager = "kube-webhook"

// keeper makes the certificates of a server, stores them in a secret, and writes the bundle into configurations.
type keeper struct {
	policy    policy
	namespace string
	service   string
	secret    string
	interval  time.Duration
	secrets   *client.API[tlsSecret]
	targets   []target
	logger    *slog.Logger

	serving *atomic.Pointer[tls.Certificate]
	last    *material // as it was read last
	problem problem
	missing []string // the configurations that were logged because they do not exist
}

// target is an object with client configurations of webhooks.
type target struct {
	api  *client.API[unstructured.Unstructured]
	name string
}

func (t target) String() string { return t.api.Resource().Kind + " " + t.name }

// seen is a target as it was read.
type seen struct {
	target
	obj *unstructured.Unstructured // nil if it does not exist
}

// run keeps the certificates until ctx ends.
func (k *keeper) run(ctx context.Context) {
	tick := time.NewTicker(k.interval)
	defer tick.Stop()
	for {
		// A write changes what the next decision rests on. The number of rounds is limited, since replicas may disagree.
		again := true
		for i := 0; again && i < 10 && ctx.Err() == nil; i++ {
			var err error
			if again, err = k.round(ctx); ctx.Err() == nil {
				k.note(ctx, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note logs an error of a round, with the end of the certificate that is in use until a round succeeds.
func (k *keeper) note(ctx context.Context, err error) {
	var end []any
	if cert := k.serving.Load(); err != nil && cert != nil {
		err = errors.Join(err, expired(cert.Leaf.NotAfter))
		end = []any{"validUntil", cert.Leaf.NotAfter}
	}
	if k.problem.isDue(err) {
		k.logger.WarnContext(ctx, "can't update the certificates of webhooks", append(end, "err", err)...)
	}
}

// round reads everything, and writes what the decision demands. It reports whether another round should follow at once.
func (k *keeper) round(ctx context.Context) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	targets, problem := k.readTargets(ctx) // before the secret, see rotation.go
	st, err := k.readSecret(ctx)
	if err != nil {
		return false, errors.Join(err, problem)
	}
	if st.serving != nil {
		k.serving.Store(st.serving)
	}
	s, stale, mismatch := k.compare(targets, st.bundle)
	problem = errors.Join(problem, mismatch)
	s.unknown = problem != nil
	d := st.decide(k.policy, s, time.Now())
	switch {
	case d.store || st.damage != nil:
		again, err = k.store(ctx, st, d)
	case d.patch:
		again, err = k.patch(ctx, stale)
	}
	return again, errors.Join(st.damage, err, problem)
}

// stored is the secret as it was read.
type stored struct {
	*material
	secret *tlsSecret
	damage error // the secret does not contain the material
}

// readTargets reads the configurations. Those that do not exist can't call this server, and are left out.
func (k *keeper) readTargets(ctx context.Context) (found []seen, problem error) {
	for _, t := range k.targets {
		obj, err := t.api.Get(ctx, t.name, nil)
		logged := slices.Index(k.missing, t.String())
		switch {
		case err == nil:
			found = append(found, seen{t, obj})
			if logged >= 0 {
				k.missing = slices.Delete(k.missing, logged, logged+1)
			}
		case !apierr.NotFound(err):
			problem = errors.Join(problem, err)
		case logged < 0: // it may be created later, or its name in the options may be wrong
			k.missing = append(k.missing, t.String())
			k.logger.WarnContext(ctx, "a configuration of webhooks does not exist", "configuration", t.String())
		}
	}
	return found, problem
}

// readSecret reads the secret. If it is not valid, the material is that which it had before: other replicas use it.
func (k *keeper) readSecret(ctx context.Context) (*stored, error) {
	secret, err := k.secrets.GetOrNil(ctx, k.secret, nil)
	if err != nil {
		return nil, err
	}
	if secret == nil {
		secret = &tlsSecret{ObjectMeta: metav1.ObjectMeta{Name: k.secret}, Type: secretType}
	}
	m, err := parse(secret.Data)
	if errors.Is(err, errForeign) {
		return nil, fmt.Errorf("secret %s/%s: %w", k.namespace, k.secret, err)
	}
	switch {
	case err == nil && m.serving != nil:
		k.last = m
		return &stored{m, secret, nil}, nil
	case err == nil && k.last == nil:
		return &stored{m, secret, nil}, nil // new
	case err == nil:
		err = errors.New("it is missing or empty")
	}
	damage := fmt.Errorf("secret %s/%s: %w; writing it again", k.namespace, k.secret, err)
	m = new(material)
	if k.last != nil && k.last.leaf.end.After(time.Now()) {
		*m = *k.last
		m.published, m.versions = time.Time{}, ""
	}
	return &stored{m, secret, damage}, nil
}

// store writes the secret.
func (k *keeper) store(ctx context.Context, st *stored, d decision) (again bool, err error) {
	next, err := st.change(d, k.policy, time.Now())
	if err != nil {
		return false, err
	}
	secret := *st.secret
	if secret.Data, err = next.data(); err != nil {
		return false, err
	}
	if secret.ResourceVersion == "" {
		_, err = k.secrets.Create(ctx, &secret, &request.CreateOptions{FieldManager: fieldManager})
	} else {
		_, err = k.secrets.Update(ctx, &secret, &request.UpdateOptions{FieldManager: fieldManager})
	}
	switch {
	case err == nil:
		k.logger.InfoContext(ctx, "certificates of webhooks have changed", "secret", k.namespace+"/"+k.secret,
			"newAuthority", d.add, "newCertificate", d.sign, "validUntil", next.leaf.end,
			"authorities", len(next.authorities))
		return true, nil
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrAlreadyExists), apierr.NotFound(err):
		return true, nil // another replica was faster
	default:
		return false, err
	}
}

// patch writes the changed configurations.
func (k *keeper) patch(ctx context.Context, stale []seen) (again bool, problem error) {
	for _, t := range stale {
		_, err := t.api.Update(ctx, t.obj, &request.UpdateOptions{FieldManager: fieldManager})
		switch {
		case err == nil:
			k.logger.InfoContext(ctx, "the bundle of a configuration has changed", "configuration", t.String())
			again = true
		case errors.Is(err, core.ErrConflict), apierr.NotFound(err):
			again = true
		default:
			problem = errors.Join(problem, err)
		}
	}
	return again, problem
}

// compare sets the bundle in the configurations of this server. It returns those that it has changed.
func (k *keeper) compare(targets []seen, bundle []byte) (s sight, stale []seen, problem error) {
	var versions []byte
	for _, t := range targets {
		changed, matches, err := setBundle(t.obj.Object, bundle, k.matches)
		switch {
		case err != nil:
			problem = errors.Join(problem, fmt.Errorf("%s: %w", t, err))
		case matches == 0:
			problem = errors.Join(problem, fmt.Errorf("%s has no webhook of the service %s/%s, or of Options.Hosts: correct "+
				"its clientConfig, or remove it from the options", t, k.namespace, k.service))
		case changed:
			s.differs, stale = true, append(stale, t)
		}
		versions = fmt.Appendf(versions, "%s %s %d\n", t, t.obj.GetUID(), t.obj.GetGeneration())
	}
	sum := sha256.Sum256(versions)
	s.versions = hex.EncodeToString(sum[:8])
	return s, stale, problem
}

// matches reports whether a client configuration is one of this server.
func (k *keeper) matches(config map[string]any) bool {
	if address, _, err := unstructured.NestedString(config, "url"); err == nil && address != "" {
		u, err := url.Parse(address)
		return err == nil && slices.Contains(k.policy.names, u.Hostname())
	}
	name, _, _ := unstructured.NestedString(config, "service", "name")
	namespace, _, _ := unstructured.NestedString(config, "service", "namespace")
	return k.service != "" && name == k.service && namespace == k.namespace
}

// setBundle sets the bundle of matching client configurations. It reports whether that has changed the object, and how
// many match.
func setBundle(obj map[string]any, bundle []byte, matches func(map[string]any) bool) (changed bool, n int, err error) {
	configs, err := clientConfigs(obj)
	if err != nil {
		return false, 0, err
	}
	for _, config := range configs {
		if !matches(config) {
			continue
		}
		n++
		old, _, err := unstructured.NestedString(config, "caBundle")
		if err != nil {
			return false, 0, err
		}
		if was, err := base64.StdEncoding.DecodeString(old); err != nil || !bytes.Equal(was, bundle) {
			config["caBundle"], changed = base64.StdEncoding.EncodeToString(bundle), true
		}
	}
	return changed, n, nil
}
