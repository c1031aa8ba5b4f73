// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Validate reports every mistake in k, in all contexts, as joined [FieldError] values. It reads the files that k names.
// It does not check whether certificates have expired: see [Config.CheckClientCertificate].
func (k *Kubeconfig) Validate(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c := checker{env: osEnv()}
	c.spelling(k.place(), "", reflect.ValueOf(*k))
	for i := range k.Clusters {
		c.clusterStanza(&k.Clusters[i])
	}
	for i := range k.Users {
		c.userStanza(&k.Users[i])
	}
	for i := range k.Contexts {
		c.contextStanza(k, &k.Contexts[i])
	}
	if k.CurrentContext != "" && find(k.Contexts, k.CurrentContext) == nil {
		c.add(k.place().errorf("current-context", "", "%s",
			missing("context", k.CurrentContext, names(k.Contexts))))
	}
	return errors.Join(c.errs...)
}

// Validate reports every mistake in c that can be found without a request to the server, as joined [FieldError] values.
// It reads the files that c names. The results of [Load], [InCluster] and [Kubeconfig.Config] are already validated.
func (c *Config) Validate(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	chk := checker{env: osEnv()}
	p := place{stanza: c.Source, goNames: true}
	chk.cluster(p, c)
	chk.user(p, c)
	chk.namespace(p, c.Namespace)
	return errors.Join(chk.errs...)
}

// checker collects mistakes. Its methods use the field names of a kubeconfig; the place translates them.
type checker struct {
	env  env
	errs []error
	// fileToken is the content of the token file.
	fileToken Secret
}

func (c *checker) add(err *FieldError) { c.errs = append(c.errs, err) }

func (c *checker) clusterStanza(n *NamedCluster) {
	p := place{file: n.Cluster.Origin, stanza: fmt.Sprintf("cluster %q", n.Name)}
	c.name(p, n.Name)
	c.spelling(p, "", reflect.ValueOf(*n))
	cfg := n.Cluster.config()
	if cfg.Server != "" {
		cfg.Server = serverURL(&cfg)
	}
	c.cluster(p, &cfg)
}

func (c *checker) userStanza(n *NamedUser) {
	p := place{file: n.User.Origin, stanza: fmt.Sprintf("user %q", n.Name)}
	c.name(p, n.Name)
	c.spelling(p, "", reflect.ValueOf(*n))
	cfg := n.User.config()
	c.user(p, &cfg)
}

func (c *checker) contextStanza(k *Kubeconfig, n *NamedContext) {
	p := place{file: n.Context.Origin, stanza: fmt.Sprintf("context %q", n.Name)}
	c.name(p, n.Name)
	c.spelling(p, "", reflect.ValueOf(*n))
	c.namespace(p, n.Context.Namespace)
	c.references(p, k, &n.Context)
}

func (c *checker) references(p place, k *Kubeconfig, context *Context) {
	if context.Cluster == "" {
		c.add(p.errorf("cluster", "name "+oneOf("cluster", names(k.Clusters)), "is missing"))
	} else if find(k.Clusters, context.Cluster) == nil {
		c.add(p.errorf("cluster", "", "%s", missing("cluster", context.Cluster, names(k.Clusters))))
	}
	if context.User != "" && find(k.Users, context.User) == nil {
		c.add(p.errorf("user", "", "%s", missing("user", context.User, names(k.Users))))
	}
}

func (c *checker) name(p place, name string) {
	if name == "" {
		c.add(p.errorf("name", "give it a name", "is missing"))
	}
}

// spelling reports unknown fields whose name differs from that of a known field, which is not set, only in case, "-"
// and "_".
func (c *checker) spelling(p place, prefix string, stanza reflect.Value) {
	plain := strings.NewReplacer("-", "", "_", "")
	unknown := stanza.FieldByName("Unknown").Interface().(Unknown)
	for _, f := range wireFields(stanza.Type()) {
		field := stanza.Field(f.index)
		switch {
		case field.Kind() == reflect.Struct:
			c.spelling(p, prefix, field)
		case field.Kind() == reflect.Pointer && !field.IsNil():
			c.spelling(p, prefix+f.name+".", field.Elem())
		}
		if !field.IsZero() {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(unknown)) {
			if strings.EqualFold(plain.Replace(name), plain.Replace(f.name)) {
				c.add(p.errorf(prefix+name, fmt.Sprintf("write %q", f.name), "is not a known field"))
			}
		}
	}
}

func (c *checker) namespace(p place, namespace string) {
	if namespace != "" && !isDNSLabel(namespace) {
		c.add(p.errorf("namespace", "use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
			"%q is not a valid namespace name", namespace))
	}
}

func isDNSLabel(s string) bool {
	for i, r := range s {
		inside := i > 0 && i < len(s)-1
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && (r != '-' || !inside) {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

func (c *checker) cluster(p place, cfg *Config) {
	const example = "write it as https://HOST:PORT"
	if cfg.Server == "" {
		c.add(p.errorf("server", example, "is missing"))
	} else if u, err := url.Parse(cfg.Server); err != nil || u.Host == "" || u.Opaque != "" {
		c.add(p.errorf("server", example, "%q is not a URL", redactURL(cfg.Server)))
	} else if u.Scheme != "https" && u.Scheme != "http" {
		c.add(p.errorf("server", example, "%q is not an https or http URL", redactURL(cfg.Server)))
	} else if !hasValidPort(u) {
		c.add(p.errorf("server", portRange, "%q has an invalid port", redactURL(cfg.Server)))
	}
	if cfg.ProxyURL != "" {
		c.proxy(p, cfg.ProxyURL)
	}
	c.authority(p, cfg)
}

func (c *checker) proxy(p place, raw string) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) {
		c.add(p.errorf("proxy-url", "write it as http://, https:// or socks5:// and HOST:PORT",
			"%q is not the URL of a proxy", redactURL(raw)))
	} else if !hasValidPort(u) {
		c.add(p.errorf("proxy-url", portRange, "%q has an invalid port", redactURL(raw)))
	}
}

const portRange = "use a port from 1 to 65535"

// hasValidPort reports whether the port of a URL can be that of a server. Without a port, it is that of the scheme.
func hasValidPort(u *url.URL) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && port > 0
}

func (c *checker) authority(p place, cfg *Config) {
	const file, data = "certificate-authority", "certificate-authority-data"
	if cfg.CAFile != "" && len(cfg.CAData) > 0 {
		c.add(p.errorf(file, "keep one of the two", "conflicts with %s", p.fieldName(data)))
	}
	if cfg.InsecureSkipTLSVerify && (cfg.CAFile != "" || len(cfg.CAData) > 0) {
		c.add(p.errorf("insecure-skip-tls-verify", "remove it, or the certificate authority",
			"conflicts with a certificate authority"))
	}
	if cfg.CAFile != "" {
		if pem, ok := c.readFile(p, file, cfg.CAFile); ok {
			c.certificates(p, file, pem)
		}
	}
	if len(cfg.CAData) > 0 {
		c.certificates(p, data, cfg.CAData)
	}
}

func (c *checker) certificates(p place, field string, pem []byte) {
	if !c.placeholder(p, field, pem) && !hasCertificate(pem) {
		c.add(p.errorf(field, "provide the certificate in PEM format (-----BEGIN CERTIFICATE-----)",
			"contains no certificate"))
	}
}

// placeholder reports values that `kubectl config view` and a [Secret] print in place of data.
func (c *checker) placeholder(p place, field string, data []byte) bool {
	omitted := base64.StdEncoding.EncodeToString(data)
	if string(data) == redacted {
		c.add(p.errorf(field, "use the secret itself, not its printed form", "is the printed form of a secret"))
		return true
	}
	if omitted != "DATA+OMITTED" && omitted != "REDACTED" && string(data) != "REDACTED" {
		return false
	}
	c.add(p.errorf(field, "export the kubeconfig again with `kubectl config view --raw`",
		"is the placeholder that `kubectl config view` shows for the real value"))
	return true
}

// readFile reads a file that a field names. It reports a file that does not exist or cannot be read.
func (c *checker) readFile(p place, field, path string) ([]byte, bool) {
	data, err := c.env.readFile(path)
	if err == nil {
		return data, true
	}
	e := p.errorf(field, fileRemedy(path), "%v", err)
	if errors.Is(err, fs.ErrNotExist) {
		e.Problem = "file " + path + " does not exist"
	}
	e.Err = err
	c.add(e)
	return nil, false
}

// fileRemedy returns what to do about a file that cannot be read.
func fileRemedy(path string) string {
	if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "~") {
		return "write the full path: ~ is not expanded here"
	}
	return "restore the file, or correct the path"
}
