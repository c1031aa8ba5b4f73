// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-go/sdk/client/config"
)

// kubeconfigCase is a set of files and the way to load them.
type kubeconfigCase struct {
	name  string
	files map[string]string // with the placeholders $DIR, $CERT, $KEY, $OLDCERT and $OLDKEY
	env   string            // KUBECONFIG, relative to the folder, with colons; empty: home/.kube/config is used
	path  string            // the one file to load

	options      func(*config.Options)
	theirOptions func(*clientcmd.ConfigOverrides)

	fails    string // part of our error; without a difference, theirs is an error, too
	because  string // the reason of a difference
	theyFail bool
	adjust   func(theirs *outcome) // changes their outcome to ours
}

// simple is a kubeconfig with one context.
func simple(cluster, user string) string {
	return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
}

const server = "server: 'https://k:6443'"

// one returns a case with one file in the home folder.
func one(name, cluster, user string) kubeconfigCase {
	return kubeconfigCase{name: name, files: map[string]string{"home/.kube/config": simple(cluster, user)}}
}

func loadingCases() []kubeconfigCase {
	file := func(name string) string {
		return "current-context: " + name + "\ncontexts: [{name: " + name + ", context: {cluster: " + name + ", namespace: in-" + name + "}}]\n" +
			"clusters: [{name: " + name + ", cluster: {server: 'https://" + name + "'}}]\n"
	}
	return []kubeconfigCase{
		{name: "the file in the home folder", files: map[string]string{"home/.kube/config": file("home")}},
		{name: "KUBECONFIG hides the home folder", files: map[string]string{"home/.kube/config": file("home"), "a": file("a")}, env: "a"},
		{name: "the first file of a list takes precedence", files: map[string]string{"a": file("a"), "b": file("b")}, env: "a:b"},
		{name: "the first existing file of a list takes precedence", files: map[string]string{"b": file("b")}, env: "a:b"},
		{name: "a list with a duplicate file and gaps", files: map[string]string{"a": file("a"), "b": file("b")}, env: "::b:a:b:"},
		{name: "a path hides all others", files: map[string]string{"home/.kube/config": file("home"), "a": file("a"), "b": file("b")}, env: "a", path: "b"},
		{name: "a path of a missing file", files: map[string]string{"home/.kube/config": file("home")}, path: "b", fails: "does not exist"},
		{name: "no file at all", fails: "no kubeconfig found"},
		{
			name: "a list of missing files", files: map[string]string{"home/.kube/config": file("home")}, env: "a:b",
			fails: "no such file exists",
		},
		{name: "an empty file", files: map[string]string{"home/.kube/config": ""}, fails: "no kubeconfig found"},
		{name: "an empty file before another", files: map[string]string{"a": "", "b": file("b")}, env: "a:b"},
		{name: "no kubeconfig, by /dev/null", env: "/dev/null", fails: "no kubeconfig found"},
		{name: "a broken file in a list", files: map[string]string{"a": "clusters: {", "b": file("b")}, env: "a:b", fails: "a:1: "},
		{
			name:  "JSON",
			files: map[string]string{"home/.kube/config": `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k"}}],"clusters":[{"name":"k","cluster":{"server":"https://k"}}]}`},
		},
		{name: "a byte order mark", files: map[string]string{"home/.kube/config": "\ufeff" + file("home")}},
		{name: "line breaks of Windows", files: map[string]string{"home/.kube/config": "current-context: c\r\ncontexts:\r\n- name: c\r\n  context: {cluster: k}\r\nclusters:\r\n- name: k\r\n  cluster: {server: 'https://k'}\r\n"}},
		{
			name:  "anchors",
			files: map[string]string{"home/.kube/config": "current-context: c\ncontexts: [{name: c, context: &x {cluster: k}}, {name: d, context: *x}]\nclusters: [{name: k, cluster: {server: 'https://k'}}]\n"},
		},
		{name: "another kind", files: map[string]string{"home/.kube/config": "kind: Pod\napiVersion: v1\n" + file("home")}, fails: `kind: is "Pod"`},
		{name: "another version", files: map[string]string{"home/.kube/config": "kind: Config\napiVersion: v2\n" + file("home")}, fails: `apiVersion: is "v2"`},
		{
			name: "unknown fields", files: map[string]string{"home/.kube/config": "future: {a: 1}\n" + simple(server+", more: [1]", "token: abc, less: true")},
		},
		{
			name: "extensions", files: map[string]string{"home/.kube/config": "extensions: [{name: a, extension: {b: 1}}]\n" +
				simple(server+", extensions: [{name: x, extension: {y: 1}}]", "token: abc, extensions: [{name: x, extension: text}]")},
		},
		{
			name: "a second document", files: map[string]string{"home/.kube/config": file("home") + "---\nusers: [{name: u, user: {token: abc}}]\n"},
			options:      func(o *config.Options) { o.User = "u" },
			theirOptions: func(o *clientcmd.ConfigOverrides) { o.Context.AuthInfo = "u" },
			because:      "client-go ignores all but the first document, although a user who writes two means both", theyFail: true,
		},
	}
}

func mergingCases() []kubeconfigCase {
	const first = "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
	return []kubeconfigCase{
		{
			name: "stanzas from three files", env: "x/a:y/b:z/c",
			files: map[string]string{
				"x/a": first, "y/b": "clusters: [{name: k, cluster: {server: 'https://k', certificate-authority: ca.crt}}]\n", "y/ca.crt": "$PEM",
				"z/c": "users: [{name: u, user: {tokenFile: ../tokens/t}}]\n", "tokens/t": "abc\n",
			},
		},
		{
			name: "a stanza is taken whole", env: "a:b",
			files: map[string]string{
				"a": first + "clusters: [{name: k, cluster: {server: 'https://a'}}]\nusers: [{name: u, user: {username: ann}}]\n",
				"b": "clusters: [{name: k, cluster: {server: 'https://b', insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: {password: x, token: abc}}]\n",
			},
		},
		{
			name: "the current context of a later file", env: "a:b",
			files: map[string]string{
				"a": "contexts: [{name: c, context: {cluster: k}}]\n",
				"b": "current-context: c\nclusters: [{name: k, cluster: {server: 'https://b'}}]\n",
			},
		},
		{
			name: "a current context that another file hides", env: "a:b",
			files: map[string]string{"a": "current-context: d\n", "b": simple(server, "token: abc")}, fails: `context "d" does not exist`,
		},
		{
			name: "relative paths of each kind", files: map[string]string{
				"home/.kube/config": simple(server+", certificate-authority: ca.crt", "client-certificate: certs/me.crt, client-key: ./certs/me.key"),
				"home/.kube/ca.crt": "$PEM", "home/.kube/certs/me.crt": "$PEM", "home/.kube/certs/me.key": "$PEMKEY",
			},
		},
		{
			name: "absolute paths", files: map[string]string{
				"home/.kube/config": simple(server+", certificate-authority: $DIR/ca.crt", "tokenFile: $DIR/token"), "ca.crt": "$PEM", "token": "abc",
			},
		},
		one("a plugin in PATH", server, "exec: {command: login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
		one("a plugin beside the kubeconfig", server, "exec: {command: ./login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
		one("a plugin in a folder beside the kubeconfig", server, "exec: {command: bin/login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
		one("a plugin with an absolute path", server, "exec: {command: /bin/login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
	}
}

func userCases() []kubeconfigCase {
	const exec = "command: login, apiVersion: client.authentication.k8s.io/v1"
	return []kubeconfigCase{
		{name: "no credentials", files: map[string]string{"home/.kube/config": "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {" + server + "}}]\n"}},
		one("a token", server, "token: abc"),
		{name: "a token file", files: map[string]string{"home/.kube/config": simple(server, "tokenFile: t"), "home/.kube/t": " abc\n"}},
		{name: "a token and its file", files: map[string]string{"home/.kube/config": simple(server, "token: first, tokenFile: t"), "home/.kube/t": "abc"}},
		{name: "a missing token file", files: map[string]string{"home/.kube/config": simple(server, "tokenFile: t")}, fails: "tokenFile: file "},
		{
			name: "an empty token file", files: map[string]string{"home/.kube/config": simple(server, "tokenFile: t"), "home/.kube/t": "\n"},
			because: "client-go fails only at the first request, with less detail", fails: "tokenFile: the file",
		},
		one("a password", server, "username: ann, password: 'a:b c'"),
		one("a password without a name", server, "password: x"),
		{
			name: "a certificate", files: map[string]string{"home/.kube/config": simple(server, "client-certificate-data: $CERT, client-key-data: $KEY")},
		},
		{
			name: "a certificate and a token", files: map[string]string{"home/.kube/config": simple(server, "client-certificate-data: $CERT, client-key-data: $KEY, token: abc")},
		},
		{
			name: "an expired certificate", files: map[string]string{"home/.kube/config": simple(server, "client-certificate-data: $OLDCERT, client-key-data: $OLDKEY")},
			because: "the server rejects it without a reason", fails: "expired",
		},
		{
			name: "an expired certificate and a token", files: map[string]string{"home/.kube/config": simple(server, "client-certificate-data: $OLDCERT, client-key-data: $OLDKEY, token: abc")},
		},
		{
			name: "a user without a name, and a context without a user", files: map[string]string{
				"home/.kube/config": "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n" +
					"clusters: [{name: k, cluster: {" + server + "}}]\nusers: [{name: '', user: {token: abc}}]\n",
			},
		},
		one("impersonation", server, "token: abc, as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {reason: [p, q]}"),
		one("impersonation over http", "server: 'http://localhost:8001'", "token: abc, as: jane, as-groups: [a]"),
		one("a plugin", server, "exec: {"+exec+", interactiveMode: IfAvailable, args: [a, b], env: [{name: A, value: b}, {name: C, value: ''}]}"),
		one("a plugin that requests the cluster", server+", extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x, n: 1}}]",
			"exec: {"+exec+", interactiveMode: Always, provideClusterInfo: true}"),
		one("a plugin of the older version", server, "exec: {command: login, apiVersion: client.authentication.k8s.io/v1beta1}"),
		one("a plugin with a hint", server, "exec: {"+exec+", interactiveMode: Never, installHint: 'run: brew install it'}"),
		{
			name:    "a plugin with a hint with control characters",
			files:   map[string]string{"home/.kube/config": simple(server, "exec: {"+exec+`, interactiveMode: Never, installHint: "\e[1mrun"}`)},
			because: "client-go prints the codes of control characters (U+001B), ours removes them",
			adjust:  func(theirs *outcome) { theirs.Exec.Hint = "[1mrun" },
		},
		one("a plugin and a token", server, "token: abc, exec: {"+exec+", interactiveMode: Never}"),
		one("an OpenID Connect provider", server, "auth-provider: {name: oidc, config: {client-id: x, idp-issuer-url: 'https://idp', id-token: t}}"),
		{
			name: "the provider gcp", files: map[string]string{"home/.kube/config": simple(server, "auth-provider: {name: gcp}")},
			because: "client-go fails only when it creates a transport", fails: "gke-gcloud-auth-plugin",
		},
		{
			name: "the provider azure", files: map[string]string{"home/.kube/config": simple(server, "auth-provider: {name: azure}")},
			because: "client-go fails only when it creates a transport", fails: "kubelogin",
		},
		{
			name: "a token of two lines", files: map[string]string{"home/.kube/config": simple(server, `token: "a\nb"`)},
			because: "client-go fails only at the first request", fails: "token: contains spaces or line breaks",
		},
	}
}

func clusterCases() []kubeconfigCase {
	return []kubeconfigCase{
		one("a server with a path", "server: 'https://k/a/b/'", "token: abc"),
		one("a server with a query", "server: 'https://k/a?b=c#d'", "token: abc"),
		one("a server without a scheme", "server: 'k:8080'", "token: abc"),
		{
			name:    "a server without a scheme, with an option of TLS",
			files:   map[string]string{"home/.kube/config": simple("server: 'k:8443', insecure-skip-tls-verify: true", "token: abc")},
			because: "client-go decides from the address only: it uses http, and sends no credentials",
			adjust: func(theirs *outcome) {
				theirs.Host, theirs.Insecure, theirs.Token = "https://k:8443", true, "abc"
			},
		},
		{
			name:    "a server without a scheme, and an authority",
			files:   map[string]string{"home/.kube/config": simple("server: 'k:8443', certificate-authority-data: $CERT", "token: abc")},
			because: "client-go decides from the address only: it uses http, and sends no credentials",
			adjust: func(theirs *outcome) {
				theirs.Host, theirs.CA, theirs.Token = "https://k:8443", string(validPair().cert), "abc"
			},
		},
		{
			name:    "a server without a scheme, and a client certificate",
			files:   map[string]string{"home/.kube/config": simple("server: 'k:8443'", "client-certificate-data: $CERT, client-key-data: $KEY")},
			because: "client-go decides from the address only: it uses http, and sends no credentials",
			adjust: func(theirs *outcome) {
				theirs.Host, theirs.Cert, theirs.Key = "https://k:8443", string(validPair().cert), string(validPair().key)
			},
		},
		one("an IPv6 address", "server: 'https://[::1]:6443'", "token: abc"),
		one("plain http", "server: 'http://localhost:8001'", "token: abc"),
		one("no verification", server+", insecure-skip-tls-verify: true", "token: abc"),
		{name: "an authority", files: map[string]string{"home/.kube/config": simple(server+", certificate-authority-data: $CERT", "token: abc")}},
		one("a name for TLS", server+", tls-server-name: other", "token: abc"),
		one("a proxy", server+", proxy-url: 'http://proxy:3128'", "token: abc"),
		one("a proxy with TLS and a password", server+", proxy-url: 'https://ann:x@proxy'", "token: abc"),
		one("a SOCKS5 proxy", server+", proxy-url: 'socks5://proxy:1080'", "token: abc"),
		one("no compression", server+", disable-compression: true", "token: abc"),
		{
			name: "a namespace", files: map[string]string{"home/.kube/config": "current-context: c\ncontexts: [{name: c, context: {cluster: k, namespace: shop}}]\nclusters: [{name: k, cluster: {" + server + "}}]\n"},
		},
	}
}

func overrideCases() []kubeconfigCase {
	const two = "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u, namespace: shop}}\n- {name: d, context: {cluster: l, user: v}}\n" +
		"clusters:\n- {name: k, cluster: {server: 'https://k', tls-server-name: kube, insecure-skip-tls-verify: true}}\n- {name: l, cluster: {server: 'https://l'}}\n" +
		"users:\n- {name: u, user: {token: abc}}\n- {name: v, user: {username: ann, password: x}}\n"
	with := func(name string, ours func(*config.Options), theirs func(*clientcmd.ConfigOverrides)) kubeconfigCase {
		return kubeconfigCase{
			name: name, files: map[string]string{"home/.kube/config": two, "ca.crt": "$PEM"}, options: ours, theirOptions: theirs,
		}
	}
	override := func(name string, c config.Config, theirs func(*clientcmd.ConfigOverrides)) kubeconfigCase {
		return with(name, func(o *config.Options) { o.Override = &c }, theirs)
	}
	failing := func(tc kubeconfigCase, fails string) kubeconfigCase {
		tc.fails = fails
		return tc
	}
	theyFail := func(tc kubeconfigCase, because string) kubeconfigCase {
		tc.because, tc.theyFail = because, true
		return tc
	}
	return []kubeconfigCase{
		with("another context", func(o *config.Options) { o.Context = "d" }, func(o *clientcmd.ConfigOverrides) { o.CurrentContext = "d" }),
		with("another cluster", func(o *config.Options) { o.Cluster = "l" }, func(o *clientcmd.ConfigOverrides) { o.Context.Cluster = "l" }),
		with("another user", func(o *config.Options) { o.User = "v" }, func(o *clientcmd.ConfigOverrides) { o.Context.AuthInfo = "v" }),
		with("another namespace", func(o *config.Options) { o.Namespace = "x" }, func(o *clientcmd.ConfigOverrides) { o.Context.Namespace = "x" }),
		failing(with("a context that does not exist", func(o *config.Options) { o.Context = "e" }, func(o *clientcmd.ConfigOverrides) { o.CurrentContext = "e" }),
			`context "e" does not exist: did you mean "c"?`),
		failing(with("a cluster that does not exist", func(o *config.Options) { o.Cluster = "m" }, func(o *clientcmd.ConfigOverrides) { o.Context.Cluster = "m" }),
			`cluster "m" does not exist`),
		failing(with("a missing user", func(o *config.Options) { o.User = "w" }, func(o *clientcmd.ConfigOverrides) { o.Context.AuthInfo = "w" }),
			`user "w" does not exist`),
		override("another server loses the name for TLS", config.Config{Server: "https://z"},
			func(o *clientcmd.ConfigOverrides) { o.ClusterInfo.Server = "https://z" }),
		override("another server with a name for TLS", config.Config{Server: "https://z", TLSServerName: "y"},
			func(o *clientcmd.ConfigOverrides) {
				o.ClusterInfo.Server, o.ClusterInfo.TLSServerName = "https://z", "y"
			}),
		override("another proxy", config.Config{ProxyURL: "http://p"}, func(o *clientcmd.ConfigOverrides) { o.ClusterInfo.ProxyURL = "http://p" }),
		override("another token", config.Config{BearerToken: "xyz"}, func(o *clientcmd.ConfigOverrides) { o.AuthInfo.Token = "xyz" }),
		override("impersonation", config.Config{Impersonate: config.Impersonation{User: "jane", Groups: []string{"a"}}},
			func(o *clientcmd.ConfigOverrides) {
				o.AuthInfo.Impersonate, o.AuthInfo.ImpersonateGroups = "jane", []string{"a"}
			}),
		theyFail(override("a password for a user with a token", config.Config{Username: "bob", Password: "y"},
			func(o *clientcmd.ConfigOverrides) { o.AuthInfo.Username, o.AuthInfo.Password = "bob", "y" }),
			"credentials of one kind replace those of another, as in kubectl"),
		{
			name: "no file, and a server", options: func(o *config.Options) { o.Override = &config.Config{Server: "https://z"} },
			theirOptions: func(o *clientcmd.ConfigOverrides) { o.ClusterInfo.Server = "https://z" },
		},
	}
}

func mistakeCases() []kubeconfigCase {
	fails := func(name, want, cluster, user string) kubeconfigCase {
		tc := one(name, cluster, user)
		tc.fails = want
		return tc
	}
	file := func(name, want, text string) kubeconfigCase {
		return kubeconfigCase{name: name, files: map[string]string{"home/.kube/config": text}, fails: want}
	}
	strict := func(tc kubeconfigCase, because string) kubeconfigCase {
		tc.because = because
		return tc
	}
	const (
		exec   = "command: login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"
		silent = "client-go ignores it"
		later  = "client-go fails only at the first request"
	)
	return []kubeconfigCase{
		file("a duplicate cluster", `clusters: duplicate name "k"`,
			"current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {"+server+"}}, {name: k, cluster: {"+server+"}}]\n"),
		file("a duplicate user", `users: duplicate name "u"`, "users: [{name: u}, {name: u}]\n"),
		strict(file("a duplicate key", "in line 4 already", simple(server, "token: abc, token: xyz")), "client-go uses the last one"),
		file("no current context", "current-context: is missing", "contexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {"+server+"}}]\n"),
		file("a context that does not exist", `context "d" does not exist`, "current-context: d\n"),
		file("a cluster that does not exist", `cluster "x" does not exist`, "current-context: c\ncontexts: [{name: c, context: {cluster: x}}]\n"),
		strict(file("a missing user", `user "x" does not exist`,
			"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: x}}]\nclusters: [{name: k, cluster: {"+server+"}}]\n"),
			"client-go then sends no credentials"),
		fails("no server", "server: is missing", "tls-server-name: x", "token: abc"),
		strict(fails("an invalid server", "is not an https or http URL", "server: 'ftp://k'", "token: abc"), later),
		fails("an invalid proxy", "proxy-url", server+", proxy-url: 'ftp://p'", "token: abc"),
		strict(fails("an authority, and no verification", "conflicts with a certificate authority", server+", insecure-skip-tls-verify: true, certificate-authority-data: $CERT", "token: abc"), later),
		fails("a missing authority file", "certificate-authority: file ", server+", certificate-authority: ca.crt", "token: abc"),
		strict(fails("an authority that is not a certificate", "contains no certificate", server+", certificate-authority-data: YWJj", "token: abc"), later),
		fails("an authority that is not base64", "is not valid base64", server+", certificate-authority-data: '?'", "token: abc"),
		fails("a certificate as file and as data", "client-certificate: conflicts with client-certificate-data", server,
			"client-certificate: a, client-certificate-data: $CERT, client-key-data: $KEY"),
		fails("a certificate without its key", "client-key: is missing", server, "client-certificate-data: $CERT"),
		strict(fails("a key without its certificate", "client-certificate: is missing", server, "client-key-data: $KEY"), silent),
		strict(fails("a certificate with the key of another", "cannot be used with its key", server, "client-certificate-data: $CERT, client-key-data: $OLDKEY"), later),
		fails("a token and a password", "username: conflicts with a token", server, "token: abc, username: ann, password: x"),
		fails("groups without a user", "as: is missing", server, "token: abc, as-groups: [a]"),
		fails("a plugin without a command", "exec.command: is missing", server, "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
		fails("a plugin without a version", "exec.apiVersion: is missing", server, "exec: {command: login, interactiveMode: Never}"),
		strict(fails("a plugin of an unknown version", `exec.apiVersion: "client.authentication.k8s.io/v1alpha1" is not supported`, server,
			"exec: {command: login, apiVersion: client.authentication.k8s.io/v1alpha1, interactiveMode: Never}"), later),
		fails("a plugin without a mode", "exec.interactiveMode: is missing", server, "exec: {command: login, apiVersion: client.authentication.k8s.io/v1}"),
		fails("a plugin of an unknown mode", `exec.interactiveMode: "Often" is not a valid mode`, server,
			"exec: {command: login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Often}"),
		fails("a variable without a name", "exec.env: the name of variable 1 is missing", server, "exec: {"+exec+", env: [{value: a}]}"),
		fails("a plugin and a provider", "exec: conflicts with auth-provider", server, "exec: {"+exec+"}, auth-provider: {name: oidc}"),
		strict(fails("an unknown provider", `"ldap" is not supported`, server, "auth-provider: {name: ldap}"), later),
		strict(fails("a misspelled field", `Token: is not a known field: write "token"`, server, "Token: abc"), silent),
		strict(fails("a placeholder", "is the placeholder", server, "token: REDACTED"), later),
		fails("a number among the arguments of a plugin", `exec.args.number 1: want a string, got a number: put it in quotes`, server,
			"exec: {"+exec+", args: [1]}"),
		fails("a field of the wrong type", "insecure-skip-tls-verify: want a boolean", server+", insecure-skip-tls-verify: 'yes'", "token: abc"),
	}
}
