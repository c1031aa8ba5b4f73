// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package watcher keeps up with the objects of one kind, and gets over whatever comes in between.
//
// A watch of the API server ends every few minutes, and with every broken connection; it can't be taken up again once
// the server has forgotten its version. Use this package when you want the changes to go on regardless. For the objects
// themselves, at any time, want a store: package reflector.
//
//	pods := kube.Namespaced[corev1.Pod](client, "prod")
//	for ev, err := range watcher.Watch[corev1.Pod](ctx, pods.Feed(), nil) {
//		if err != nil {
//			return err // ctx has ended
//		}
//		fmt.Println(ev.Type, ev.Object.Name)
//	}
//
// [Watch] yields decoded objects and bridges gaps. [Events], on which it stands, yields packed objects and tells where
// lists begin and end; it remembers nothing of the objects.
//
// # How it keeps up
//
// The objects are listed by a streaming list, or in pages where the server does not do that; which of the two is found
// out once. Then they are watched. All lists ask for the newest state, so that nothing goes back in time.
//
//   - A watch that ends in good order, or whose connection breaks after it has worked, is opened again at once, from the
//     version that the consumer has taken last.
//   - When the server does not know that version any more (410), or says that the request or the watch itself is bad, the
//     objects are listed anew.
//   - Of other failures (429, 401, 403, 404, no connection, …) only the request is repeated; after ten in a row the objects
//     are listed anew all the same.
//   - A watch that ends within a second without telling anything new is a failure.
//   - A continue token that has expired restarts the list, this time without pages.
//
// # Retries and timeouts
//
// After a failure the watcher waits 0.8 s, after each further one twice as long, up to 30 s, each time with up to as much
// again at random; after two minutes without a failure it starts over. It waits at least as long as the server asks for
// with Retry-After. There is no limit to the number of retries: the kind may be installed, or the permission given, at
// any time. See [Config.Timeout] for connections that have died in silence.
//
// # Errors
//
// Trouble that the watcher gets over goes to [Config.OnError]. A sequence yields an error only as its last pair.
//
// # Concurrency
//
// A sequence runs in the goroutine that ranges over it, and starts no other. Break closes the connection before the loop
// returns. What [Events] and [Watch] return may be ranged over many times, also at the same time if the source can.
package watcher
