// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package debugpage serves a page that shows what the controllers of a program do now.
//
// A manager of package manager serves it at /debug/controllers, see its Options.DebugAddr. Use this package for
// programs without a manager:
//
//	page := debugpage.New(registry) // a metrics.Registry
//	http.Handle("GET /debug/controllers", page)
//	http.Handle("GET /debug/controllers/data", page)
//
// The page shows, and updates each second:
//
//   - controllers: the queue by priority; the current runs with their age and cause; failing objects with the error of
//     the last run, the number of failures and the time of the next run; objects that are held back; the sources
//   - watches: phase, selection, objects, the time since the last data, the error of the last request, and whether the
//     server selects the objects of a shard or sends all of them
//   - leader elections, and tables of other packages, see [Handler.AddTable]
//   - state machines: the graph with the number of objects in each state, and the objects in it, first those that are
//     stuck or failing
//
// It is one file without external assets. It reads a JSON document, which is meant for the page only and has no stable
// format. Lists are bounded, see [Handler]. All tabs share one document, which is made at most twice a second.
//
// It has no profiles: package net/http/pprof links html/template, which makes each program several megabytes larger.
// Programs that need profiles import it and serve them at an address of their own.
//
// # Security
//
// The page has no authentication. It shows names of objects, and errors as they are logged. It does not show the
// content of objects, so the data of a Secret can only be part of it if an error or a reason of the program contains
// it. Serve it on a loopback address, such as localhost:8082, and reach it with kubectl port-forward. On a loopback
// address, the handler refuses requests for other host names, so that a web site can't read the page through a name
// that it resolves to 127.0.0.1.
//
// # Concurrency
//
// A [Handler] is safe for concurrent use.
package debugpage
