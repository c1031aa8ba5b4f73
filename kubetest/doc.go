// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubetest starts an API server in memory for the unit tests of controllers and other programs that use the
// Kubernetes API.
//
//	func TestOrderController(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			s := kubetest.Start(t, &kubetest.Options{
//				Definitions: []func() (*unstructured.Unstructured, error){kube.CRD[v1.Order]},
//				Objects:     []kube.Object{v1.NewOrder("shop", "one", v1.OrderSpec{Customer: "ann"})},
//			})
//			c := s.Client(nil)
//			m := kube.NewManager(c, nil)
//			controller.Add(m, c)
//			kubetest.Run(t, m.Run) // until the end of the test
//			synctest.Wait()        // until the controllers wait for changes
//			order, err := kube.Namespaced[v1.Order](c, "shop").Get(t.Context(), "one", nil)
//			if err != nil || order.Status.Phase != "Paid" {
//				t.Errorf("the order is %+v, %v", order, err)
//			}
//		})
//	}
//
// Clients use connections in memory. So a server starts in milliseconds, and works in the bubbles of testing/synctest,
// where <-time.After(time.Hour) returns at once. It also works in other tests. A test can start several servers, which
// are different clusters. A server is safe for concurrent use.
//
// # What the server does
//
// It serves the kinds that Kubernetes 1.37 has by default, except for APIServices and v1 of HorizontalPodAutoscalers,
// and the kinds of CustomResourceDefinitions. Requests have the effects and errors of a real server: resource versions
// and conflicts, generations, defaults, finalizers, server-side apply with managed fields, all types of patches, dry
// runs, subresources such as status, scale and eviction, selectors, pages, and watches with bookmarks and streaming
// lists. Custom resources are validated and pruned by their schemas and CEL rules. Objects that depend on deleted
// owners, namespaces and definitions are deleted immediately. A client that impersonates a user has the permissions of
// the roles on the server; others may do everything. Webhooks are called with Options.Webhooks. The tests of package
// conformance pass with this server and with a real one.
//
// # What the server does not do
//
// No controllers and no kubelet run: a Deployment has no pods, and pods do not start. A deleted or evicted pod of a
// node stays until the test deletes it with a GracePeriod of zero. A test writes the status that it needs, such as that
// of a PodDisruptionBudget, together with its observed generation. Nothing is allocated: Services get no IPs and node
// ports, pods no priorities and tolerations, and claims no finalizers. The default ClusterRoles do not exist, but
// cluster-admin can be bound. Objects of built-in kinds are checked for unknown fields, wrong types and their metadata,
// and configurations of webhooks also by their own rules, but the others are not checked by the rules of their kinds.
// Policies and quotas are not enforced; a warning reports this. Webhooks do not review what the server itself deletes.
// Webhooks with matchConditions or for scale, eviction and binding, tables, discovery without aggregation, logs, streams
// to containers and tokens of service accounts are not supported: requests for them are errors.
//
// # Faults
//
// [Explore] tests what happens if a program crashes after one of its writes, loses a response, or sees old objects, or if
// a read fails. It runs a scenario once for each fault at each request and compares the results. [ExploreChanges] tests
// changes of custom objects that users revert. To fail or delay single requests, pass a middleware in the options of the
// client. The methods of [Server] delay watches, end them, or make their versions expire.
package kubetest
