// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/runtime/webhook"
)

func TestUseURLReplacesServices(t *testing.T) {
	tests := []struct {
		name         string
		base         string
		before, want string
	}{
		{
			name:   "a definition",
			base:   "https://127.0.0.1:9443",
			before: `spec: {conversion: {webhook: {clientConfig: {service: {name: shop, path: /convert}, caBundle: eA==}}}}`,
			want:   `spec: {conversion: {webhook: {clientConfig: {url: "https://127.0.0.1:9443/convert"}}}}`,
		},
		{
			name:   "a configuration with a webhook that has a URL already",
			base:   "https://[::1]:9443/hooks/",
			before: `webhooks: [{clientConfig: {service: {name: shop, path: /a}}}, {clientConfig: {url: "https://x", caBundle: eA==}}]`,
			want:   `webhooks: [{clientConfig: {url: "https://[::1]:9443/hooks/a"}}, {clientConfig: {url: "https://x", caBundle: eA==}}]`,
		},
		{name: "a definition without conversions", base: "https://a.example", before: `spec: {group: a}`, want: `spec: {group: a}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obj, want := &unstructured.Unstructured{}, &unstructured.Unstructured{}
			for text, o := range map[string]*unstructured.Unstructured{tt.before: obj, tt.want: want} {
				if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
					t.Fatal(err)
				}
			}
			if tt.before == tt.want {
				want = obj.DeepCopy()
			}
			if err := webhook.UseURL(obj, tt.base); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, obj); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUseURLRejectsInvalidURLs(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:9443", "http://127.0.0.1", "https://:9443", "https://a@b", "https://a?b", "https://a#b", "https://a b"} {
		err := webhook.UseURL(&unstructured.Unstructured{}, base)
		if err == nil || !strings.Contains(err.Error(), "is invalid: set one such as https://127.0.0.1:9443") {
			t.Errorf("UseURL with %q = %v", base, err)
		}
	}
}
