// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package events tells people what a controller did to their objects, and why, by Kubernetes events.
//
// Use it for what somebody who runs `kubectl describe` on the object should know; it is no log and no queue, since the
// server forgets events after an hour.
//
//	rec := events.NewRecorder(c, &events.Options{Controller: "document-controller"})
//	go rec.Run(ctx)
//	…
//	rec.Event(doc, events.Event{
//		Type:   events.Warning,
//		Reason: "TemplateMissing",
//		Action: "Render",
//		Note:   fmt.Sprintf("ConfigMap %q does not exist", name),
//	})
//
// [Recorder.Event] never blocks and never fails; [Recorder.Run] writes. What a recorder cannot write is dropped, counted
// by [Recorder.Dropped] and logged. So a reconcile does not depend on its events, and there is no way to wait for one.
//
// # Series
//
// Events are the same when they agree in type, reason, action, object and related object; the note may differ, and the
// first one stays. The first of the same events creates an Event object of events.k8s.io/v1, all further ones only count
// in its series: the second is written at once, the following ones after a minute, then after as long as the series is
// old, at least every half hour. A series ends with its last count when nothing was added to it for six minutes. So a
// series costs the server some ten requests in its first two hours and two in each further one, however many repetitions
// there are. What varies belongs into the note, not into the reason.
//
// # Limits
//
// At most [Options.Queue] series wait to be written; a series that is new then is dropped. Notes are cut to 1024
// bytes, reasons and actions to 128. Events of cluster-scoped objects are stored in the namespace default. Do not put
// secrets into a note: whoever may read events reads it.
//
// # Permissions
//
// The controller needs the verbs create and patch on events of the group events.k8s.io, in the namespaces of its
// objects; for cluster-scoped objects in the namespace default.
//
// # Concurrency
//
// A [Recorder] is safe for concurrent use. It writes one event at a time.
package events
