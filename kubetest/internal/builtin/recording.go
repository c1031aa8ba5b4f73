// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// Documents of the recording.
const (
	DiscoveryDocument = "discovery.json" // an APIGroupDiscoveryList with all groups, the core group first
	SchemasDocument   = "schemas.json"   // an object with the OpenAPI v3 definitions, by name
	VersionDocument   = "version.txt"    // the gitVersion of the server, such as v1.37.2
)

var (
	//go:embed testdata/discovery.json.gz
	discoveryFile []byte
	//go:embed testdata/schemas.json.gz
	schemasFile []byte
	//go:embed testdata/version.txt
	versionFile string
)

// Version returns the version of the recorded server, such as v1.37.2.
func Version() string { return strings.TrimSpace(versionFile) }

// Document returns a document of the recording as it was recorded. It panics if the name is unknown.
func Document(name string) []byte {
	switch name {
	case DiscoveryDocument:
		return uncompressed(name, discoveryFile)
	case SchemasDocument:
		return uncompressed(name, schemasFile)
	case VersionDocument:
		return []byte(versionFile)
	}
	panic(fmt.Sprintf("builtin: the recording has no document %q", name))
}

func uncompressed(name string, file []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		panic(damaged(name, err))
	}
	data, err := io.ReadAll(r)
	if err != nil {
		panic(damaged(name, err))
	}
	return data
}

func damaged(name string, err error) error {
	return fmt.Errorf("builtin: embedded document %s is damaged: %w", name, err)
}
