// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/podfiles"
)

func Example() {
	// The server runs commands in a local directory. Programs call client.New(ctx, nil), which finds the kubeconfig.
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	s := httptest.NewServer(kubelet(dir))
	defer s.Close()
	ctx := context.Background()
	c, err := client.New(ctx, &client.Options{Config: &config.Config{Server: s.URL}})
	if err != nil {
		panic(err)
	}

	page := filepath.Join(dir, "index.html")
	if err := os.WriteFile(page, []byte("hello"), 0o600); err != nil {
		panic(err)
	}
	files := podfiles.In(pod.In(c, "prod"), "web-0", nil)
	stats, err := files.Upload(ctx, page, "copy.html")
	fmt.Println(stats.Bytes, err)
	_, err = files.Download(ctx, "copy.html", filepath.Join(dir, "back.html"))
	back, _ := os.ReadFile(filepath.Join(dir, "back.html"))
	fmt.Println(string(back), err)
	// Output:
	// 5 <nil>
	// hello <nil>
}
