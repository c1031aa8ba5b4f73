// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// UseURL replaces the service in each clientConfig of an object by a URL: the base, such as https://127.0.0.1:9443, and
// the path of the service. It removes the bundle, which belongs to the service. The object is a
// CustomResourceDefinition, a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration; UseURL does not change
// one without a service. Apply the result while a program runs outside of the cluster, with the host of the base in
// [Options.Hosts]. API servers must be able to connect to the base.
//
// Errors: base is not a URL with the scheme https and a host, or it has more than a path.
func UseURL(obj *unstructured.Unstructured, base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("webhook: the URL %q is invalid: set one such as https://127.0.0.1:9443", base)
	}
	configs, err := clientConfigs(obj.Object)
	if err != nil {
		return fmt.Errorf("webhook: %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	for _, config := range configs {
		if config["service"] == nil {
			continue
		}
		path, _, err := unstructured.NestedString(config, "service", "path")
		if err != nil {
			return fmt.Errorf("webhook: %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		config["url"] = u.JoinPath(path).String()
		delete(config, "service")
		delete(config, "caBundle")
	}
	return nil
}

// clientConfigs returns the client configurations of the webhooks of an object.
func clientConfigs(obj map[string]any) (list []map[string]any, err error) {
	hooks, _, err := unstructured.NestedFieldNoCopy(obj, "webhooks")
	if err != nil {
		return nil, err
	}
	var configs []any
	if hooks, ok := hooks.([]any); ok {
		for _, hook := range hooks {
			if m, ok := hook.(map[string]any); ok {
				configs = append(configs, m["clientConfig"])
			}
		}
	}
	conversion, _, err := unstructured.NestedFieldNoCopy(obj, "spec", "conversion", "webhook", "clientConfig")
	if err != nil {
		return nil, err
	}
	for _, c := range append(configs, conversion) {
		if config, ok := c.(map[string]any); ok {
			list = append(list, config)
		}
	}
	return list, nil
}
