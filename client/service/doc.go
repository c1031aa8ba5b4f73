// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package service provides the verb that only services have: proxy.
//
// Use it for single HTTP requests to a service from outside its cluster, such as for its health or its metrics. The
// permission is the verb that belongs to the method of the request, such as get, for services/proxy.
//
//	c, err := client.New(ctx, nil)
//	if err != nil {
//		return err
//	}
//	resp, err := service.In(c, "prod").Proxy(ctx, "web", &request.ProxyOptions{Port: "http", Path: "healthz"})
//	if err != nil {
//		return err
//	}
//	defer resp.Body.Close()
//
// # Errors
//
// The error is a [client.OpError]. It contains a [*core.StatusError] for each response that is not a success, whether
// it comes from the service or from the API server. It has the body of the response unless that is a Status.
//
// # Concurrency
//
// An [API] is immutable and safe for concurrent use.
package service
