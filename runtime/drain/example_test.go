// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kube-go/sdk/runtime/drain"
)

func ExampleNode() {
	ctx := context.Background()
	c := newCluster(nil, &podSpec{name: "agent", owner: "DaemonSet/agent"}, &podSpec{name: "web", owner: "ReplicaSet/web"})
	c.daemonSets = []string{"agent"}

	_, err := drain.Node(ctx, c.client(ctx), "n1", nil)
	fmt.Println(err)

	report, err := drain.Node(ctx, c.client(ctx), "n1", &drain.Options{
		IgnoreDaemonSets: true,
		Progress:         func(p drain.Pod) { fmt.Println(p) },
	})
	fmt.Println(len(report.Pods), err)
	// Output:
	// drain node n1: 1 pod remains: prod/agent: refused: daemon set agent would recreate it: set IgnoreDaemonSets to skip it
	// prod/agent: skipped: daemon set agent manages it
	// prod/web: pending
	// prod/web: evicted
	// prod/web: gone
	// 2 <nil>
}

func ExampleError() {
	err := error(&drain.Error{Node: "n1", Pods: []drain.Pod{{State: drain.Failed, Reason: "forbidden"}}})
	if e, ok := errors.AsType[*drain.Error](err); ok {
		for _, p := range e.Pods {
			fmt.Println(p.State, p.Reason)
		}
	}
	// Output: failed forbidden
}
