// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// dockerConfig is a docker configuration file. Some are replaced while the program runs, such as a mounted secret with
// credentials that expire.
type dockerConfig struct {
	path string

	mu   sync.Mutex // guards the fields below
	read mark       // the state of the file in which it was read
	all  credentials.Store
}

// current returns the credentials in the file. It reads the file if it has changed, or if the last attempt has failed.
func (c *dockerConfig) current() (credentials.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.path) // the library ignores a file that does not exist
	if err != nil {
		return nil, err
	}
	if now := markOf(info); c.all == nil || !c.read.same(now) {
		c.all = nil
		all, err := credentials.NewStore(c.path, credentials.StoreOptions{})
		if err != nil {
			return nil, err
		}
		c.read, c.all = now, all
	}
	return c.all, nil
}

// credential returns the credential of a registry.
func (c *dockerConfig) credential(ctx context.Context, registry string) (auth.Credential, error) {
	all, err := c.current()
	if err != nil {
		return auth.Credential{}, fmt.Errorf("docker configuration: %w", err)
	}
	return credentials.Credential(all)(ctx, registry)
}

// queries matches the beginning of a URL, and its query.
var queries = regexp.MustCompile(`(?i)(https?://[^\s"?]*)\?[^\s"]*`)

// withoutQueries is an error without the queries of URLs. Registries redirect to URLs whose queries have a signature,
// which is a credential.
type withoutQueries struct{ error }

func (e withoutQueries) Error() string { return queries.ReplaceAllString(e.error.Error(), "$1") }

// Unwrap returns the error.
func (e withoutQueries) Unwrap() error { return e.error }
