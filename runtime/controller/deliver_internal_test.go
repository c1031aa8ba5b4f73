// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
)

func TestInitialObjectIsOldUnlessItHasChangedSinceTheSubscriptionBegan(t *testing.T) {
	for _, test := range []struct {
		name           string
		initial        bool
		began, current uint64
		version        string
		want           bool
	}{
		{"not initial", false, 7, 7, "7", false},
		{"nothing has changed", true, 7, 7, "7", true},
		{"another object has changed", true, 7, 8, "7", true},
		{"it has changed", true, 7, 8, "8", false},
		{"the feed was not synced", true, 0, 8, "8", true},
		{"the version is not a number", true, 7, 8, "new", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: test.version}}
			p, err := wire.Pack(obj, wire.JSON)
			if err != nil {
				t.Fatal(err)
			}
			f := &memberFeed{began: test.began}
			f.version.Store(test.current)
			if got := f.isOld(&reflector.Change{Initial: test.initial, New: reflector.StateOf(p)}); got != test.want {
				t.Errorf("isOld() = %v, want %v", got, test.want)
			}
		})
	}
}
