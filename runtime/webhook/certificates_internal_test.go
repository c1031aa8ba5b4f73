// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"
)

func TestCertificatesThatAreNotYetValidAreReplaced(t *testing.T) {
	p, now := modelPolicy(), time.Now()
	m := next(t, new(material), sight{}, now.Add(1000*time.Hour)) // the clock of another replica was wrong
	d := m.decide(p, sight{}, now)
	if !d.store || !d.add || !d.sign {
		t.Fatalf("decide = %+v, want a new authority and a new certificate", d)
	}
	m = next(t, m, sight{}, now)
	if now.Before(m.leaf.begin) || !now.Before(m.leaf.end) {
		t.Errorf("the certificate is valid from %v to %v, want now, %v", m.leaf.begin, m.leaf.end, now)
	}
	if d := m.decide(p, sight{differs: true}, now); d.store || !d.patch {
		t.Errorf("then decide = %+v, want only that the bundle is published", d)
	}
}

// next returns the material that is stored after a decision.
func next(t *testing.T, m *material, s sight, now time.Time) *material {
	t.Helper()
	changed, err := m.change(m.decide(modelPolicy(), s, now), modelPolicy(), now)
	if err != nil {
		t.Fatal(err)
	}
	data, err := changed.data()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
