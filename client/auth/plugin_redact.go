// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-go/sdk/client/internal/plain"
	"github.com/kube-go/sdk/client/internal/redact"
)

// The names of variables and flags that contain a secret, and the forms of tokens and keys. They are not modified.
//
// The start of the output of a plugin may be lost, and the output may end anywhere. So a partial key is recognized too:
// one with a begin and no end, one with an end and no begin, and lines of base64 with neither.
var (
	secretName  = regexp.MustCompile(`(?i)token|secret|passw|credential|key`)
	secretShape = regexp.MustCompile(strings.Join([]string{
		`eyJ[\w-]{8,}\.[\w-]+(\.[\w-]*)*`, // a JWT
		`k8s-aws-v1\.[\w-]+`,              // Amazon
		`ya29\.[\w-]+`,                    // Google
		`-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*KEY-----|$)`, // PEM
		`[\w+/=\\ ]*-----END [A-Z ]*PRIVATE KEY-----`,
		`([A-Za-z0-9+/]{64}(\\n| )?)+[A-Za-z0-9+/]*=*`,
		`(?i)\b(bearer|basic) +[\w.~+/=-]{8,}`,                                   // a header
		`(?i)"(\w*token|clientKeyData|password|\w*secret)" *: *"([^"\\]|\\.)*"?`, // JSON
	}, "|"))
)

// public returns the part of a plugin's standard error that may be included in an error: one line, with recognized
// secrets redacted, and of that line the end. Secrets that are not recognized must not be printed by the plugin.
func (p *Plugin) public(end *tail) string {
	text := end.data
	if end.cut { // the first word or line may be part of a secret
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			i = bytes.IndexByte(text, ' ')
		}
		text = text[i+1:]
		if i < 0 {
			text = nil
		}
	}
	s := plain.Line(string(text))
	var known []string
	for _, v := range p.exec.Env {
		if secretName.MatchString(v.Name) {
			known = append(known, plain.Line(string(v.Value)))
		}
	}
	for i, arg := range p.exec.Args {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-") || !secretName.MatchString(name):
		case ok:
			known = append(known, plain.Line(value))
		case i+1 < len(p.exec.Args):
			known = append(known, plain.Line(p.exec.Args[i+1]))
		}
	}
	if c := p.peek(); c != nil {
		known = append(known, c.token)
	}
	// The longest first: a secret may be a part of another one.
	slices.SortFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range known {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, redact.Mark)
		}
	}
	s = secretShape.ReplaceAllString(s, redact.Mark)
	return strings.ToValidUTF8(s[max(0, len(s)-stderrBytes):], "")
}
