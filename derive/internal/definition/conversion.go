// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// conversion checks the conversion between versions.
func (c *checker) conversion(conv *openapi.Conversion, path *field.Path) {
	c.oneOf(path.Child("strategy"), conv.Strategy, "None", "Webhook")
	hook := conv.Webhook
	if hook == nil {
		hook = &openapi.Webhook{}
	}
	config, reviews := path.Child("webhookClientConfig"), path.Child("conversionReviewVersions")
	if conv.Strategy != "Webhook" {
		const without = "should not be set when strategy is not set to Webhook"
		if hook.ClientConfig != nil {
			c.add(field.Forbidden(config, without))
		}
		if len(hook.ConversionReviewVersions) > 0 {
			c.add(field.Forbidden(reviews, without))
		}
		return
	}
	switch cc := hook.ClientConfig; {
	case cc == nil:
		c.add(field.Required(config, "required when strategy is set to Webhook"))
	case (cc.URL == nil) == (cc.Service == nil):
		c.add(field.Required(config, "exactly one of url or service is required"))
	case cc.URL != nil:
		c.webhookURL(*cc.URL, config.Child("url"))
	default:
		c.webhookService(cc.Service, config.Child("service"))
	}
	c.reviewVersions(hook.ConversionReviewVersions, reviews)
}

func (c *checker) reviewVersions(versions []string, path *field.Path) {
	if len(versions) == 0 {
		c.add(field.Required(path, ""))
		return
	}
	seen := map[string]bool{}
	for i, v := range versions {
		if seen[v] {
			c.add(field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		seen[v] = true
		for _, msg := range validation.IsDNS1035Label(v) {
			c.add(field.Invalid(path.Index(i), v, msg))
		}
	}
	if !seen["v1"] && !seen["v1beta1"] {
		c.add(field.Invalid(path, versions, "must include at least one of v1, v1beta1"))
	}
}

func (c *checker) webhookURL(text string, path *field.Path) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		c.add(field.Required(path, "url must be a valid URL: "+err.Error()+form))
		return
	}
	if u.Scheme != "https" {
		c.add(field.Invalid(path, u.Scheme, "'https' is the only allowed URL scheme"+form))
	}
	if u.Host == "" {
		c.add(field.Invalid(path, u.Host, "host must be specified"+form))
	}
	if u.User != nil {
		c.add(field.Invalid(path, field.OmitValueType{}, "user information is not permitted in the URL"))
	}
	if u.Fragment != "" {
		c.add(field.Invalid(path, u.Fragment, "fragments are not permitted in the URL"))
	}
	if u.RawQuery != "" {
		c.add(field.Invalid(path, u.RawQuery, "query parameters are not permitted in the URL"))
	}
}

// webhookService checks the service of the conversion webhook. Like the server, it reports a missing namespace in the
// field name, and a missing name in the field namespace.
func (c *checker) webhookService(s *openapi.Service, path *field.Path) {
	if s.Namespace == "" {
		c.add(field.Required(path.Child("name"), ""))
	}
	if s.Name == "" {
		c.add(field.Required(path.Child("namespace"), ""))
	}
	port := int32(443)
	if s.Port != nil {
		port = *s.Port
	}
	if msgs := validation.IsValidPortNum(int(port)); len(msgs) > 0 {
		c.add(field.Invalid(path.Child("port"), port, "port is not valid: "+strings.Join(msgs, ", ")))
	}
	if s.Path != nil {
		c.webhookPath(*s.Path, path.Child("path"))
	}
}

func (c *checker) webhookPath(text string, path *field.Path) {
	switch text {
	case "", "/":
		return
	case "//":
		c.add(field.Invalid(path, text, "segment[0] may not be empty"))
		return
	}
	if !strings.HasPrefix(text, "/") {
		c.add(field.Invalid(path, text, "must start with a '/'"))
	}
	for i, segment := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		if segment == "" {
			c.add(field.Invalid(path, text, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, msg := range validation.IsDNS1123Subdomain(segment) {
			c.add(field.Invalid(path, text, fmt.Sprintf("segment[%d]: %v", i, msg)))
		}
	}
}
