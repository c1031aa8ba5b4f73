// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-go/sdk/client/config"
)

func TestParseReadsEveryField(t *testing.T) {
	kc, err := config.Read(t.Context(), "testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Kubeconfig{
		APIVersion:     "v1",
		Kind:           "Config",
		CurrentContext: "prod",
		Preferences:    json.RawMessage(`{"colors":true}`),
		Unknown:        config.Unknown{"future": json.RawMessage(`{"a":[1,2.5,"3",null,true,9007199254740993]}`)},
		Clusters: []config.NamedCluster{{
			Name:    "prod",
			Unknown: config.Unknown{"note": json.RawMessage(`"beside the cluster"`)},
			Cluster: config.Cluster{
				Server:                   "https://prod.example.com:6443/prefix",
				TLSServerName:            "api.example.com",
				InsecureSkipTLSVerify:    true,
				CertificateAuthority:     "pki/ca.crt",
				CertificateAuthorityData: []byte("ca"),
				ProxyURL:                 "socks5://proxy:1080",
				DisableCompression:       true,
				Extensions: []config.Extension{
					{Name: "client.authentication.k8s.io/exec", Extension: json.RawMessage(`{"audience":"prod"}`)},
					{
						Name: "other", Extension: json.RawMessage(`"text"`),
						Unknown: config.Unknown{"note": json.RawMessage(`"beside the extension"`)},
					},
				},
				Unknown: config.Unknown{"future": json.RawMessage(`{"b":1}`)},
			},
		}},
		Users: []config.NamedUser{{
			Name: "ann",
			User: config.User{
				ClientCertificate:     "pki/ann.crt",
				ClientCertificateData: []byte("cert"),
				ClientKey:             "pki/ann.key",
				ClientKeyData:         "key",
				Token:                 "a-token",
				TokenFile:             "token",
				Impersonate:           "bob",
				ImpersonateUID:        "42",
				ImpersonateGroups:     []string{"dev", "ops"},
				ImpersonateUserExtra:  map[string][]string{"scopes": {"a", "b"}, "reason": {"c"}},
				Username:              "ann",
				Password:              "a-password",
				AuthProvider: &config.AuthProvider{
					Name:    "oidc",
					Config:  map[string]config.Secret{"client-id": "kube", "refresh-token": "a-refresh-token"},
					Unknown: config.Unknown{"future": json.RawMessage(`1`)},
				},
				Exec: &config.ExecConfig{
					Command: "bin/login",
					Args:    []string{"--secret", "an-argument"},
					Env: []config.EnvVar{{
						Name: "KEY", Value: "a-value",
						Unknown: config.Unknown{"future": json.RawMessage(`1`)},
					}},
					APIVersion:         config.ExecV1,
					InstallHint:        "get it from the intranet",
					ProvideClusterInfo: true,
					InteractiveMode:    config.InteractiveNever,
					Unknown:            config.Unknown{"future": json.RawMessage(`2`)},
				},
				Extensions: []config.Extension{{Name: "x", Extension: json.RawMessage(`1`)}},
				Unknown:    config.Unknown{"future": json.RawMessage(`"a-future-secret"`)},
			},
		}},
		Contexts: []config.NamedContext{{
			Name: "prod",
			Context: config.Context{
				Cluster: "prod", User: "ann", Namespace: "shop",
				Extensions: []config.Extension{{Name: "ext", Extension: json.RawMessage(`[1]`)}},
				Unknown:    config.Unknown{"future": json.RawMessage(`""`)},
			},
		}},
		Extensions: []config.Extension{{Name: "z", Extension: json.RawMessage(`{"deep":{"deeper":null}}`)}},
	}
	if diff := cmp.Diff(want, kc, ignoreOrigins); diff != "" {
		t.Errorf("Read() (-want +got):\n%s", diff)
	}
	for _, origin := range []string{
		kc.Origins[0], kc.Clusters[0].Cluster.Origin, kc.Users[0].User.Origin, kc.Contexts[0].Context.Origin,
	} {
		if !strings.HasSuffix(origin, "/testdata/full.yaml") {
			t.Errorf("an origin is %q", origin)
		}
	}
}

// ignoreOrigins ignores the origins of stanzas.
var ignoreOrigins = cmp.Options{
	cmpopts.IgnoreFields(config.Kubeconfig{}, "Origins"),
	cmpopts.IgnoreFields(config.Cluster{}, "Origin"),
	cmpopts.IgnoreFields(config.User{}, "Origin"),
	cmpopts.IgnoreFields(config.Context{}, "Origin"),
}

func TestEncodeKeepsEverything(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first := parse(t, string(text), "/home/ann/config")
	data, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "full.golden", data)
	second := parse(t, string(data), "/home/ann/config")
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("Parse(Encode()) (-want +got):\n%s", diff)
	}
}

func TestEncodeReportsRawFieldsThatAreNotJSON(t *testing.T) {
	kc := config.Kubeconfig{Users: []config.NamedUser{{Name: "ann", User: config.User{
		Extensions: []config.Extension{{Name: "x", Extension: json.RawMessage("{")}},
	}}}}
	_, err := kc.Encode()
	if err == nil || !strings.HasPrefix(err.Error(), "users: number 1: user: extensions: number 1: extension: ") {
		t.Errorf("Encode() = %v, want the path of the value that cannot be encoded", err)
	}
}

// encodeUTF16 encodes text in UTF-16 with a byte order mark.
func encodeUTF16(text string, order binary.AppendByteOrder) string {
	data := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		data = order.AppendUint16(data, unit)
	}
	return string(data)
}

func TestParseAcceptsAllFormatsOfAKubeconfig(t *testing.T) {
	const text = "current-context: zoë🦊\n"
	want := &config.Kubeconfig{CurrentContext: "zoë🦊"}
	for _, test := range []struct {
		name, in string
		want     *config.Kubeconfig
	}{
		{"YAML", text, want},
		{"JSON", `{"current-context": "zoë🦊"}`, want},
		{"JSON that is not valid YAML", " {\"current-context\": \"zo\\u00eb\\ud83e\\udd8a\"}\n", want},
		{
			"JSON with the same key in several objects", `{"contexts": [{"name": "a", "context": {}}, {"name": "b"}]}`,
			&config.Kubeconfig{Contexts: []config.NamedContext{{Name: "a"}, {Name: "b"}}},
		},
		{"Windows line endings", "\r\ncurrent-context: zoë🦊\r\n", want},
		{"UTF-8 with a byte order mark", "\ufeff" + text, want},
		{"UTF-16, little endian", encodeUTF16(text, binary.LittleEndian), want},
		{"UTF-16, big endian", encodeUTF16(text, binary.BigEndian), want},
		{"an empty file", "", &config.Kubeconfig{}},
		{"white space", "\n \n", &config.Kubeconfig{}},
		{"only comments", "# empty\n", &config.Kubeconfig{}},
		{"null", "null", &config.Kubeconfig{}},
		{"an empty mapping", "{}", &config.Kubeconfig{}},
		{"only a marker", "---\n", &config.Kubeconfig{}},
		{
			"fields that are null", "clusters: null\ncurrent-context: null\nusers: [{name: null, user: null}]\n",
			&config.Kubeconfig{Users: []config.NamedUser{{}}},
		},
		{"entries that are null", "contexts: [null]\n", &config.Kubeconfig{Contexts: []config.NamedContext{{}}}},
		{"a leading marker, directive and comment", "# c\n%YAML 1.1\n---\n# d\n" + text, want},
		{"a marker with a value on its line", "--- {current-context: zoë🦊}\n", want},
		{"a document end", text + "...\n", want},
		{
			"several documents, of which the first that sets a value takes precedence",
			"---\n---\n" + text + "---\ncurrent-context: b\nkind: Config\n...\n---\nkind: Config\napiVersion: v1\n",
			&config.Kubeconfig{CurrentContext: "zoë🦊", Kind: "Config", APIVersion: "v1"},
		},
		{
			"a PEM block, which resembles a document marker", "current-context: |\n  -----BEGIN\n",
			&config.Kubeconfig{CurrentContext: "-----BEGIN\n"},
		},
		{
			"a field name in another case is unknown", "Current-Context: a\n",
			&config.Kubeconfig{Unknown: config.Unknown{"Current-Context": json.RawMessage(`"a"`)}},
		},
		{
			"a merged mapping with a replaced field",
			"base: &b {server: https://a}\nclusters:\n- name: x\n  cluster: {<<: *b, server: https://b}\n",
			&config.Kubeconfig{
				Unknown:  config.Unknown{"base": json.RawMessage(`{"server":"https://a"}`)},
				Clusters: []config.NamedCluster{{Name: "x", Cluster: config.Cluster{Server: "https://b"}}},
			},
		},
		{
			"an anchor", "contexts: [{name: &n a, context: {cluster: *n}}]\n",
			&config.Kubeconfig{Contexts: []config.NamedContext{{Name: "a", Context: config.Context{Cluster: "a"}}}},
		},
		{
			"base64 over several lines", "clusters: [{name: a, cluster: {certificate-authority-data: \"Y2\\nE=\"}}]\n",
			&config.Kubeconfig{Clusters: []config.NamedCluster{{Name: "a", Cluster: config.Cluster{
				CertificateAuthorityData: []byte("ca"),
			}}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := config.Parse([]byte(test.in), "")
			if err != nil {
				t.Fatalf("Parse(%q): %v", test.in, err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestParseErrorsNameThePlaceAndTheMistake(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"an extra colon", "a: b: c", "/k:1: mapping values are not allowed in this context"},
		{"wrong indentation", "\n\nx:\n  - a\n b: c\n", "/k:3: did not find expected key"},
		{
			"wrong indentation in a later document", "---\na: 1\n---\nx: 1\ny: b: c\n",
			"/k:5: mapping values are not allowed in this context",
		},
		{"a tab", "a:\n\tb: 1\n", "/k:2: found character that cannot start any token, such as a tab, @ or `: indent with spaces, and put text in quotes"},
		{"an unterminated string", "a: 'b\n", "/k:2: found unexpected end of stream"},
		{"a truncated file", `{"clusters": [`, "/k:1: did not find expected node content"},
		{
			"a value that resembles an alias is not shown", "x: 1\nusers: [{name: a, user: {token: *hunter2}}]\n",
			"/k: a value that begins with * is not the name of an anchor: put it in quotes",
		},
		{
			"a value that does not match its tag is not shown", "token: !!int hunter2\n",
			"/k:1: the value is not a valid !!int",
		},
		{
			"an anchor within its own value", "a: &a [*a]\n",
			"/k:1: values nest deeper than 1000, or an alias is within its own anchor",
		},
		{
			"a key that is a mapping is not shown", "? {token: hunter2}\n: 1\n",
			"/k:1: a name must be a string",
		},
		{
			"a merge of a number", "<<: 1\n",
			"/k:1: << takes a mapping, or a sequence of mappings",
		},
		{"a control character", "a: \x00\n", "/k: control characters are not allowed"},
		{"another encoding", "a: \xff\n", "/k: invalid leading UTF-8 octet"},
		{"a duplicate key", "users: []\nkind: Config\nusers: []\n", "/k:3: users is in line 1 already: remove one"},
		{
			"a duplicate key in a stanza", "users:\n- name: a\n  user:\n    token: b\n    token: c\n",
			"/k:5: token is in line 4 already: remove one",
		},
		{"a duplicate key in JSON", "---\n{}\n---\n{\"a\": [1, {\"b\":\n1,\n\"b\": 2}]}", // its first line is a marker
			"/k:6: b is in line 4 already: remove one"},
		{
			"a duplicate key in JSON that is not valid YAML",
			"{\"users\": [{\"name\": \"a\"}],\n\"x\": [{}, []],\n\"x\": \"\\/\"}",
			"/k:3: x is there twice: remove one",
		},
		{"a list", "[1]", "/k: want a mapping, got a list"},
		{"a string", "just text", "/k: want a mapping, got a string"},
		{"a number", "12", "/k: want a mapping, got a number"},
		{"a mapping in place of a list", "clusters: {}", "/k: clusters: want a list, got a mapping"},
		{"a boolean in a list of mappings", "clusters: [true]", "/k: cluster number 1: want a mapping, got a boolean"},
		{
			"a number in place of a name", "users: [{name: a}, {name: 12}]",
			"/k: user number 2: name: want a string, got a number: put it in quotes",
		},
		{
			"a number in place of a string", "users: [{name: a, user: {password: 12}}]",
			`/k: user "a": password: want a string, got a number: put it in quotes`,
		},
		{
			"yes in place of a string", "users: [{name: a, user: {username: yes}}]",
			`/k: user "a": username: want a string, got a boolean: put it in quotes`,
		},
		{"a list in place of a string", "current-context: [a]", "/k: current-context: want a string, got a list"},
		{
			"a string in place of a boolean", "clusters: [{name: a, cluster: {insecure-skip-tls-verify: 'true'}}]",
			`/k: cluster "a": insecure-skip-tls-verify: want a boolean, got a string`,
		},
		{
			"invalid base64", "clusters: [{name: a, cluster: {certificate-authority-data: '-----BEGIN'}}]",
			`/k: cluster "a": certificate-authority-data: is not valid base64: encode the content of the file with base64`,
		},
		{
			"a number in place of base64", "users: [{name: a, user: {client-key-data: 12}}]",
			`/k: user "a": client-key-data: want a string in base64, got a number`,
		},
		{
			"a string in place of a list", "users: [{name: a, user: {as-groups: b}}]",
			`/k: user "a": as-groups: want a list of strings, got a string`,
		},
		{
			"a string in place of a list in a mapping", "users: [{name: a, user: {as-user-extra: {b: c}}}]",
			`/k: user "a": as-user-extra."b": want a list of strings, got a string`,
		},
		{
			"a number in a nested stanza", "users: [{name: a, user: {exec: {env: [{name: B, value: 1}]}}}]",
			`/k: user "a": exec.env."B".value: want a string, got a number: put it in quotes`,
		},
		{
			"numbers in a list of strings", "users: [{name: a, user: {exec: {args: [a, 1, true]}}}]",
			`/k: user "a": exec.args.number 2: want a string, got a number: put it in quotes` + "\n" +
				`/k: user "a": exec.args.number 3: want a string, got a boolean: put it in quotes`,
		},
		{
			"a number in a list of strings in a mapping", "users: [{name: a, user: {as-user-extra: {b: [1]}}}]",
			`/k: user "a": as-user-extra."b".number 1: want a string, got a number: put it in quotes`,
		},
		{
			"a number in a mapping of strings", "users: [{name: a, user: {auth-provider: {config: {expiry: 1}}}}]",
			`/k: user "a": auth-provider.config."expiry": want a string, got a number: put it in quotes`,
		},
		{"another kind", "kind: Pod\napiVersion: v1\n", `/k: kind: is "Pod", want "Config"`},
		{"another version", "apiVersion: v2\n", `/k: apiVersion: is "v2", want "v1"`},
		{
			"several mistakes at once",
			"current-context: 1\nclusters: [{name: a, cluster: {server: 2, proxy-url: 3}}]\ncontexts: 4\n",
			"/k: cluster \"a\": server: want a string, got a number: put it in quotes\n" +
				"/k: cluster \"a\": proxy-url: want a string, got a number: put it in quotes\n" +
				"/k: contexts: want a list, got a number\n" +
				"/k: current-context: want a string, got a number: put it in quotes",
		},
		{
			"duplicate names",
			"clusters: [{name: a}, {name: b}, {name: a}, {name: a}]\nusers: [{name: ''}, {name: ''}]\n" +
				"contexts: [{name: c, context: {extensions: [{name: x}, {name: x}]}}, {name: c}]\n" +
				"extensions: [{name: x}, {name: x}]\n",
			"/k: clusters: duplicate name \"a\": rename or remove one\n" +
				"/k: users: duplicate name \"\": rename or remove one\n" +
				"/k: contexts: duplicate name \"c\": rename or remove one\n" +
				"/k: extensions: duplicate name \"x\": rename or remove one\n" +
				"/k: context \"c\": extensions: duplicate name \"x\": rename or remove one",
		},
		{
			"duplicate extensions in stanzas",
			"clusters: [{name: a, cluster: {extensions: [{name: x}, {name: x}]}}]\n" +
				"users: [{name: a, user: {extensions: [{name: x}, {name: x}]}}]\n",
			"/k: cluster \"a\": extensions: duplicate name \"x\": rename or remove one\n" +
				"/k: user \"a\": extensions: duplicate name \"x\": rename or remove one",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			kc, err := config.Parse([]byte(test.in), "/k")
			if kc != nil {
				t.Errorf("Parse(%q) = %v, want nil", test.in, kc)
			}
			checkError(t, err, test.want)
			if _, ok := errors.AsType[*config.FieldError](err); !ok {
				t.Errorf("%v is not a FieldError", err)
			}
		})
	}
}

func TestParseNamesTheInputWithoutAFile(t *testing.T) {
	_, err := config.Parse([]byte("a: b: c"), "")
	checkError(t, err, "kubeconfig:1: mapping values are not allowed in this context")
}

// TestParseRejectsBombs checks that data that expands without limit, or nests too deeply, is rejected quickly.
func TestParseRejectsBombs(t *testing.T) {
	var aliases, merges strings.Builder
	aliases.WriteString("a0: &a0 [x]\n")
	merges.WriteString("a0: &a0 {x: 1}\n")
	for n := range 30 {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s*a%d]\n", n+1, n+1, strings.Repeat(fmt.Sprintf("*a%d, ", n), 9), n)
		fmt.Fprintf(&merges, "a%d: &a%d {<<: [*a%d, *a%d]}\n", n+1, n+1, n, n)
	}
	deep := func(open, end string) string { return "x: " + strings.Repeat(open, 20000) + strings.Repeat(end, 20000) }
	for name, text := range map[string]string{
		"aliases of aliases": aliases.String(), "merges of merges": merges.String(),
		"an anchor within its own mapping": "a: &a {b: *a}", "an anchor within its own list": "a: &a [*a]",
		"a merge of a mapping into itself": "a: &a\n  <<: *a\n",
		"deep lists":                       deep("[", "]"),
		"deep mappings":                    deep("{a: ", "}"),
		"unterminated lists":               strings.Repeat("[", 1<<20),
		"deep JSON":                        `{"x":` + deep("[", "]")[3:] + "}",
	} {
		start := time.Now()
		_, err := config.Parse([]byte(text), "FILE")
		if err == nil || !strings.HasPrefix(err.Error(), "FILE") || time.Since(start) > time.Minute {
			t.Errorf("%s: %v after %v", name, err, time.Since(start))
		}
	}
}
