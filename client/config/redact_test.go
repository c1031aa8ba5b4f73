// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/config"
)

// printed returns v in every form in which programs print values.
func printed(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20v", "%08.3f"} {
		fmt.Fprintf(&b, verb+"\n", v)
		fmt.Fprintf(&b, verb+"\n", struct{ V any }{v})
	}
	fmt.Fprintln(&b, v)
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(data)
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("value", "v", v, slog.Group("g", "v", v))
	}
	return b.String()
}

// plant sets each string in a value to a marker that names its field, and returns the markers.
func plant(v reflect.Value, path string) []string {
	marker := "MARK" + strings.ReplaceAll(path, ".", "_") + "_"
	switch v.Kind() {
	case reflect.Struct:
		var out []string
		for i := range v.NumField() {
			out = append(out, plant(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
		return out
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return plant(v.Elem(), path)
	case reflect.String:
		v.SetString(marker)
		return []string{marker}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Type() == reflect.TypeFor[json.RawMessage]() {
				v.SetBytes([]byte(`"` + marker + `"`))
			} else {
				v.SetBytes([]byte(marker))
			}
			return []string{marker}
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return plant(v.Index(0), path)
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		out := plant(element, path)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), element)
		return out
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("unsupported kind of field: " + v.Type().String())
	}
	return nil
}

var markers = regexp.MustCompile(`MARK[A-Za-z_]+_`)

// seen returns the fields whose content is visible when v is printed: as plain text, as numbers or encoded.
func seen(t *testing.T, v any, planted []string) []string {
	t.Helper()
	text := printed(t, v)
	var out []string
	for _, marker := range planted {
		forms := []string{
			marker,
			fmt.Sprintf("%x", marker), fmt.Sprintf("%X", marker),
			strings.Trim(fmt.Sprintf("%d", []byte(marker)), "[]"),
			strings.Trim(fmt.Sprintf("%#v", []byte(marker)), "[]byte{}"),
			base64.StdEncoding.EncodeToString([]byte(marker[:len(marker)/3*3])),
		}
		if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) {
			name := strings.TrimSuffix(strings.TrimPrefix(marker, "MARK_"), "_")
			out = append(out, strings.ReplaceAll(name, "_", "."))
		}
	}
	for _, marker := range markers.FindAllString(text, -1) {
		if !slices.Contains(planted, marker) {
			t.Errorf("marker %q was not planted", marker)
		}
	}
	return out
}

func TestPrintingConfigShowsOnlyPublicFields(t *testing.T) {
	var cfg config.Config
	planted := plant(reflect.ValueOf(&cfg).Elem(), "")
	want := []string{ // a new field is not printed until it is added to attrs, and here
		"Server", "Namespace", "TLSServerName", "CAFile", "ClientCertFile", "ClientKeyFile", "BearerTokenFile",
		"Username", "Exec.Command", "Exec.APIVersion", "AuthProvider.Name",
		"Impersonate.User", "Impersonate.UID", "Impersonate.Groups", "ProxyURL", "Source",
	}
	for name, v := range map[string]any{"value": cfg, "pointer": &cfg} {
		if diff := cmp.Diff(want, seen(t, v, planted)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPrintingKubeconfigTypesShowsNoSecret(t *testing.T) {
	for _, test := range []struct {
		in     any
		hidden []string
	}{
		{new(config.ExecConfig), []string{"Args", "Env.Value", "ClusterConfig", "Unknown"}},
		{new(config.EnvVar), []string{"Value", "Unknown"}},
		{new(config.AuthProvider), []string{"Config", "Unknown"}},
		{new(config.Cluster), []string{"Unknown", "Extensions.Unknown"}},
		{new(config.NamedCluster), []string{"Unknown", "Cluster.Unknown"}},
		{new(config.Extension), []string{"Extension", "Unknown"}},
		{new(config.Context), []string{"Unknown", "Extensions.Extension", "Extensions.Unknown"}},
		{new(config.NamedContext), []string{"Unknown", "Context.Unknown", "Context.Extensions.Extension"}},
		{new(config.User), []string{"ClientKeyData", "Token", "Password", "Exec.Args", "AuthProvider.Config", "Unknown"}},
		{new(config.NamedUser), []string{"User.ClientKeyData", "User.Token", "User.Password", "User.Exec.Env.Value"}},
		{new(config.Kubeconfig), []string{
			"Unknown", "Clusters.Unknown", "Clusters.Cluster.Unknown",
			"Users.User.ClientKeyData", "Users.User.Token", "Users.User.Password", "Users.User.Unknown",
			"Users.User.AuthProvider.Config", "Users.User.AuthProvider.Unknown",
			"Users.User.Exec.Args", "Users.User.Exec.Env.Value", "Users.User.Exec.Unknown",
		}},
	} {
		v := reflect.ValueOf(test.in)
		planted := plant(v.Elem(), "")
		for form, in := range map[string]any{"value": v.Elem().Interface(), "pointer": test.in} {
			visible := seen(t, in, planted)
			if len(visible) == 0 {
				t.Errorf("%T as a %s shows no field, so this test checks nothing", test.in, form)
			}
			for _, field := range test.hidden {
				if slices.Contains(visible, field) {
					t.Errorf("%T as a %s shows %s", test.in, form, field)
				}
				if !slices.Contains(planted, "MARK_"+strings.ReplaceAll(field, ".", "_")+"_") {
					t.Errorf("%T has no field %s", test.in, field)
				}
			}
		}
	}
}

func TestPrintingURLsShowsNoUserInformation(t *testing.T) {
	for _, secret := range []string{
		"https://ann:hunter2@host:6443/path", "https://hunter2@host", "ann:hunter2@host:8080", "http://ann:hunter2%zz@host",
		"://hunter2@", "socks5://ann:hunter2@[::1]:1080",
	} {
		for _, v := range []any{
			config.Config{Server: secret},
			config.Config{ProxyURL: secret},
			&config.Config{ProxyURL: secret},
			config.Cluster{Server: secret},
			config.Cluster{ProxyURL: secret},
			&config.Cluster{ProxyURL: secret},
		} {
			if text := printed(t, v); strings.Contains(text, "hunter2") {
				t.Errorf("%q prints as %s", secret, text)
			}
		}
	}
}

func TestConfigPrintsItsPublicFields(t *testing.T) {
	cfg := config.Config{
		Server: "https://host:6443", Namespace: "prod", CAData: []byte("12345"), BearerToken: "hunter2",
		Exec:        &config.ExecConfig{Command: "login", Args: []string{"a", "b"}, APIVersion: config.ExecV1},
		Impersonate: config.Impersonation{User: "bob", Groups: []string{"a", "b"}},
		Source:      `context "prod" of /home/ann/.kube/config`,
	}
	want := `{source: context "prod" of /home/ann/.kube/config, server: https://host:6443, namespace: prod, ` +
		`caData: 5 bytes, bearerToken: [redacted], ` +
		`exec: {command: login, args: 2 [redacted], apiVersion: client.authentication.k8s.io/v1}, ` +
		`impersonate: {user: bob, groups: a,b}}`
	if got := cfg.String(); got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	if got := fmt.Sprintf("%#v", cfg); got != "config.Config"+want {
		t.Errorf("GoString() = %s, want %s", got, want)
	}
	if got := fmt.Sprint(config.Config{}); got != "{}" {
		t.Errorf("String() of the zero value = %s, want {}", got)
	}
	data, err := json.Marshal(config.Config{Server: "https://host", Impersonate: config.Impersonation{User: "bob"}})
	if got, want := string(data), `{"impersonate":{"user":"bob"},"server":"https://host"}`; err != nil || got != want {
		t.Errorf("json.Marshal() = %s, %v, want %s", got, err, want)
	}
}

func TestSecretPrintsWhetherItIsSet(t *testing.T) {
	for _, test := range []struct {
		format string
		in     config.Secret
		want   string
	}{
		{"%v", "hunter2", "[redacted]"},
		{"%s", "hunter2", "[redacted]"},
		{"%x", "hunter2", "[redacted]"},
		{"%q", "hunter2", `"[redacted]"`},
		{"%#v", "hunter2", `config.Secret("[redacted]")`},
		{"%v", "", ""},
		{"%#v", "", `config.Secret("")`},
	} {
		if got := fmt.Sprintf(test.format, test.in); got != test.want {
			t.Errorf("Sprintf(%q) = %q, want %q", test.format, got, test.want)
		}
	}
	if got := config.Secret("hunter2").GoString(); got != `config.Secret("[redacted]")` {
		t.Errorf("GoString() = %q", got)
	}
	for _, v := range []any{
		map[string]config.Secret{"key": "hunter2"},
		[]config.Secret{"hunter2"},
		struct{ S config.Secret }{"hunter2"},
		config.Unknown{"key": json.RawMessage(`"hunter2"`)},
	} {
		if text := printed(t, v); strings.Contains(text, "hunter2") {
			t.Errorf("a %T prints as %s", v, text)
		}
	}
	if got := string(config.Secret("hunter2")); got != "hunter2" {
		t.Errorf("string() = %q", got)
	}
}
