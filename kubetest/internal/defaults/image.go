// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"regexp"
	"strings"
	"sync"
)

// reference matches the reference of an image: a name, an optional tag and an optional digest, see
// https://pkg.go.dev/github.com/distribution/reference. It also matches the identifier of an image, which isn't valid.
//
//nolint:gochecknoglobals // a cache
var reference = sync.OnceValue(func() *regexp.Regexp {
	const (
		part   = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
		domain = `(?:` + part + `(?:\.` + part + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
		word   = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
		tag    = `\w[\w.-]{0,127}`
		digest = `[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,}`
	)
	const name = `(?:` + domain + `/)?` + word + `(?:/` + word + `)*`
	return regexp.MustCompile(`^` + name + `(?::(` + tag + `))?(?:@(` + digest + `))?$`)
})

// imagePullPolicy sets a pull policy: Always for the tag latest, which is also the tag of an image that has neither a
// tag nor a digest, and otherwise IfNotPresent.
func imagePullPolicy(policy, image string) rule {
	return func(obj map[string]any) {
		value := "IfNotPresent"
		if isLatest(text(obj, image)) {
			value = "Always"
		}
		zero(policy, value)(obj)
	}
}

func isLatest(image string) bool {
	m := reference().FindStringSubmatch(image)
	if m == nil || isIdentifier(image) {
		return false
	}
	tag, digest := m[1], m[2]
	return tag == "latest" || tag+digest == ""
}

// isIdentifier returns whether an image is named by the 64 hexadecimal digits of its digest.
func isIdentifier(image string) bool {
	return len(image) == 64 && strings.Trim(image, "0123456789abcdef") == ""
}
