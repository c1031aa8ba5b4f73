// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
)

func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := client.New(ctx, &client.Options{Config: &config.Config{Server: "https://cluster.test"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	h, err := host.New(ctx, c, &host.Options{Logger: logger})
	if err != nil {
		fmt.Println(err)
		return
	}
	module := registrytest.Guest{Log: "hello"}.Module() // it logs a text when it starts
	if err := h.Set(ctx, host.Module{Name: "greeter", Binary: module}); err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	for h.Status()[0].Phase != host.Running {
		<-time.After(time.Millisecond)
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// level=INFO msg=hello module=greeter
	// context canceled
}
