// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/histogram"
	"github.com/kube-go/sdk/runtime/sharding"
	"github.com/kube-go/sdk/runtime/webhook"
)

// TestStatesOfPartsBecomeSamples checks the labels and the value of each metric of elections, shards and webhooks. The
// numbers of two servers with the same path are added.
func TestStatesOfPartsBecomeSamples(t *testing.T) {
	tb := newTable(families())
	tb.elections([]election.Status{{
		Lease: core.ObjectRef{Namespace: "prod", Name: "shop"}, Leading: true, Transitions: 24, Err: errors.New("cut"),
	}})
	tb.shards([]sharding.Status{
		{Name: "shards", Slots: 64, Members: make([]sharding.MemberStatus, 2)},
		{Name: "other", Slots: 1, Members: make([]sharding.MemberStatus, 1)},
		{Name: "shards", Slots: 128, Members: make([]sharding.MemberStatus, 3), Err: errors.New("cut")}, // another namespace
	})
	path := func(n uint64) webhook.Metrics {
		return webhook.Metrics{
			Path: "/validate", InFlight: int(n), Codes: map[int]uint64{200: n + 1, 500: n + 2}, Panics: n + 3,
			Took: histogram.Histogram{
				Count: n + 4, Sum: time.Duration(n) * time.Second, Buckets: []histogram.Bucket{{UpperBound: time.Second, Count: n}},
			},
		}
	}
	tb.webhooks([]webhook.Metrics{path(1), path(10)})
	var got strings.Builder
	for _, f := range tb.sorted() {
		for _, s := range f.Samples {
			fmt.Fprintln(&got, f.Name, s.Labels, s.Value, s.Histogram)
		}
	}
	const want = `leader_election_master_status [shop] 1 {0 0s []}
kube_leader_election_transitions [shop] 24 {0 0s []}
kube_leader_election_failing [shop] 1 {0 0s []}
kube_sharding_slots [other] 1 {0 0s []}
kube_sharding_slots [shards] 192 {0 0s []}
kube_sharding_members [other] 1 {0 0s []}
kube_sharding_members [shards] 5 {0 0s []}
kube_sharding_failing [other] 0 {0 0s []}
kube_sharding_failing [shards] 1 {0 0s []}
controller_runtime_webhook_requests_total [/validate 200] 13 {0 0s []}
controller_runtime_webhook_requests_total [/validate 500] 15 {0 0s []}
controller_runtime_webhook_latency_seconds [/validate] 0 {19 11s [{1s 11}]}
controller_runtime_webhook_requests_in_flight [/validate] 11 {0 0s []}
controller_runtime_webhook_panics_total [] 17 {0 0s []}
`
	if got.String() != want {
		t.Errorf("the samples are\n%s\nwant\n%s", got.String(), want)
	}
}
