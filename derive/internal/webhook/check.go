// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// check reports fields that servers reject, see
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
func (w *Webhook) check() []error {
	c := &checker{}
	if strings.Count(w.Name, ".") < 2 || len(validation.IsDNS1123Subdomain(w.Name)) > 0 {
		c.wrong("name=%s must be a domain of three or more parts, such as pods.example.com", w.Name)
	}
	c.oneOf("failurePolicy", w.FailurePolicy, "Fail", "Ignore")
	c.oneOf("matchPolicy", w.MatchPolicy, "Exact", "Equivalent")
	c.oneOf("reinvocationPolicy", w.ReinvocationPolicy, "Never", "IfNeeded")
	if w.ReinvocationPolicy != "" && !w.Mutating {
		c.wrong("reinvocationPolicy is for mutating webhooks")
	}
	switch w.SideEffects {
	case "None", "NoneOnDryRun":
	case "":
		c.wrong("sideEffects=… is missing: set None or NoneOnDryRun")
	default:
		c.wrong("sideEffects=%s must be None, or NoneOnDryRun for a webhook that reads dryRun", w.SideEffects)
	}
	if t := w.TimeoutSeconds; t != nil && (*t < 1 || *t > 30) {
		c.wrong("timeoutSeconds=%d must be from 1 to 30", *t)
	}
	c.reviews(w.AdmissionReviewVersions)
	c.client(w.ClientConfig)
	for _, r := range w.Rules {
		c.rule(r)
	}
	for name, s := range map[string]*metav1.LabelSelector{"namespaceSelector": w.NamespaceSelector, "objectSelector": w.ObjectSelector} {
		if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
			c.wrong("patch: %s: %v", name, err)
		}
	}
	c.conditions(w.MatchConditions)
	return c.errs
}

type checker struct{ errs []error }

func (c *checker) wrong(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) oneOf(arg, word string, words ...string) {
	if word == "" || slices.Contains(words, word) {
		return
	}
	msg := fmt.Sprintf("%s=%s is not one of %s", arg, word, strings.Join(words, ", "))
	if near := suggest.Nearest(word, words); near != "" {
		msg += fmt.Sprintf("; did you mean %s?", near)
	}
	c.wrong("%s", msg)
}

// reviews checks the versions of AdmissionReview that the webhook supports.
func (c *checker) reviews(versions []string) {
	if !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1") {
		c.wrong("admissionReviewVersions=%s must contain v1 or v1beta1: servers send no others", strings.Join(versions, ";"))
	}
	for i, v := range versions {
		if len(validation.IsDNS1035Label(v)) > 0 || slices.Contains(versions[:i], v) {
			c.wrong("admissionReviewVersions: %q is not a version, or is set twice", v)
		}
	}
}

// client checks the address of the webhook.
func (c *checker) client(cc clientConfig) {
	switch {
	case (cc.Service == nil) == (cc.URL == nil):
		c.wrong("needs either path=… for a service, or url=…")
	case cc.URL != nil:
		u, err := url.Parse(*cc.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			c.wrong("url=%q must be https://host[:port]/path, without user, query and fragment", *cc.URL)
		}
	default:
		if path := cc.Service.Path; path != nil {
			c.path(*path)
		}
		if p := cc.Service.Port; p != nil && (*p < 1 || *p > 65535) {
			c.wrong("servicePort=%d must be from 1 to 65535", *p)
		}
	}
}

func (c *checker) path(path string) {
	steps, ok := strings.CutPrefix(path, "/")
	if !ok {
		c.wrong("path=%s must begin with a slash", path)
		return
	}
	for step := range strings.SplitSeq(strings.TrimSuffix(steps, "/"), "/") {
		if step == "" && steps == "" {
			continue
		}
		if len(validation.IsDNS1123Subdomain(step)) > 0 {
			c.wrong("path=%s: %q must be of lower-case letters, digits, dots and dashes", path, step)
		}
	}
}

// rule checks the operations and resources of the webhook.
func (c *checker) rule(r rule) {
	for _, op := range r.Operations {
		c.oneOf("verbs", op, operations()...)
	}
	for _, list := range []struct {
		arg   string
		words []string
	}{{"verbs", r.Operations}, {"groups", r.APIGroups}, {"versions", r.APIVersions}} {
		if len(list.words) == 0 {
			c.wrong("%s=… is empty", list.arg)
		}
		if len(list.words) > 1 && slices.Contains(list.words, "*") {
			c.wrong("%s=%s: * matches all, so it must be the only one", list.arg, strings.Join(list.words, ";"))
		}
	}
	if slices.Contains(r.APIVersions, "") {
		c.wrong("versions has an empty item")
	}
	c.resources(r.Resources)
}

// resources checks that no wildcard matches another resource of the list.
func (c *checker) resources(list []string) {
	if len(list) == 0 {
		c.wrong("resources=… is empty")
	}
	for _, res := range list {
		name, sub, hasSub := strings.Cut(res, "/")
		covered := slices.ContainsFunc(list, func(other string) bool {
			switch {
			case other == res:
				return false
			case other == "*/*":
				return true
			case !hasSub:
				return other == "*"
			}
			return other == name+"/*" || other == "*/"+sub
		})
		switch {
		case name == "" || hasSub && sub == "":
			c.wrong("resource %q has an empty part", res)
		case covered:
			c.wrong("resources=%s: a wildcard matches %s, too: remove it", strings.Join(list, ";"), res)
		}
	}
}

func (c *checker) conditions(list []matchCondition) {
	if len(list) > 64 {
		c.wrong("patch: %d matchConditions are more than 64", len(list))
	}
	for i, m := range list {
		switch {
		case len(validation.IsQualifiedName(m.Name)) > 0:
			c.wrong("patch: matchConditions: the name %q must be of letters, digits, dots and dashes", m.Name)
		case strings.TrimSpace(m.Expression) == "":
			c.wrong("patch: matchConditions: %s has no expression", m.Name)
		case slices.ContainsFunc(list[:i], func(o matchCondition) bool { return o.Name == m.Name }):
			c.wrong("patch: matchConditions: the name %q is set twice", m.Name)
		}
	}
}
