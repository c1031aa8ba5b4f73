// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package service provides the verb that only services have: proxy.
//
//	resp, err := service.In(c, "prod").Proxy(ctx, "web", &request.ProxyOptions{Path: "healthz"})
package service
