// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// maxFileBytes bounds a file with a certificate or a key.
const maxFileBytes = 1 << 20

// files reads a certificate and its key from files that another program writes, such as cert-manager or the kubelet.
type files struct {
	dir      string
	interval time.Duration
	logger   *slog.Logger
	serving  *atomic.Pointer[tls.Certificate]

	last    [2][]byte
	until   time.Time // the end of the certificate of last
	problem problem
}

// run reads the files until ctx ends.
func (f *files) run(ctx context.Context) {
	tick := time.NewTicker(f.interval)
	defer tick.Stop()
	for {
		if err := f.load(ctx); f.problem.isDue(err) {
			f.logger.WarnContext(ctx, "can't use the certificate of webhooks", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// load reads the files and uses them if they have changed. While only one of the files is new, they do not match: the
// old certificate stays in use. It returns an error if the certificate has expired.
func (f *files) load(ctx context.Context) error {
	var pair [2][]byte
	for i, name := range []string{certKey, privateKey} {
		data, err := readFile(filepath.Join(f.dir, name))
		if err != nil {
			return err
		}
		pair[i] = data
	}
	if bytes.Equal(pair[0], f.last[0]) && bytes.Equal(pair[1], f.last[1]) {
		return f.check(f.until)
	}
	cert, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil {
		return fmt.Errorf("%s: %s and %s are not a certificate and its key", f.dir, certKey, privateKey)
	}
	until := cert.Leaf.NotAfter
	if err := f.check(until); err != nil {
		return err
	}
	f.last, f.until = pair, until
	f.serving.Store(&cert)
	f.logger.InfoContext(ctx, "the certificate of webhooks has changed", "dir", f.dir, "validUntil", until)
	return nil
}

// check returns an error if a certificate with an end has expired.
func (f *files) check(until time.Time) error {
	if err := expired(until); err != nil {
		return fmt.Errorf("%s: %w", f.dir, err)
	}
	return nil
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = errors.New("is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
