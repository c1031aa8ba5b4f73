// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"encoding/json"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
)

//nolint:gochecknoglobals // a cache
var groups = sync.OnceValue(func() []apidiscoveryv2.APIGroupDiscovery {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(Document(DiscoveryDocument), &list); err != nil {
		panic(damaged(DiscoveryDocument, err))
	}
	return list.Items
})

// Groups returns the built-in groups with their versions and resources. The core group, with the empty name, is the
// first; the others have the order of the server. The caller may change the result.
func Groups() []apidiscoveryv2.APIGroupDiscovery {
	copied := make([]apidiscoveryv2.APIGroupDiscovery, len(groups()))
	for i := range copied {
		groups()[i].DeepCopyInto(&copied[i])
	}
	return copied
}
