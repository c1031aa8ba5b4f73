// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

func reconcileFigures() []*figure {
	var all []*figure
	for _, kind := range []kind{configMaps, pods} {
		of := func(library string, c starter) *trial {
			return roundTrial(fmt.Sprintf("no-op/%s-%s", library, string(kind)), kind, c)
		}
		ours, classic, modern := of("ours", startOurs), of("classic", startClassic), of("default", startDefault)
		work := "of " + string(kind) + ", one worker, object read"
		all = append(all, &figure{
			name: "no-op reconciles " + work, unit: inRate, ours: value{"", ours, "rate"},
			peers: []value{{"classic", classic, "rate"}, {"default", modern, "rate"}}, bar: bar{ratio: 2, atLeast: true},
		}, &figure{
			name: "CPU of a no-op reconcile " + work, unit: inUS, ours: value{"", ours, "cpu"},
			peers: []value{{"classic", classic, "cpu"}, {"default", modern, "cpu"}}, bar: bar{ratio: 0.5},
		})
	}
	return all
}

// someObjects is the number of objects of the trials with controllers.
const someObjects = 10_000

// roundTrial measures the rate of reconciles that do nothing. In each round, a change of a node triggers one reconcile
// of each object.
func roundTrial(name string, k kind, open starter) *trial {
	return &trial{name: name, limit: someObjects, run: func(ctx context.Context, e *env) (values, error) {
		var (
			began time.Time
			runs  int // of the current round; only the worker uses it
			ended = make(chan time.Duration, 1)
		)
		run, err := open(ctx, e, k, func(read func() (string, error)) error {
			if runs == 0 {
				began = time.Now()
			}
			if _, err := read(); err != nil {
				return err
			}
			if runs++; runs == e.objects {
				runs = 0
				ended <- time.Since(began)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		ctl := start(ctx, run)
		defer ctl.stop()
		if _, err := await(ctl, ended); err != nil { // the start of the controller
			return nil, err
		}
		var rates []float64
		used := cpu()
		for until := time.Now().Add(2 * e.time); len(rates) < 3 || time.Now().Before(until); {
			e.control.Touch("nodes", 0)
			took, err := await(ctl, ended)
			if err != nil {
				return nil, err
			}
			rates = append(rates, float64(e.objects)/took.Seconds())
		}
		used = (cpu() - used) / time.Duration(len(rates))
		return values{"rate": median(rates), "cpu": used.Seconds() / float64(e.objects)}, nil
	}}
}
