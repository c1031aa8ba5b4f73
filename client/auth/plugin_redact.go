// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"regexp"
	"strings"
)

// What gives a secret away: the name of a variable that holds one, and the shape of tokens and keys. Never written.
var (
	secretName  = regexp.MustCompile(`(?i)token|secret|passw|credential|key`)
	secretShape = regexp.MustCompile(strings.Join([]string{
		`eyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)*`, // a JWT
		`k8s-aws-v1\.[\w-]+`,              // of Amazon
		`ya29\.[\w-]+`,                    // of Google
		`-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*KEY-----|$)`,      // PEM
		`(?i)\bbearer +[\w.~+/=-]{8,}`,                                           // a header
		`(?i)"(\w*token|clientKeyData|password|\w*secret)" *: *"([^"\\]|\\.)*"?`, // JSON
	}, "|"))
)

const redacted = "[redacted]"

// public is the end of what the plugin had to say as it may stand in an error: without the secrets that can be told from
// other text. Others are the plugin's to keep.
func (p *Plugin) public(text []byte) string {
	s := plain(text)
	for _, v := range p.exec.Env {
		if value := plain([]byte(v.Value)); secretName.MatchString(v.Name) && value != "" {
			s = strings.ReplaceAll(s, value, redacted)
		}
	}
	if c := p.peek(); c != nil && c.token != "" {
		s = strings.ReplaceAll(s, c.token, redacted)
	}
	return secretShape.ReplaceAllString(s, redacted)
}
