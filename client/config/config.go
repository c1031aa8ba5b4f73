// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import "encoding/json"

// Config says where one API server is and how to prove who one is.
//
// It is a plain value: [Load], [InCluster] and [Kubeconfig.Config] make one, and so can you. Copies share the slices,
// maps and pointers in it, so replace those and do not change what they hold; then a Config is safe for concurrent use.
// Printing a Config in any way shows no secret. The tags are the names of the fields in a kubeconfig.
type Config struct {
	// Server is the URL of the API server, with a path when the API is served below one: https://host:6443/prefix.
	Server string `wire:"server"`
	// Namespace is the namespace to use where none is given. Loading always fills it in, with "default" at last.
	Namespace string `wire:"namespace"`

	// TLSServerName is the name to ask for and to verify in the server's certificate. Default: the host of Server.
	TLSServerName string `wire:"tls-server-name"`
	// InsecureSkipTLSVerify accepts any server certificate. It excludes CAFile and CAData.
	InsecureSkipTLSVerify bool `wire:"insecure-skip-tls-verify"`
	// CAFile names a file of PEM certificates that the server's certificate must lead to, instead of the system's.
	// The file may change while it is in use.
	CAFile string `wire:"certificate-authority"`
	// CAData is what CAFile would hold. Give one of the two.
	CAData []byte `wire:"certificate-authority-data"`

	// ClientCertFile names the PEM certificate to present. The file may change while it is in use.
	ClientCertFile string `wire:"client-certificate"`
	// ClientCertData is what ClientCertFile would hold. Give one of the two.
	ClientCertData []byte `wire:"client-certificate-data"`
	// ClientKeyFile names the PEM private key of the client certificate. The file may change while it is in use.
	ClientKeyFile string `wire:"client-key"`
	// ClientKeyData is what ClientKeyFile would hold. Give one of the two.
	ClientKeyData Secret `wire:"client-key-data"`

	// BearerToken is sent with each request. With BearerTokenFile it is the token to begin with.
	BearerToken Secret `wire:"token"`
	// BearerTokenFile names the file that holds the token. The file changes while it is in use: read it again.
	BearerTokenFile string `wire:"tokenFile"`
	// Username and Password are for HTTP basic authentication; they exclude a bearer token.
	Username string `wire:"username"`
	Password Secret `wire:"password"`
	// Exec is the plugin to run for credentials. It is not to be run when there is a token, a password or a client
	// certificate.
	Exec *ExecConfig `wire:"exec"`
	// AuthProvider names a credential plugin of the kind that was compiled into clients.
	AuthProvider *AuthProvider `wire:"auth-provider"`
	// Impersonate asks the server to act as someone else.
	Impersonate Impersonation `wire:"as"`

	// ProxyURL is the proxy to reach the server through: http, https or socks5. Default: what the standard environment
	// variables say (HTTPS_PROXY, NO_PROXY and so on).
	ProxyURL string `wire:"proxy-url"`
	// DisableCompression stops asking the server for compressed answers.
	DisableCompression bool `wire:"disable-compression"`

	// Source says where the configuration came from, for error messages: `context "prod" of /home/ann/.kube/config`.
	Source string
}

// Impersonation is whom to act as. The zero value impersonates nobody.
type Impersonation struct {
	// User is the name to act as. The other fields need it.
	User string
	// UID is the unique id of User.
	UID string
	// Groups are the groups to be in.
	Groups []string
	// Extra holds further attributes of the user.
	Extra map[string][]string
}

func (i Impersonation) isZero() bool {
	return i.User == "" && i.UID == "" && len(i.Groups) == 0 && len(i.Extra) == 0
}

// InteractiveMode says whether an exec plugin may use standard input.
type InteractiveMode string

// The modes of https://kubernetes.io/docs/reference/config-api/client-authentication.v1/.
const (
	// InteractiveNever is for plugins that never read standard input.
	InteractiveNever InteractiveMode = "Never"
	// InteractiveIfAvailable is for plugins that read standard input when it is a terminal.
	InteractiveIfAvailable InteractiveMode = "IfAvailable"
	// InteractiveAlways is for plugins that cannot work without a terminal.
	InteractiveAlways InteractiveMode = "Always"
)

// The versions of the protocol that exec plugins speak.
const (
	// ExecV1 is the stable version.
	ExecV1 = "client.authentication.k8s.io/v1"
	// ExecV1Beta1 is the version before it; it does not require an [InteractiveMode].
	ExecV1Beta1 = "client.authentication.k8s.io/v1beta1"
)

// execExtension is the name of the cluster extension that is meant for exec plugins.
const execExtension = "client.authentication.k8s.io/exec"

// ExecConfig is a program that prints credentials:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.
type ExecConfig struct {
	// Command is the program. Without a path separator it is looked up in PATH.
	Command string `wire:"command"`
	// Args are its arguments.
	Args []string `wire:"args"`
	// Env is set in addition to the environment of this process.
	Env []EnvVar `wire:"env"`
	// APIVersion is [ExecV1] or [ExecV1Beta1].
	APIVersion string `wire:"apiVersion"`
	// InstallHint is what to tell a person when Command is not found. Loading removes control characters.
	InstallHint string `wire:"installHint"`
	// ProvideClusterInfo asks to tell the plugin about the server and ClusterConfig.
	ProvideClusterInfo bool `wire:"provideClusterInfo"`
	// InteractiveMode is required in [ExecV1] and defaults to [InteractiveIfAvailable] in [ExecV1Beta1].
	InteractiveMode InteractiveMode `wire:"interactiveMode"`
	// ClusterConfig is the cluster's extension client.authentication.k8s.io/exec, as JSON. Filled in by loading.
	ClusterConfig json.RawMessage
	// Unknown holds the fields of a kubeconfig that this package does not know. Emptied by loading.
	Unknown Unknown
}

// EnvVar is a variable in the environment of an exec plugin.
type EnvVar struct {
	Name    string `wire:"name"`
	Value   Secret `wire:"value"`
	Unknown Unknown
}

// AuthProvider is the auth-provider of a kubeconfig user: the name of a plugin and its settings, tokens among them.
type AuthProvider struct {
	Name    string            `wire:"name"`
	Config  map[string]Secret `wire:"config"`
	Unknown Unknown
	// File and User say which user of which kubeconfig this came from, for those that have new tokens to write there.
	// Filled in by loading.
	File, User string
}
