// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

func reconcileFigures() []*figure {
	var all []*figure
	for _, kind := range []kind{configMaps, pods} {
		rate := func(library string, c starter) value {
			return value{library, roundTrial(fmt.Sprintf("no-op/%s-%s", library, string(kind)), kind, c), "rate"}
		}
		all = append(all, &figure{
			name: "no-op reconciles of " + string(kind) + ", one worker, object read", unit: inRate,
			ours:  rate("ours", startOurs),
			peers: []value{rate("classic", startClassic), rate("default", startDefault)},
			bar:   bar{ratio: 2, atLeast: true},
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
		for until := time.Now().Add(2 * e.time); len(rates) < 3 || time.Now().Before(until); {
			e.control.Touch("nodes", 0)
			took, err := await(ctl, ended)
			if err != nil {
				return nil, err
			}
			rates = append(rates, float64(e.objects)/took.Seconds())
		}
		slices.Sort(rates)
		return values{"rate": rates[len(rates)/2]}, nil
	}}
}
