// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"time"
)

// This file decides how certificates are made and replaced. All replicas apply the same rules to the same secret:
//
//  1. A new authority is added to the bundle in the secret. It signs nothing.
//  2. The bundle is written into the configurations. When all have it, the time and the versions of the configurations
//     are stored in the secret.
//  3. After a delay, in which each API server observes the configurations, the authority signs a new certificate, if
//     the configurations still have these versions; otherwise the delay starts again. The keys of older authorities are
//     deleted.
//  4. An authority leaves the bundle when the last certificate that it has signed has expired, since a replica may use
//     it until then.
//
// Two rules make that safe without a leader. A replica reads the configurations before it reads the secret, and writes
// each of them only at the version that it has read: so it never replaces a newer bundle by an older one. And it writes
// the secret only at the version on which its decision rests.

// policy is the part of the options that decides when certificates are replaced.
type policy struct {
	caLife   time.Duration
	leafLife time.Duration
	delay    time.Duration // within which API servers observe a new bundle
	names    []string      // sorted DNS names and IP addresses
}

// authority is a certificate authority in the bundle.
type authority struct {
	id    string
	begin time.Time // in the future if the clock of the replica that has made it was wrong
	end   time.Time
	signs bool      // its key is known
	last  time.Time // the end of the last certificate that it has signed; zero if it has signed none
}

// leaf is the serving certificate. It is the zero value if the secret has none.
type leaf struct {
	issuer string // the id of an authority
	begin  time.Time
	end    time.Time
	names  []string
}

// trust is the content of the secret.
type trust struct {
	authorities []authority // oldest first
	leaf        leaf
	published   time.Time // since when all configurations have the newest authority; zero if they may not have it
	versions    string    // of the configurations at that time
}

// sight is a replica's observation of the configurations, made before that of the secret.
type sight struct {
	differs  bool   // at least one does not have the bundle of the secret
	unknown  bool   // at least one could not be read
	versions string // identifies the states of all that exist
}

// synced reports whether all configurations have the bundle.
func (s sight) synced() bool { return !s.differs && !s.unknown }

// decision is what to do next: write the secret, or else write the configurations that differ.
type decision struct {
	store     bool
	drop      []string // ids of authorities that leave the bundle
	add       bool     // add an authority, as the newest
	sign      bool     // sign a new certificate
	issuer    string   // by this authority; empty means the added one
	published time.Time
	versions  string

	patch bool
}

// decide returns what a replica does at a time.
func (t trust) decide(p policy, s sight, now time.Time) decision {
	d := decision{published: t.published, versions: t.versions}
	d.drop = t.expired(p, now)
	newest := t.newest()
	d.add = newest == nil || !newest.signs || now.Before(newest.begin) || !now.Before(newest.end.Add(-p.caLife/3))
	d.sign, d.issuer = t.signer(p, s, now)
	pending := newest != nil && newest.id != t.leaf.issuer
	switch {
	case d.add, d.sign && d.issuer == newest.id, !pending:
		d.published, d.versions = time.Time{}, ""
	case s.synced() && (t.published.IsZero() || t.versions != s.versions):
		d.published, d.versions = now.Truncate(time.Second), s.versions
	}
	d.store = len(d.drop) > 0 || d.add || d.sign || !d.published.Equal(t.published) || d.versions != t.versions
	d.patch = !d.store && s.differs
	return d
}

// signer reports whether a new certificate is needed, and which authority signs it.
func (t trust) signer(p policy, s sight, now time.Time) (bool, string) {
	usable := t.leaf.issuer != "" && !now.Before(t.leaf.begin) && now.Before(t.leaf.end)
	covered := !slices.ContainsFunc(p.names, func(n string) bool { return !slices.Contains(t.leaf.names, n) })
	newest := t.newest()
	if newest != nil && !newest.maySign(now) {
		newest = nil
	}
	if newest != nil && newest.id != t.leaf.issuer && usable &&
		s.synced() && s.versions == t.versions && !t.published.IsZero() && !now.Before(t.published.Add(p.delay)) {
		return true, newest.id
	}
	if usable && covered && now.Before(t.leaf.end.Add(-p.leafLife/3)) {
		return false, ""
	}
	if a := t.find(t.leaf.issuer); a != nil && a.maySign(now) {
		return !covered || !usable || p.leafEnd(*a, now).After(t.leaf.end), a.id
	}
	switch {
	case usable && now.Before(t.leaf.end.Add(-p.margin())):
		return false, "" // until the newest authority may sign, or must
	case newest != nil:
		return true, newest.id
	default:
		return true, ""
	}
}

// expired returns the authorities that have signed no certificate that may be in use.
func (t trust) expired(p policy, now time.Time) (ids []string) {
	for i, a := range t.authorities {
		if i < len(t.authorities)-1 && a.id != t.leaf.issuer && !now.Before(a.last.Add(p.margin())) {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// after returns the content of the secret after a decision. added is the new authority, if there is one.
func (t trust) after(d decision, p policy, added authority, now time.Time) trust {
	next := trust{leaf: t.leaf, published: d.published, versions: d.versions}
	for _, a := range t.authorities {
		if !slices.Contains(d.drop, a.id) {
			next.authorities = append(next.authorities, a)
		}
	}
	if d.add {
		next.authorities = append(next.authorities, added)
	}
	if !d.sign {
		return next
	}
	for i := range next.authorities {
		a := &next.authorities[i]
		if a.id == d.issuer || d.issuer == "" && a.id == added.id {
			next.leaf = leaf{issuer: a.id, end: p.leafEnd(*a, now), names: p.leafNames(t.leaf, now)}
			a.last = later(a.last, next.leaf.end)
			break
		}
		a.signs = false // older than the issuer
	}
	return next
}

// maySign reports whether an authority can sign a certificate at a time.
func (a authority) maySign(now time.Time) bool {
	return a.signs && !now.Before(a.begin) && now.Before(a.end)
}

// leafEnd returns the end of a certificate that an authority signs. Certificates have times in seconds.
func (p policy) leafEnd(a authority, now time.Time) time.Time {
	end := now.Add(p.leafLife).Truncate(time.Second)
	if a.end.Before(end) {
		return a.end
	}
	return end
}

// leafNames returns the names of a new certificate. During an upgrade, replicas may need different names: a certificate
// that is replaced before its time keeps the old ones.
func (p policy) leafNames(old leaf, now time.Time) []string {
	names := slices.Clone(p.names)
	if now.Before(old.end.Add(-p.leafLife / 3)) {
		names = append(names, old.names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// margin is the tolerated difference of clocks, as far as the lifetime of certificates permits.
func (p policy) margin() time.Duration { return min(time.Hour, p.leafLife/10) }

func (t trust) newest() *authority {
	if len(t.authorities) == 0 {
		return nil
	}
	return &t.authorities[len(t.authorities)-1]
}

func (t trust) find(id string) *authority {
	i := slices.IndexFunc(t.authorities, func(a authority) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return &t.authorities[i]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
