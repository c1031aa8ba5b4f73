// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// Webhook is a webhook of a configuration, with the fields of admissionregistration.k8s.io/v1.
type Webhook struct {
	Name                    string                `json:"name"`
	AdmissionReviewVersions []string              `json:"admissionReviewVersions"`
	ClientConfig            clientConfig          `json:"clientConfig"`
	Rules                   []rule                `json:"rules,omitempty"`
	FailurePolicy           string                `json:"failurePolicy,omitempty"`
	MatchPolicy             string                `json:"matchPolicy,omitempty"`
	NamespaceSelector       *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ObjectSelector          *metav1.LabelSelector `json:"objectSelector,omitempty"`
	MatchConditions         []matchCondition      `json:"matchConditions,omitempty"`
	ReinvocationPolicy      string                `json:"reinvocationPolicy,omitempty"`
	SideEffects             string                `json:"sideEffects,omitempty"`
	TimeoutSeconds          *int32                `json:"timeoutSeconds,omitempty"`

	Mutating bool `json:"-"`
}

type clientConfig struct {
	CABundle string   `json:"caBundle,omitempty"` // in base64
	Service  *service `json:"service,omitempty"`
	URL      *string  `json:"url,omitempty"`
}

type service struct {
	Name      string  `json:"name"`
	Namespace string  `json:"namespace"`
	Path      *string `json:"path,omitempty"`
	Port      *int32  `json:"port,omitempty"`
}

type rule struct {
	APIGroups   []string `json:"apiGroups,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
	Operations  []string `json:"operations,omitempty"`
	Resources   []string `json:"resources,omitempty"`
	Scope       string   `json:"scope,omitempty"`
}

type matchCondition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Configuration is a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration.
type Configuration struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   metadata   `json:"metadata"`
	Webhooks   []*Webhook `json:"webhooks"`
}

type metadata struct {
	Name string `json:"name"`
}

// Parse reads the arguments of +kubebuilder:webhook, and returns all of their errors.
func Parse(a marker.Args) (*Webhook, []error) {
	w := &Webhook{
		Name:                    a.String("name"),
		AdmissionReviewVersions: a.Strings("admissionReviewVersions"),
		FailurePolicy:           canonical(a.String("failurePolicy"), "Fail", "Ignore"),
		MatchPolicy:             canonical(a.String("matchPolicy"), "Exact", "Equivalent"),
		SideEffects:             canonical(a.String("sideEffects"), "None", "NoneOnDryRun", "Some", "Unknown"),
		ReinvocationPolicy:      canonical(a.String("reinvocationPolicy"), "Never", "IfNeeded"),
		Mutating:                a.Bool("mutating", false),
		Rules: []rule{{
			APIGroups:   withoutCore(a.Strings("groups")),
			APIVersions: a.Strings("versions"),
			Resources:   a.Strings("resources"),
		}},
	}
	for _, verb := range a.Strings("verbs") {
		w.Rules[0].Operations = append(w.Rules[0].Operations, canonical(verb, operations()...))
	}
	var errs []error
	if n, err := number(a, "timeoutSeconds"); err != nil {
		errs = append(errs, err)
	} else if n != nil && *n != 0 { // zero is the default, as in controller-gen
		w.TimeoutSeconds = n
	}
	if url := a.String("url"); url != "" {
		w.ClientConfig.URL = &url
	}
	if path := a.String("path"); path != "" {
		port, err := number(a, "servicePort")
		if err != nil {
			errs = append(errs, err)
		}
		w.ClientConfig.Service = &service{
			Name:      cmp.Or(a.String("serviceName"), "webhook-service"),
			Namespace: cmp.Or(a.String("serviceNamespace"), "system"),
			Path:      &path,
			Port:      port,
		}
	}
	for _, v := range a.Strings("webhookVersions") {
		if v != "v1" {
			errs = append(errs, fmt.Errorf("webhookVersions: %q must be v1", v))
		}
	}
	if patch := a.String("patch"); patch != "" {
		patched, err := w.patched(patch)
		if err != nil {
			return w, append(errs, fmt.Errorf("patch: %w", err))
		}
		w = patched
	}
	return w, append(errs, w.check()...)
}

func operations() []string { return []string{"CREATE", "UPDATE", "DELETE", "CONNECT", "*"} }

// canonical returns a word in the case that servers require, or unchanged if it is unknown.
func canonical(word string, words ...string) string {
	for _, w := range words {
		if strings.EqualFold(w, word) {
			return w
		}
	}
	return word
}

func withoutCore(groups []string) []string {
	groups = slices.Clone(groups)
	for i, g := range groups {
		if g == "core" {
			groups[i] = ""
		}
	}
	return groups
}

func number(a marker.Args, name string) (*int32, error) {
	text := a.Number(name)
	if text == "" {
		return nil, nil
	}
	n, err := text.Int64()
	if err != nil || n > 1<<16 {
		return nil, fmt.Errorf("%s=%s is too large", name, text)
	}
	return new(int32(n)), nil
}

// Configurations returns a configuration of each kind that has webhooks, which are ordered by name. Empty names of
// configurations are replaced by those of controller-gen.
func Configurations(webhooks []*Webhook, mutating, validating string) []Configuration {
	var all []Configuration
	for _, c := range []struct {
		kind, name string
		mutating   bool
	}{
		{"MutatingWebhookConfiguration", cmp.Or(mutating, "mutating-webhook-configuration"), true},
		{"ValidatingWebhookConfiguration", cmp.Or(validating, "validating-webhook-configuration"), false},
	} {
		config := Configuration{APIVersion: "admissionregistration.k8s.io/v1", Kind: c.kind, Metadata: metadata{c.name}}
		for _, w := range webhooks {
			if w.Mutating == c.mutating {
				config.Webhooks = append(config.Webhooks, w)
			}
		}
		if len(config.Webhooks) == 0 {
			continue
		}
		slices.SortStableFunc(config.Webhooks, func(a, b *Webhook) int { return cmp.Compare(a.Name, b.Name) })
		all = append(all, config)
	}
	return all
}
