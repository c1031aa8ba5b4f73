// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
)

func ExampleNew() {
	ctx := context.Background()
	q := applier.New[string, string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Millisecond}})
	defer q.Close()

	q.Add("prod/web", applier.Normal, "changed")
	q.Add("prod/web", applier.Normal, "changed") // collapses into the previous one
	q.Add("prod/db", applier.High, "changed")

	for range 3 {
		item, err := q.Get(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if item.Key == "prod/web" && item.Failures == 0 {
			fmt.Println(item.Key, "fails; retry in", q.Retry(item.Key, item.Priority, "failed", 0))
		} else {
			fmt.Println(item.Key, "is fine")
		}
		q.Done(item.Key)
	}
	// Output:
	// prod/db is fine
	// prod/web fails; retry in 1ms
	// prod/web is fine
}

func ExampleApplier_Drain() {
	ctx := context.Background()
	q := applier.New[string, string](nil)
	q.Add("prod/web", applier.Normal, "changed")
	q.AddAfter("prod/db", applier.Normal, "requested", time.Hour)

	go func() {
		for {
			item, err := q.Get(ctx)
			if errors.Is(err, applier.ErrClosed) {
				return
			}
			fmt.Println("work on", item.Key)
			q.Done(item.Key)
		}
	}()

	grace, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := q.Drain(grace); err != nil {
		fmt.Println("some keys are not done:", err)
	}
	// Output: work on prod/web
}
