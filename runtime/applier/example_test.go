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
	q := applier.New[string](&applier.Options{Backoff: applier.Backoff{InitialBackoff: time.Millisecond}})
	defer q.Close()

	q.Add("prod/web", applier.Normal)
	q.Add("prod/web", applier.Normal) // collapses into the previous one
	q.Add("prod/db", applier.High)

	for range 3 {
		item, err := q.Get(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if item.Key == "prod/web" && item.Failures == 0 {
			fmt.Println(item.Key, "fails; retry in", q.Retry(item.Key, item.Priority, 0))
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
	q := applier.New[string](nil)
	q.Add("prod/web", applier.Normal)
	q.AddAfter("prod/db", applier.Normal, time.Hour)

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
