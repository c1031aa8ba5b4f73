// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// shown returns attributes of names and their texts. It leaves out empty texts.
func shown(pairs ...string) (out []slog.Attr) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, slog.String(pairs[i], pairs[i+1]))
		}
	}
	return out
}

// count returns a number with a unit, such as "2 bytes", or "" for 0.
func count(n int, unit string) string {
	switch n {
	case 0:
		return ""
	case 1:
		unit = strings.TrimSuffix(unit, "s")
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// A Config prints its fields that are set, without secrets: attrs is the only list of the fields that may be shown.
// Certificates are public, so their size is shown; of secrets only their presence is shown.
func (c *Config) attrs() []slog.Attr {
	out := shown(
		"source", c.Source,
		"server", redactURL(c.Server),
		"namespace", c.Namespace,
		"tlsServerName", c.TLSServerName,
		"caFile", c.CAFile,
		"caData", count(len(c.CAData), "bytes"),
		"clientCertFile", c.ClientCertFile,
		"clientCertData", count(len(c.ClientCertData), "bytes"),
		"clientKeyFile", c.ClientKeyFile,
		"clientKeyData", c.ClientKeyData.String(),
		"bearerToken", c.BearerToken.String(),
		"bearerTokenFile", c.BearerTokenFile,
		"username", c.Username,
		"password", c.Password.String(),
		"proxyURL", redactURL(c.ProxyURL),
	)
	if c.InsecureSkipTLSVerify {
		out = append(out, slog.Bool("insecureSkipTLSVerify", true))
	}
	if c.DisableCompression {
		out = append(out, slog.Bool("disableCompression", true))
	}
	if c.Exec != nil {
		out = append(out, slog.GroupAttrs("exec", c.Exec.attrs()...))
	}
	if c.AuthProvider != nil {
		out = append(out, slog.GroupAttrs("authProvider", shown("name", c.AuthProvider.Name)...))
	}
	if as := c.Impersonate.attrs(); as != nil {
		out = append(out, slog.GroupAttrs("impersonate", as...))
	}
	return out
}

func (i *Impersonation) attrs() []slog.Attr {
	return shown("user", i.User, "uid", i.UID, "groups", strings.Join(i.Groups, ","), "extra", count(len(i.Extra), "keys"))
}

func (e *ExecConfig) attrs() []slog.Attr {
	return shown("command", e.Command, "args", count(len(e.Args), redacted), "env", count(len(e.Env), redacted),
		"apiVersion", e.APIVersion)
}

// joinAttrs formats attributes as "{name: value, group: {name: value}}".
func joinAttrs(attrs []slog.Attr) string {
	parts := make([]string, len(attrs))
	for i, a := range attrs {
		value := a.Value.String()
		if a.Value.Kind() == slog.KindGroup {
			value = joinAttrs(a.Value.Group())
		}
		parts[i] = a.Key + ": " + value
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// attrMap returns the JSON form of attributes.
func attrMap(attrs []slog.Attr) map[string]any {
	out := make(map[string]any, len(attrs))
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindGroup {
			out[a.Key] = attrMap(a.Value.Group())
		} else {
			out[a.Key] = a.Value.Any()
		}
	}
	return out
}

// String returns the fields that are set, without secrets.
func (c Config) String() string { return joinAttrs(c.attrs()) }

// GoString returns String with the name of the type.
func (c Config) GoString() string { return "config.Config" + c.String() }

// Format prints like String or GoString, whatever the verb.
func (c Config) Format(f fmt.State, verb rune) { formatRedacted(f, verb, c.String(), c.GoString()) }

// MarshalJSON returns the fields that String shows. It is meant for logs and bug reports; the result cannot be decoded.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(attrMap(c.attrs())) }

// LogValue returns a group of the fields that are set, without secrets.
func (c Config) LogValue() slog.Value { return slog.GroupValue(c.attrs()...) }

// String returns the command. It shows neither the arguments nor the environment.
func (e ExecConfig) String() string { return joinAttrs(e.attrs()) }

// GoString returns String with the name of the type.
func (e ExecConfig) GoString() string { return "config.ExecConfig" + e.String() }

// Format prints like String or GoString, whatever the verb.
func (e ExecConfig) Format(f fmt.State, verb rune) { formatRedacted(f, verb, e.String(), e.GoString()) }

// MarshalJSON returns the fields that String shows. The result cannot be decoded.
func (e ExecConfig) MarshalJSON() ([]byte, error) { return json.Marshal(attrMap(e.attrs())) }

// LogValue returns the command. It shows neither the arguments nor the environment.
func (e ExecConfig) LogValue() slog.Value { return slog.GroupValue(e.attrs()...) }

// redactURL hides the user information of a URL, which may contain passwords and tokens.
func redactURL(raw string) string {
	if !strings.Contains(raw, "@") {
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return redacted
	}
	u.User = url.User("redacted")
	return u.String()
}
