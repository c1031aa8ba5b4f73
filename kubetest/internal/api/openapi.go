// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

const openAPIPath = "openapi/v3"

// openAPI serves the index of OpenAPI documents, or the document of a version of a group. A document has the schemas of
// the kinds and no paths.
func (s *Server) openAPI(w http.ResponseWriter, path string) error {
	documents := s.kinds.documents()
	if path == openAPIPath {
		index := make(map[string]any, len(documents))
		for name := range documents {
			index[name] = map[string]any{"serverRelativeURL": "/" + openAPIPath + "/" + name}
		}
		respond(w, http.StatusOK, map[string]any{"paths": index})
		return nil
	}
	schemas, ok := documents[strings.TrimPrefix(path, openAPIPath+"/")]
	if !ok {
		return errNoGroup
	}
	respond(w, http.StatusOK, map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": builtin.Version()},
		"paths": map[string]any{}, "components": map[string]any{"schemas": schemas()},
	})
	return nil
}

// documents returns the schemas of each OpenAPI document by the name of the document. Those of all built-in groups have
// all built-in schemas.
func (ks *kinds) documents() map[string]func() any {
	documents := make(map[string]func() any)
	for gvr := range ks.builtin {
		name := "apis/" + gvr.Group + "/" + gvr.Version
		if gvr.Group == "" {
			name = "api/" + gvr.Version
		}
		documents[name] = func() any { return json.RawMessage(builtin.Document(builtin.SchemasDocument)) }
	}
	ks.mu.Lock()
	defer ks.mu.Unlock()
	all := make(map[string]map[string]any)
	for gvr, k := range ks.custom {
		name := "apis/" + gvr.Group + "/" + gvr.Version
		if all[name] == nil {
			all[name] = make(map[string]any)
		}
		for model, schema := range k.schemas() {
			all[name][model] = schema
		}
		documents[name] = func() any { return all[name] }
	}
	return documents
}
