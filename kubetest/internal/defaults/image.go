// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"regexp"
	"sync"
)

// reference matches the reference of an image: a name, an optional tag and an optional digest, see
// https://pkg.go.dev/github.com/distribution/reference.
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
	return regexp.MustCompile(`^(?:` + domain + `/)?` + word + `(?:/` + word + `)*(?::(` + tag + `))?(?:@(` + digest + `))?$`)
})

// imagePullPolicy sets a pull policy: Always for the tag latest, which is also the tag of an image that has neither a
// tag nor a digest, and otherwise IfNotPresent.
func imagePullPolicy(policy, image string) rule {
	return func(obj map[string]any) {
		value := "IfNotPresent"
		if m := reference().FindStringSubmatch(text(obj, image)); m != nil && (m[1] == "latest" || m[1]+m[2] == "") {
			value = "Always"
		}
		zero(policy, value)(obj)
	}
}
