// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/metrics"
)

func metricsFigures() []*figure {
	t := metricsTrial("metrics/ours")
	return []*figure{{
		name: "CPU of a no-op reconcile while the metrics are scraped every second", unit: inUS,
		ours: value{"", t, "scraped"}, peers: []value{{"not scraped", t, "alone"}}, bar: bar{ratio: 1.03},
	}}
}

// metricsTrial measures the CPU time of reconciles that do nothing, in turn with and without scrapes of the metrics.
// The CPU time of a scrape includes that of its client.
func metricsTrial(name string) *trial {
	return &trial{name: name, limit: someObjects, run: func(ctx context.Context, e *env) (values, error) {
		c, err := newClient(ctx, e)
		if err != nil {
			return nil, err
		}
		var (
			runs  int // of the current round; only the worker uses it
			ended = make(chan struct{}, 1)
		)
		base := controller.New(controller.For[corev1.ConfigMap](cache.New(c, nil)), quiet(1))
		ctl := base.With(func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
			if runs++; runs == e.objects {
				runs = 0
				ended <- struct{}{}
			}
			return controller.AwaitChange(), nil
		})
		registry := metrics.NewRegistry()
		if err := registry.AddController(ctl); err != nil {
			return nil, err
		}
		endpoint := httptest.NewServer(registry)
		defer endpoint.Close()
		running := start(ctx, ctl.Run)
		defer running.stop()
		if _, err := await(running, ended); err != nil { // the start of the controller
			return nil, err
		}

		// phase returns the CPU time of a reconcile.
		phase := func() (float64, error) {
			rounds, used := 0, cpu()
			for until := time.Now().Add(4 * e.time); rounds == 0 || time.Now().Before(until); rounds++ {
				base.ReconcileAll()
				if _, err := await(running, ended); err != nil {
					return 0, err
				}
			}
			return (cpu() - used).Seconds() / float64(rounds*e.objects), nil
		}
		all := map[string][]float64{}
		for i := range 8 {
			name := []string{"alone", "scraped", "scraped", "alone"}[i%4] // drift concerns both equally
			stop := func() error { return nil }
			if name == "scraped" {
				stop = scrape(ctx, endpoint)
			}
			took, err := phase()
			if scraping := stop(); err == nil {
				err = scraping
			}
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], took)
		}
		return values{"scraped": mean(all["scraped"]), "alone": mean(all["alone"])}, nil
	}}
}

// scrape reads the metrics at once, and then every second until stop.
func scrape(ctx context.Context, endpoint *httptest.Server) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		wg  sync.WaitGroup
		err error
	)
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for err == nil && ctx.Err() == nil {
			err = get(context.WithoutCancel(ctx), endpoint)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() error {
		cancel()
		wg.Wait()
		return err
	}
}

func get(ctx context.Context, endpoint *httptest.Server) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint.URL, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := endpoint.Client().Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
