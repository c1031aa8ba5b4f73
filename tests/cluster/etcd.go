// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

func (l *layout) etcdClient() (*http.Client, error) {
	return httpClient(l.pki("etcd-ca.crt"), l.pki("etcd-client.crt"), l.pki("etcd-client.key"))
}

// CompactEtcd has etcd forget all history up to now, which it returns as a resource version. What is read from etcd
// afterwards for an older version is 410 Gone: the continue tokens of lists at once, but watches only when the API server
// was restarted, because it serves those from a memory of its own. So, to make every older resource version expire:
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
	address := local(c.layout.Ports.Etcd)
	// Any read tells the revision. 64-bit numbers are strings in etcd's JSON, bytes are base64.
	var read struct {
		Header struct{ Revision json.Number }
	}
	if err := do(ctx, client, http.MethodPost, address+"/v3/kv/range", map[string]any{"key": []byte{0}}, &read); err != nil {
		return "", fmt.Errorf("compact etcd: %w", err)
	}
	revision := read.Header.Revision.String()
	compaction := map[string]any{"revision": revision, "physical": true}
	if err := do(ctx, client, http.MethodPost, address+"/v3/kv/compaction", compaction, nil); err != nil {
		return "", fmt.Errorf("compact etcd: %w", err)
	}
	return revision, nil
}
