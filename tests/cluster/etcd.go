// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/kube-go/sdk/tests/cluster/internal/rest"
)

func (l *layout) etcdClient() (*http.Client, error) {
	return httpClient(l.pki("etcd-ca.crt"), l.pki("etcd-client.crt"), l.pki("etcd-client.key"))
}

// CompactEtcd discards etcd's history up to the current revision, which it returns as a resource version. The API
// server has its own memory of recent history, for watches and for lists, until it is restarted. After a restart, every
// older resource version and every older continue token is 410 Gone:
//
//	revision, err := c.CompactEtcd(ctx)
//	…
//	err = c.Component(cluster.APIServer).Restart(ctx)
func (c *Cluster) CompactEtcd(ctx context.Context) (resourceVersion string, err error) {
	client, err := c.layout.etcdClient()
	if err != nil {
		return "", fmt.Errorf("compact etcd: %w", err)
	}
	defer client.CloseIdleConnections()
	revision, err := compact(ctx, client, local(c.layout.Ports.Etcd))
	if err != nil {
		return "", fmt.Errorf("compact etcd: %w", err)
	}
	return revision, nil
}

func compact(ctx context.Context, client *http.Client, address string) (revision string, err error) {
	// The compacted revision itself stays readable, so a new one is created, with a key outside those of Kubernetes.
	// 64-bit numbers are strings in etcd's JSON, bytes are base64.
	put := map[string]any{"key": []byte("kubecluster/compaction")}
	var written struct {
		Header struct{ Revision json.Number }
	}
	if err := rest.Do(ctx, client, http.MethodPost, address+"/v3/kv/put", put, &written); err != nil {
		return "", err
	}
	revision = written.Header.Revision.String()
	compaction := map[string]any{"revision": revision, "physical": true}
	err = rest.Do(ctx, client, http.MethodPost, address+"/v3/kv/compaction", compaction, nil)
	if err != nil && strings.Contains(err.Error(), "required revision has been compacted") {
		err = nil // by a concurrent call, with a later revision
	}
	return revision, err
}
