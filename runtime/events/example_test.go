// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/events"
)

func ExampleRecorder() {
	s := &server{} // stands in for a cluster
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: s,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	rec := events.NewRecorder(c, &events.Options{Controller: "document-controller"})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := rec.Run(ctx); !errors.Is(err, context.Canceled) {
			fmt.Println(err)
		}
	})

	for range 3 {
		rec.Event(doc("manual"), events.Event{
			Type:   events.Warning,
			Reason: "TemplateMissing",
			Action: "Render",
			Note:   "ConfigMap template does not exist",
		})
	}

	stop()
	running.Wait() // all events have been written

	for _, ev := range s.all() {
		fmt.Printf("%s %s %s/%s: %s (%d times)\n",
			ev.Type, ev.Reason, ev.Regarding.Kind, ev.Regarding.Name, ev.Note, ev.count())
	}

	// Output:
	// Warning TemplateMissing Document/manual: ConfigMap template does not exist (3 times)
}
