// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command kindgen writes the table of k8s.io/api kinds that core.ResourceOf looks up, zz_generated.kinds.go.
//
//	go run ./internal/cmd/kindgen              # in core: write the table
//	go run ./internal/cmd/kindgen -trim        # make a snapshot of discovery documents, from stdin to stdout
//
// The resource of a kind has two sources. The source code of k8s.io/api declares the kinds and their groups, and its
// markers describe how they are served. discovery.json is a snapshot of the discovery documents of a real API server on
// which every API is enabled. It corrects the markers and adds names that only servers know, such as short names. Kinds
// that are too old or too new for this server come from the source code only, with the short names of the same kind in
// another version.
//
// To renew the snapshot, start an API server with --runtime-config=api/all=true and
// --feature-gates=AllAlpha=true,AllBeta=true, and fetch its aggregated discovery documents:
//
//	accept='Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
//	curl -H "$accept" $SERVER/api $SERVER/apis | go run ./internal/cmd/kindgen -trim >internal/cmd/kindgen/discovery.json
package main
