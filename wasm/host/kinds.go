// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
)

const (
	// kindTime is the maximum time for which a watch waits for the kind of its resource.
	kindTime = 10 * time.Second

	// kindInterval is the minimum time between two requests for the kinds of the server, if a watch has another kind or an
	// unknown resource.
	kindInterval = 30 * time.Second
)

// kinds knows the kinds of the resources of the server. The shared watches of a resource must have the same kind:
// otherwise each kind that a guest names would be a watch of its own.
type kinds struct {
	mapper  *discovery.Mapper
	refresh *rate.Limiter
}

func newKinds(c *client.Client) *kinds {
	return &kinds{
		mapper:  discovery.NewMapper(c, &discovery.MapperOptions{MinInterval: kindInterval}),
		refresh: rate.NewLimiter(rate.Every(kindInterval), 1),
	}
}

// check returns an error if a watch has another kind or scope than its resource. It returns no error if the server does
// not know the resource, because the resource may be installed later, or if the server can't be asked.
func (k *kinds) check(ctx context.Context, w *abi.Watch) error {
	ctx, cancel := context.WithTimeout(ctx, kindTime)
	defer cancel()
	d, err := k.mapper.Discovery(ctx)
	if err != nil {
		return nil //nolint:nilerr // see the comment
	}
	name := schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource}
	res, err := d.ForResource(name)
	if (err != nil || !isResource(w, res)) && k.refresh.Allow() { // the definition may be new, or have changed
		if d, err = k.mapper.Refresh(ctx); err == nil {
			res, err = d.ForResource(name)
		}
	}
	if err != nil || isResource(w, res) {
		return nil //nolint:nilerr // see the comment
	}
	return &abi.Error{Code: abi.Invalid, Message: fmt.Sprintf("the watch of %s has the kind %q and namespaced %t: set the "+
		"kind %q and namespaced %t, as on the server", resourceOf(w), w.Kind, w.Namespaced, res.Kind, res.Namespaced)}
}

// isResource reports whether a watch has the kind and the scope of a resource.
func isResource(w *abi.Watch, res core.Resource) bool {
	return w.Kind == res.Kind && w.Namespaced == res.Namespaced
}
