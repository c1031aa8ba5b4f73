// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/wire"
)

// The protocol of exec plugins, which is the same in both of its versions:
// https://kubernetes.io/docs/reference/config-api/client-authentication.v1/.

const credentialKind = "ExecCredential"

// execInfo is the information that a plugin receives.
type execInfo struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Spec       execSpec `json:"spec"`
}

type execSpec struct {
	Cluster     *clusterInfo `json:"cluster,omitempty"`
	Interactive bool         `json:"interactive"`
}

type clusterInfo struct {
	Server                   string          `json:"server"`
	TLSServerName            string          `json:"tls-server-name,omitempty"`
	InsecureSkipTLSVerify    bool            `json:"insecure-skip-tls-verify,omitempty"`
	CertificateAuthorityData []byte          `json:"certificate-authority-data,omitempty"`
	ProxyURL                 string          `json:"proxy-url,omitempty"`
	DisableCompression       bool            `json:"disable-compression,omitempty"`
	Config                   json.RawMessage `json:"config"`
}

// newClusterInfo returns the cluster of a configuration. A plugin may run anywhere, so it gets data instead of file
// names.
func newClusterInfo(cfg *config.Config) (*clusterInfo, error) {
	info := &clusterInfo{
		Server:                   cfg.Server,
		TLSServerName:            cfg.TLSServerName,
		InsecureSkipTLSVerify:    cfg.InsecureSkipTLSVerify,
		CertificateAuthorityData: cfg.CAData,
		ProxyURL:                 cfg.ProxyURL,
		DisableCompression:       cfg.DisableCompression,
	}
	if len(cfg.Exec.ClusterConfig) > 0 {
		info.Config = cfg.Exec.ClusterConfig
	}
	if cfg.CAFile != "" {
		data, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("certificate-authority: %w", err)
		}
		info.CertificateAuthorityData = data
	}
	return info, nil
}

// encodeInfo returns the value of KUBERNETES_EXEC_INFO, byte for byte as client-go encodes it.
func encodeInfo(apiVersion string, interactive bool, cluster *clusterInfo) ([]byte, error) {
	data, err := json.Marshal(execInfo{credentialKind, apiVersion, execSpec{cluster, interactive}})
	return append(data, '\n'), err
}

// execCredential is the output of a plugin.
type execCredential struct {
	Kind       string      `json:"kind"`
	APIVersion string      `json:"apiVersion"`
	Status     *execStatus `json:"status"`
}

type execStatus struct {
	Token                 string `json:"token"`
	ClientCertificateData string `json:"clientCertificateData"`
	ClientKeyData         string `json:"clientKeyData"`
	ExpirationTimestamp   string `json:"expirationTimestamp"`
}

// decodeCredential decodes the output of a plugin, which is JSON or YAML. Its errors show none of it.
func decodeCredential(data []byte, apiVersion string) (*credential, error) {
	const shape = "its output is not an " + credentialKind
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, errors.New("printed nothing")
	}
	if data[0] != '{' {
		for doc, err := range wire.RawDocuments(bytes.NewReader(data), nil) {
			if err != nil {
				return nil, errors.New(shape)
			}
			data = doc.JSON
			break
		}
	}
	var printed execCredential
	err := json.Unmarshal(data, &printed)
	if printed.Kind == "" && printed.APIVersion != "" { // client-go accepts it
		printed.Kind = credentialKind
	}
	if err != nil || printed.Kind != credentialKind {
		return nil, errors.New(shape)
	}
	switch status := printed.Status; {
	case printed.APIVersion != apiVersion:
		return nil, fmt.Errorf("printed apiVersion %.100q, but the configuration has %s: correct the configuration, or "+
			"update the plugin", printed.APIVersion, apiVersion)
	case status == nil:
		return nil, errors.New("printed no status")
	case status.Token == "" && status.ClientCertificateData == "" && status.ClientKeyData == "":
		return nil, errors.New("printed neither a token nor a client certificate")
	case (status.ClientCertificateData == "") != (status.ClientKeyData == ""):
		return nil, errors.New("printed only one of clientCertificateData and clientKeyData")
	}
	return printed.Status.credential()
}

func (s *execStatus) credential() (*credential, error) {
	c := &credential{token: s.Token}
	if strings.ContainsFunc(s.Token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, errors.New("printed a token with spaces or line breaks in it")
	}
	if s.ExpirationTimestamp != "" {
		expiry, err := time.Parse(time.RFC3339, s.ExpirationTimestamp)
		if err != nil {
			return nil, errors.New("printed an expirationTimestamp that is not in RFC 3339 format")
		}
		c.expiry = expiry
	}
	if s.ClientCertificateData == "" {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(s.ClientCertificateData), []byte(s.ClientKeyData))
	if err != nil {
		return nil, fmt.Errorf("printed a certificate that cannot be used with its key: %w", err)
	}
	c.cert = &pair
	if end := pair.Leaf.NotAfter; c.expiry.IsZero() || end.Before(c.expiry) {
		c.expiry = end
	}
	return c, nil
}
