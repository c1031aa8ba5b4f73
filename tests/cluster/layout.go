// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube-go/sdk/tests/cluster/internal/kubeconfig"
	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/pki"
	"github.com/kube-go/sdk/tests/cluster/internal/process"
	"github.com/kube-go/sdk/tests/cluster/internal/rest"
)

// layout is the information to find a cluster's files and to start its components. It is stored in the cluster's
// directory.
type layout struct {
	Dir               string
	Temporary         bool // Dir is removed with the cluster
	Program           string
	Keeper            string
	KubernetesVersion string
	Ports             ports
	Token             string
	APIServerArgs     []string
	FeatureGates      map[string]bool
	Node              bool
	Image             string // the archive of the node's test image
}

type ports struct{ APIServer, Etcd, EtcdPeer, ControllerManager, Scheduler, Kubelet, KubeletHealthz int }

const (
	tokenUser  = "token-user"
	issuer     = "https://kubernetes.default.svc.cluster.local"
	services   = "10.96.0.0/16"
	kubernetes = "10.96.0.1" // the API server's service, the first of them
)

// mark is in the environment of every process of the cluster.
func (l *layout) mark() string { return "KUBECLUSTER_DIR=" + l.Dir }

func (l *layout) url() string { return local(l.Ports.APIServer) }

func local(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }

func (l *layout) pki(file string) string { return filepath.Join(l.Dir, "pki", file) }

func (l *layout) kubeconfig(name string) string { return filepath.Join(l.Dir, name+".kubeconfig") }

func (l *layout) take(r *reservation, apiPort int) error {
	for port, wanted := range map[*int]int{
		&l.Ports.APIServer: apiPort, &l.Ports.Etcd: 0, &l.Ports.EtcdPeer: 0, &l.Ports.ControllerManager: 0,
		&l.Ports.Scheduler: 0, &l.Ports.Kubelet: 0, &l.Ports.KubeletHealthz: 0,
	} {
		taken, err := r.take(wanted)
		if err != nil {
			return err
		}
		*port = taken
	}
	return nil
}

// The authorities are separate, so that a client certificate for Kubernetes is not valid for etcd or the aggregation
// layer.
type authorities struct{ cluster, etcd, frontProxy *pki.CA }

// writeKeys creates all keys and certificates of the cluster, and its kubeconfig files.
func (l *layout) writeKeys() error {
	var cas authorities
	for name, ca := range map[string]**pki.CA{"ca": &cas.cluster, "etcd-ca": &cas.etcd, "front-proxy-ca": &cas.frontProxy} {
		made, err := pki.NewCA("kubecluster " + name)
		if err != nil {
			return err
		}
		if err := made.Write(l.pki(""), name); err != nil {
			return err
		}
		*ca = made
	}
	key, err := pki.SigningKey()
	if err != nil {
		return err
	}
	if err := key.Write(l.pki(""), "service-account"); err != nil {
		return err
	}
	tokens := fmt.Sprintf("%s,%s,%s,\n", l.Token, tokenUser, tokenUser)
	if err := os.WriteFile(l.pki("tokens.csv"), []byte(tokens), 0o600); err != nil {
		return err
	}
	if err := l.writeCertificates(cas); err != nil {
		return err
	}
	return l.writeKubeconfigs(cas.cluster)
}

// machineAddresses returns the addresses of this machine, or none on an error. The kubelet listens on loopback, which
// the API server's proxy does not allow as a target: to use the proxy, forward one of these addresses to the kubelet.
func machineAddresses() []string {
	addresses, _ := net.InterfaceAddrs()
	var hosts []string
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts
}

func (l *layout) writeCertificates(cas authorities) error {
	loopback := []string{"localhost", "127.0.0.1", "::1"}
	apiserver := append([]string{
		kubernetes, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, loopback...)
	for _, certificate := range []struct {
		file   string
		ca     *pki.CA
		name   string
		hosts  []string // of a server
		groups []string // of a client
	}{
		{file: "kube-apiserver", ca: cas.cluster, name: "kube-apiserver", hosts: apiserver},
		{file: "kube-controller-manager", ca: cas.cluster, name: "kube-controller-manager", hosts: loopback},
		{file: "kube-scheduler", ca: cas.cluster, name: "kube-scheduler", hosts: loopback},
		{file: "kubelet", ca: cas.cluster, name: "kubelet", hosts: append(machineAddresses(), loopback...)},
		{file: "kubelet-client", ca: cas.cluster, name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		{file: "etcd", ca: cas.etcd, name: "etcd", hosts: loopback},
		{file: "etcd-client", ca: cas.etcd, name: "kube-apiserver"},
		{file: "front-proxy-client", ca: cas.frontProxy, name: "front-proxy-client"},
	} {
		var pair pki.Pair
		var err error
		if len(certificate.hosts) > 0 {
			pair, err = certificate.ca.Server(certificate.name, certificate.hosts...)
		} else {
			pair, err = certificate.ca.Client(certificate.name, certificate.groups...)
		}
		if err != nil {
			return err
		}
		if err := pair.Write(l.pki(""), certificate.file); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) writeKubeconfigs(ca *pki.CA) error {
	file := kubeconfig.File{Cluster: kubeconfig.ClusterName, Server: l.url(), CA: ca.Cert}
	write := func(name string, users ...kubeconfig.User) error {
		file.Users = users
		return os.WriteFile(l.kubeconfig(name), file.Encode(), 0o600)
	}
	admin, err := ca.Client("kubecluster-admin", "system:masters")
	if err != nil {
		return err
	}
	if err := admin.Write(l.pki(""), "admin"); err != nil {
		return err
	}
	users := []kubeconfig.User{{Name: "admin", Client: admin}, {Name: "token", Token: l.Token}}
	if err := write("admin", users...); err != nil {
		return err
	}
	for _, component := range []struct {
		name, user string
		groups     []string
	}{
		{name: ControllerManager, user: "system:" + ControllerManager},
		{name: Scheduler, user: "system:" + Scheduler},
		{name: Kubelet, user: "system:node:" + NodeName, groups: []string{"system:nodes"}},
	} {
		pair, err := ca.Client(component.user, component.groups...)
		if err != nil {
			return err
		}
		if err := write(component.name, kubeconfig.User{Name: component.name, Client: pair}); err != nil {
			return err
		}
	}
	return nil
}

// specs returns the specs of the control plane in the order in which it starts.
func (l *layout) specs(checks map[string]check) []process.Spec {
	var specs []process.Spec
	for _, program := range []struct {
		name  string
		args  []string
		env   []string
		unset string
	}{
		{name: Etcd, args: l.etcdArgs(), unset: "ETCD_"}, // which etcd reads as flags
		{name: APIServer, args: l.apiServerArgs(), env: []string{noProxy()}},
		{name: ControllerManager, args: l.controllerManagerArgs()},
		{name: Scheduler, args: l.clientArgs(Scheduler, l.Ports.Scheduler)},
	} {
		specs = append(specs, process.Spec{
			Name: program.name, Path: l.Program, Args: append([]string{program.name}, program.args...),
			Env: append(program.env, l.mark()), Unset: program.unset, Dir: l.Dir,
			LogFile: filepath.Join(l.Dir, program.name+".log"), Ready: checks[program.name],
		})
	}
	return specs
}

// noProxy returns the environment variable with which the API server does not use the proxy of this process for
// webhooks and API servers in pods, whose URLs have the host NAME.NAMESPACE.svc; see
// https://github.com/kubernetes/kubernetes/issues/107446. Go reads the lower-case variable only if this one is empty.
func noProxy() string {
	hosts := ".svc"
	if own := cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy")); own != "" {
		hosts = own + "," + hosts
	}
	return "NO_PROXY=" + hosts
}

// check reports whether a component works.
type check = func(context.Context) error

// checks returns the checks of all components.
func (l *layout) checks(admin, etcd *http.Client) map[string]check {
	checks := map[string]check{
		Etcd:              rest.Healthy(etcd, local(l.Ports.Etcd)+"/health"),
		APIServer:         rest.Healthy(admin, l.url()+"/readyz"),
		ControllerManager: rest.Healthy(admin, local(l.Ports.ControllerManager)+"/healthz"),
		Scheduler:         rest.Healthy(admin, local(l.Ports.Scheduler)+"/readyz"),
	}
	if l.Node {
		maps.Copy(checks, node.Checks(l.nodeDir(), l.Image, l.Ports.KubeletHealthz))
	}
	return checks
}

func (l *layout) etcdArgs() []string {
	client, peer := local(l.Ports.Etcd), local(l.Ports.EtcdPeer)
	return []string{
		"--name=etcd", "--data-dir=" + filepath.Join(l.Dir, "etcd"),
		"--unsafe-no-fsync", // the data is not needed after a power failure
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=etcd=" + peer,
		"--client-cert-auth", "--trusted-ca-file=" + l.pki("etcd-ca.crt"),
		"--cert-file=" + l.pki("etcd.crt"), "--key-file=" + l.pki("etcd.key"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + l.pki("etcd-ca.crt"),
		"--peer-cert-file=" + l.pki("etcd.crt"), "--peer-key-file=" + l.pki("etcd.key"),
	}
}

func (l *layout) apiServerArgs() []string {
	args := []string{
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", l.Ports.APIServer),
		"--endpoint-reconciler-type=none", // a loopback address is not valid as an endpoint
		"--service-cluster-ip-range=" + services,
		"--etcd-servers=" + local(l.Ports.Etcd), "--etcd-cafile=" + l.pki("etcd-ca.crt"),
		"--etcd-certfile=" + l.pki("etcd-client.crt"), "--etcd-keyfile=" + l.pki("etcd-client.key"),
		"--tls-cert-file=" + l.pki("kube-apiserver.crt"), "--tls-private-key-file=" + l.pki("kube-apiserver.key"),
		"--cert-dir=" + l.pki(""), "--client-ca-file=" + l.pki("ca.crt"), "--token-auth-file=" + l.pki("tokens.csv"),
		"--service-account-issuer=" + issuer, "--service-account-key-file=" + l.pki("service-account.crt"),
		"--service-account-signing-key-file=" + l.pki("service-account.key"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
		"--kubelet-certificate-authority=" + l.pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + l.pki("kubelet-client.crt"), "--kubelet-client-key=" + l.pki("kubelet-client.key"),
		"--proxy-client-cert-file=" + l.pki(
			"front-proxy-client.crt",
		), "--proxy-client-key-file=" + l.pki("front-proxy-client.key"),
		"--requestheader-client-ca-file=" + l.pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
	}
	if l.Node {
		// Webhooks in pods are called at the addresses of the pods, because the cluster has no kube-proxy.
		args = append(args, "--enable-aggregator-routing")
	}
	args = slices.DeleteFunc(args, l.overridden)
	return append(append(args, featureGates(l.FeatureGates)...), l.APIServerArgs...)
}

// overridden reports whether APIServerArgs has the flag of an argument of this package, or one that excludes it. If a
// flag with a list is repeated, the values of the last one are appended and not set.
func (l *layout) overridden(arg string) bool {
	name := flagName(arg)
	return slices.ContainsFunc(l.APIServerArgs, func(other string) bool {
		other = flagName(other)
		return other == name || other == "--authorization-config" && name == "--authorization-mode"
	})
}

// flagName returns the name of the flag of an argument, with its dashes. Kubernetes accepts underscores in names.
func flagName(arg string) string {
	name, _, _ := strings.Cut(arg, "=")
	return strings.ReplaceAll(name, "_", "-")
}

func (l *layout) controllerManagerArgs() []string {
	return append(l.clientArgs(ControllerManager, l.Ports.ControllerManager),
		"--use-service-account-credentials", "--root-ca-file="+l.pki("ca.crt"),
		"--service-account-private-key-file="+l.pki("service-account.key"),
		"--cluster-signing-cert-file="+l.pki("ca.crt"), "--cluster-signing-key-file="+l.pki("ca.key"),
		// Each controller first creates a service account and a token, which takes seconds at the default rate.
		"--kube-api-qps=500", "--kube-api-burst=1000",
	)
}

// clientArgs are the common arguments of the controller manager and the scheduler.
func (l *layout) clientArgs(name string, port int) []string {
	config := l.kubeconfig(name)
	return append([]string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + l.pki(name+".crt"), "--tls-private-key-file=" + l.pki(name+".key"),
		"--leader-elect=false", // there is only one instance; waiting for an old lease would delay a restart
	}, featureGates(l.FeatureGates)...)
}
