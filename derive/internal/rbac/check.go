// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// Check returns errors for rules that servers reject, and for rules that never match.
func (r Rule) Check() []error {
	errs := []error{r.subject()}
	for _, v := range r.Verbs {
		errs = append(errs, r.verb(v))
	}
	for _, g := range r.Groups {
		errs = append(errs, group(g))
	}
	for _, name := range r.Resources {
		if name == "" || name != strings.ToLower(name) {
			errs = append(errs, fmt.Errorf("resource %q: write the plural in lower case, such as %q", name, "deployments"))
		}
	}
	for _, url := range r.URLs {
		if !strings.HasPrefix(url, "/") && url != "*" {
			errs = append(errs, fmt.Errorf("url %q must begin with a slash", url))
		}
	}
	if r.Namespace != "" && len(validation.IsDNS1123Label(r.Namespace)) > 0 {
		errs = append(errs, fmt.Errorf("namespace %q must be a lower-case label", r.Namespace))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// subject checks the resources or URLs of a rule.
func (r Rule) subject() error {
	switch {
	case len(r.Verbs) == 0:
		return errors.New("verbs=… is empty")
	case len(r.URLs) > 0 && len(r.Resources)+len(r.Groups)+len(r.ResourceNames) > 0:
		return errors.New("a rule has either resources or urls: write a rule for each")
	case len(r.URLs) > 0 && r.Namespace != "":
		return errors.New("urls have no namespace: remove namespace=…")
	case len(r.URLs) > 0:
		return nil
	case len(r.Resources) == 0:
		return errors.New("resources=… or urls=… is missing: without one the rule allows nothing")
	case len(r.Groups) == 0:
		return errors.New(`groups=… is missing; write groups="" for the group of pods and secrets`)
	}
	return nil
}

// verb returns an error for a misspelled verb. Unknown verbs are valid, since API extensions may have their own.
func (r Rule) verb(v string) error {
	known := []string{
		"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
		"use", "bind", "escalate", "impersonate", "approve", "sign", "attest", "proxy",
	}
	if len(r.URLs) > 0 {
		known = []string{"get", "post", "put", "patch", "delete", "head", "options"}
	}
	if v == "*" || slices.Contains(known, v) {
		return nil
	}
	if near := suggest.Nearest(v, known); near != "" {
		return fmt.Errorf("unknown verb %q; did you mean %q?", v, near)
	}
	if v == "" || v != strings.ToLower(v) || strings.ContainsAny(v, " \t/") {
		return fmt.Errorf("verb %q must be a word in lower case", v)
	}
	return nil
}

// group returns an error for a misspelled group.
func group(g string) error {
	known := strings.Fields(`admissionregistration.k8s.io apiextensions.k8s.io apiregistration.k8s.io apps authentication.k8s.io
		authorization.k8s.io autoscaling batch certificates.k8s.io coordination.k8s.io discovery.k8s.io events.k8s.io extensions
		flowcontrol.apiserver.k8s.io internal.apiserver.k8s.io metrics.k8s.io networking.k8s.io node.k8s.io policy
		rbac.authorization.k8s.io resource.k8s.io scheduling.k8s.io storage.k8s.io storagemigration.k8s.io`)
	switch {
	case g == "*", g == "", g == "core", slices.Contains(known, g):
		return nil
	case len(validation.IsDNS1123Subdomain(g)) > 0:
		return fmt.Errorf("group %q must be a domain in lower case", g)
	case strings.Contains(g, ".") && !strings.HasSuffix(g, ".k8s.io"):
		return nil // not a group of Kubernetes
	}
	if near := suggest.Nearest(g, known); near != "" && suggest.Distance(g, near) <= 2 {
		return fmt.Errorf("unknown group %q; did you mean %q?", g, near)
	}
	return nil
}
