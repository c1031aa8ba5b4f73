// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command kindgen writes the table of k8s.io/api kinds that core.ResourceOf looks up, zz_generated.kinds.go.
//
//	go run ./internal/cmd/kindgen              # in core: write the table
//	go run ./internal/cmd/kindgen -trim        # make a snapshot of discovery documents, from stdin to stdout
//
// What a kind is called comes from two places. The sources of k8s.io/api say which kinds there are, to which group they
// belong, and by their markers how they are served. A snapshot of what a real API server with every API enabled says of
// itself, discovery.json, corrects that and adds the names that only servers know, such as short names. The kinds that
// this server does not serve, since they are too old or too new for it, come from the sources alone, with the short
// names that the server has for the same kind in another version.
//
// To renew the snapshot, start an API server with --runtime-config=api/all=true and
// --feature-gates=AllAlpha=true,AllBeta=true, and fetch its aggregated discovery documents:
//
//	accept='Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
//	curl -H "$accept" $SERVER/api $SERVER/apis | go run ./internal/cmd/kindgen -trim >internal/cmd/kindgen/discovery.json
package main
