// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Mark replaces a secret in text.
const Mark = "[redacted]"

// shortest is the length of the shortest secret that is replaced. Shorter ones occur in ordinary words.
const shortest = 4

// Secrets is a set of secrets. The zero value is empty. It is safe for concurrent use.
type Secrets struct {
	mu       sync.Mutex // guards the fields below
	secrets  []string
	forms    []string          // of the secrets, see forms
	replacer *strings.Replacer // replaces the forms; nil until they are needed
}

// Add adds secrets. Those of fewer than four bytes are ignored.
func (s *Secrets) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		if len(secret) >= shortest && !slices.Contains(s.secrets, secret) {
			s.secrets, s.replacer = append(s.secrets, secret), nil
		}
	}
}

// AddHeader adds the credentials in the header of a request.
func (s *Secrets) AddHeader(h http.Header) {
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		s.Add(h[name]...)
	}
	for _, cookies := range h["Cookie"] {
		for cookie := range strings.SplitSeq(cookies, ";") {
			_, value, _ := strings.Cut(strings.TrimSpace(cookie), "=")
			s.Add(value)
		}
	}
}

// AddPassword adds a password, alone and as it is sent with its user name.
func (s *Secrets) AddPassword(user, password string) {
	if password != "" {
		s.Add("Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
}

// Text returns text with each secret replaced by [Mark], in any of its usual encodings.
func (s *Secrets) Text(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.secrets) == 0 || text == "" {
		return text
	}
	s.prepare()
	return s.replacer.Replace(text)
}

// Start is [Secrets.Text] for the start of a text, which may end within a secret.
func (s *Secrets) Start(text string) string {
	text = s.Text(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.secrets) == 0 {
		return text
	}
	s.prepare()
	cut := 0
	for _, form := range s.forms {
		for n := min(len(form)-1, len(text)); n >= max(shortest, cut+1); n-- {
			if strings.HasSuffix(text, form[:n]) {
				cut = n
			}
		}
	}
	if cut == 0 {
		return text
	}
	return text[:len(text)-cut] + Mark
}

// prepare sets forms and replacer. The caller holds the mutex.
func (s *Secrets) prepare() {
	if s.replacer != nil {
		return
	}
	s.forms = nil
	for _, secret := range s.secrets {
		for _, part := range parts(secret) {
			s.forms = append(s.forms, forms(part)...)
		}
	}
	s.forms = slices.DeleteFunc(s.forms, func(form string) bool { return len(form) < shortest })
	slices.Sort(s.forms)
	slices.Reverse(s.forms) // so that of a text and its beginning, the whole text is replaced
	var pairs []string
	for _, form := range s.forms {
		pairs = append(pairs, form, Mark)
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// Error returns an error whose text contains no secret. It returns err itself if its text contains none, and wraps it
// otherwise.
func (s *Secrets) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := s.Text(text); clean != text {
		return &redacted{clean, err}
	}
	return err
}

// Strings removes the secrets from all strings in the value that v points to. It does not search maps and interfaces.
func (s *Secrets) Strings(v any) { s.strings(reflect.ValueOf(v)) }

func (s *Secrets) strings(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.strings(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			s.strings(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.strings(v.Index(i))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(s.Text(v.String()))
		}
	default: // contains no strings
	}
}

// redacted is an error with a different text.
type redacted struct {
	text string
	err  error
}

// Error returns the text without secrets.
func (e *redacted) Error() string { return e.text }

// Unwrap returns the original error.
func (e *redacted) Unwrap() error { return e.err }

// parts returns a secret and its parts that a server may repeat: an Authorization value without the scheme, the decoded
// value, and the payload and the signature of a JWT.
func parts(secret string) []string {
	all := []string{secret}
	scheme, rest, ok := strings.Cut(secret, " ")
	if rest = strings.TrimSpace(rest); ok && rest != "" {
		all = append(all, rest)
	}
	if ok && strings.EqualFold(scheme, "Basic") {
		if pair, err := base64.StdEncoding.DecodeString(rest); err == nil {
			_, password, _ := strings.Cut(string(pair), ":")
			all = append(all, string(pair), password,
				base64.RawStdEncoding.EncodeToString(pair), base64.URLEncoding.EncodeToString(pair),
				base64.RawURLEncoding.EncodeToString(pair))
		}
	}
	if jwt := strings.Split(all[len(all)-1], "."); len(jwt) == 3 {
		all = append(all, jwt[1], jwt[2])
	}
	return all
}

// forms returns text as encoded in JSON, HTML and URLs.
func forms(text string) []string {
	all := []string{text, url.QueryEscape(text), url.PathEscape(text), escapeHTML(text)}
	if quoted, err := json.Marshal(text); err == nil {
		inside := string(quoted[1 : len(quoted)-1])
		all = append(all, inside, strings.ReplaceAll(inside, "/", `\/`))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// escapeHTML is html.EscapeString. Package html would link its table of all entities, which has 70 kB.
func escapeHTML(text string) string {
	return strings.NewReplacer("&", "&amp;", "'", "&#39;", "<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace(text)
}
