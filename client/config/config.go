// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import "encoding/json"

// Config describes how to connect to one API server: its address, and the credentials to present.
//
// It is a plain value: [Load], [InCluster] and [Kubeconfig.Config] return one, and a program can build its own. Copies
// share its slices, maps and pointers: replace them instead of changing their contents. A Config that is used this way
// is safe for concurrent use. No way of printing a Config shows a secret. The tags are the names of the fields in a
// kubeconfig.
type Config struct {
	// Server is the URL of the API server, including a path if the API is served below one: https://host:6443/prefix.
	Server string `wire:"server"`
	// Namespace is the namespace to use when a request names none. Loading always sets it, to "default" if nothing else
	// does.
	Namespace string `wire:"namespace"`

	// TLSServerName is the name to request with SNI and to verify in the server's certificate. Default: the host of
	// Server.
	TLSServerName string `wire:"tls-server-name"`
	// InsecureSkipTLSVerify accepts any server certificate. It cannot be combined with CAFile or CAData.
	InsecureSkipTLSVerify bool `wire:"insecure-skip-tls-verify"`
	// CAFile is a file of PEM certificates. The server's certificate must be signed by one of them instead of by one of
	// the system's. The file may change while it is in use.
	CAFile string `wire:"certificate-authority"`
	// CAData is the content of CAFile. Set at most one of the two.
	CAData []byte `wire:"certificate-authority-data"`

	// ClientCertFile is the file of the PEM certificate to present. The file may change while it is in use.
	ClientCertFile string `wire:"client-certificate"`
	// ClientCertData is the content of ClientCertFile. Set at most one of the two.
	ClientCertData []byte `wire:"client-certificate-data"`
	// ClientKeyFile is the file of the PEM private key of the client certificate. The file may change while it is in use.
	ClientKeyFile string `wire:"client-key"`
	// ClientKeyData is the content of ClientKeyFile. Set at most one of the two.
	ClientKeyData Secret `wire:"client-key-data"`

	// BearerToken is sent with each request. If BearerTokenFile is set too, BearerToken is the initial token.
	BearerToken Secret `wire:"token"`
	// BearerTokenFile is the file that contains the token. The file changes while it is in use: clients read it again.
	BearerTokenFile string `wire:"tokenFile"`
	// Username and Password are used for HTTP basic authentication. They cannot be combined with a bearer token.
	Username string `wire:"username"`
	Password Secret `wire:"password"`
	// Exec is the plugin to run for credentials. Clients do not run it if a token, a password or a client certificate is
	// set.
	Exec *ExecConfig `wire:"exec"`
	// AuthProvider is a credential plugin of the kind that used to be compiled into clients.
	AuthProvider *AuthProvider `wire:"auth-provider"`
	// Impersonate asks the server to treat requests as those of another user.
	Impersonate Impersonation `wire:"as"`

	// ProxyURL is the proxy to connect through: http, https or socks5. Default: the proxy that the standard environment
	// variables (HTTPS_PROXY, NO_PROXY and so on) specify.
	ProxyURL string `wire:"proxy-url"`
	// DisableCompression stops asking the server for compressed responses.
	DisableCompression bool `wire:"disable-compression"`

	// Source describes where the configuration came from, for error messages: `context "prod" of /home/ann/.kube/config`.
	Source string
}

// Impersonation describes the user to impersonate. The zero value impersonates nobody.
type Impersonation struct {
	// User is the name of the user. It is required if another field is set.
	User string
	// UID is the unique ID of the user.
	UID string
	// Groups are the groups of the user.
	Groups []string
	// Extra contains further attributes of the user.
	Extra map[string][]string
}

func (i Impersonation) isZero() bool {
	return i.User == "" && i.UID == "" && len(i.Groups) == 0 && len(i.Extra) == 0
}

// InteractiveMode specifies whether an exec plugin may use standard input.
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

// The versions of the protocol of exec plugins.
const (
	// ExecV1 is the stable version.
	ExecV1 = "client.authentication.k8s.io/v1"
	// ExecV1Beta1 is the previous version. It does not require an [InteractiveMode].
	ExecV1Beta1 = "client.authentication.k8s.io/v1beta1"
)

// execExtension is the name of the cluster extension that is passed to exec plugins.
const execExtension = "client.authentication.k8s.io/exec"

// ExecConfig describes a program that prints credentials:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.
type ExecConfig struct {
	// Command is the program. If it contains no path separator, it is looked up in PATH.
	Command string `wire:"command"`
	// Args are the arguments of the program.
	Args []string `wire:"args"`
	// Env is set in addition to the environment of the current process.
	Env []EnvVar `wire:"env"`
	// APIVersion is [ExecV1] or [ExecV1Beta1].
	APIVersion string `wire:"apiVersion"`
	// InstallHint is the message to show if Command is not found. Loading removes its control characters.
	InstallHint string `wire:"installHint"`
	// ProvideClusterInfo asks for the server and ClusterConfig to be passed to the plugin.
	ProvideClusterInfo bool `wire:"provideClusterInfo"`
	// InteractiveMode is required in [ExecV1] and defaults to [InteractiveIfAvailable] in [ExecV1Beta1].
	InteractiveMode InteractiveMode `wire:"interactiveMode"`
	// ClusterConfig is the cluster's extension client.authentication.k8s.io/exec, as JSON. Loading sets it.
	ClusterConfig json.RawMessage
	// Unknown contains the fields of a kubeconfig that this package does not know. Loading clears it.
	Unknown Unknown
}

// EnvVar is a variable in the environment of an exec plugin.
type EnvVar struct {
	Name    string `wire:"name"`
	Value   Secret `wire:"value"`
	Unknown Unknown
}

// AuthProvider is the auth-provider of a kubeconfig user: the name of a plugin and its settings, which include tokens.
type AuthProvider struct {
	Name    string            `wire:"name"`
	Config  map[string]Secret `wire:"config"`
	Unknown Unknown
	// File and User identify the kubeconfig and the user that the provider came from, so that renewed tokens can be
	// written back. Loading sets them.
	File, User string
}
