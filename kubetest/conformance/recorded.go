// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/builtin/record"
)

// CheckRecorded compares the discovery documents and the OpenAPI schemas of kubetest with those of a server. Groups of
// custom resources and of aggregated API servers do not matter. If the server has another minor version than the
// recording, CheckRecorded compares nothing and logs that.
func CheckRecorded(t *testing.T, c *client.Client) {
	t.Helper()
	documents, err := record.Record(t.Context(), c)
	if err != nil {
		t.Fatalf("Record() = %v", err)
	}
	server := strings.TrimSpace(string(documents[builtin.VersionDocument]))
	if minor(server) != minor(builtin.Version()) {
		t.Logf("not compared: the server has version %s, the recording %s", server, builtin.Version())
		return
	}
	for _, name := range []string{builtin.DiscoveryDocument, builtin.SchemasDocument} {
		if difference := compare(builtin.Document(name), documents[name]); difference != "" {
			t.Errorf("%s differs from the server %s\n%s\nTo replace the recording, run in the folder kubetest: "+
				"go run ./internal/cmd/record", name, server, difference)
		}
	}
}

// minor returns the minor version of a gitVersion: v1.37 of v1.37.2.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// compare describes the first difference of two documents. It returns an empty string if they are equal.
func compare(recorded, server []byte) string {
	if bytes.Equal(recorded, server) {
		return ""
	}
	at := 0
	for at < min(len(recorded), len(server)) && recorded[at] == server[at] {
		at++
	}
	return fmt.Sprintf("at byte %d:\nrecorded %s\nserver   %s", at, excerpt(recorded, at), excerpt(server, at))
}

// excerpt returns the text around an index.
func excerpt(document []byte, at int) []byte {
	return document[max(0, at-200):min(len(document), at+100)]
}
