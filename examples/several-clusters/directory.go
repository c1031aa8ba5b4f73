// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

// file is a kubeconfig in the directory. Its name is the name of the cluster.
type file struct {
	content []byte
	leave   func() // makes the cluster leave, and waits until it has left
}

// follow reads the directory every second. Clusters join and leave the controller with their files.
func (cs *clusters) follow(ctx context.Context, ctl *kube.Controller[corev1.ConfigMap], dir string) {
	files := make(map[string]file)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		contents, err := readFiles(dir, files)
		if err != nil {
			slog.Error("read the directory", "err", err) // the clusters stay
			contents = nil
		}
		for name, f := range files {
			if content, ok := contents[name]; err == nil && (!ok || !bytes.Equal(content, f.content)) {
				f.leave()
				delete(files, name)
			}
		}
		for name, content := range contents {
			if _, ok := files[name]; !ok {
				files[name] = file{content, cs.join(ctx, ctl, name, filepath.Join(dir, name))}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			for _, f := range files {
				f.leave()
			}
			return
		}
	}
}

// readFiles returns the contents of the files in a directory, which may be a mounted Secret: its hidden entries are
// skipped. A file that can't be read keeps its former content.
func readFiles(dir string, before map[string]file) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	contents := make(map[string][]byte)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // of the file that a symbolic link leads to
		other := errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular()
		if other || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			slog.Error("read a kubeconfig", "err", err)
			content = before[e.Name()].content
		}
		if content != nil {
			contents[e.Name()] = content
		}
	}
	return contents, nil
}

// join adds the cluster of a kubeconfig to the controller, until the returned function is called. A cluster that can't
// be reached may join, too: its watches are retried, and do not delay the other clusters.
func (cs *clusters) join(
	ctx context.Context, ctl *kube.Controller[corev1.ConfigMap], name, kubeconfig string,
) (leave func()) {
	log := slog.With("cluster", name)
	cfg, err := kube.LoadConfig(ctx, &kube.ConfigOptions{Path: kubeconfig})
	if err != nil {
		log.Error("read the kubeconfig", "err", err)
		return func() {}
	}
	c, err := kube.NewClient(ctx, &kube.ClientOptions{Config: cfg})
	if err != nil {
		log.Error("create a client", "err", err)
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	cache := kube.NewCache(c, &kube.CacheOptions{Cluster: name})
	cs.add(c, cache)
	var engaged sync.WaitGroup
	engaged.Go(func() {
		log.Info("the cluster joins", "server", c.Server())
		err := ctl.Engage(ctx, cache)
		cs.byName.Delete(name)
		c.CloseIdleConnections()
		log.Info("the cluster has left", "reason", err)
	})
	return func() {
		stop()
		engaged.Wait()
	}
}
