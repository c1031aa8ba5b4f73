// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// descriptions applies the marker for descriptions in CRDs that are too large.
func (t *target) descriptions(m *load.Marker) error {
	switch keep, drop := m.Args.Has("keep"), m.Args.Has("drop"); {
	case keep == drop:
		return errors.New("set either keep or drop")
	case keep:
		t.extra(structural.KeyDescriptions, structural.DescriptionsKeep)
	default:
		t.extra(structural.KeyDescriptions, structural.DescriptionsDrop)
	}
	return nil
}
