// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package events records Kubernetes events: what a controller did to an object, and why, for the users of the object.
//
// Use it for information that belongs in the output of `kubectl describe`. It is neither a log nor a queue: the server
// deletes events after an hour.
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
// [Recorder.Event] never blocks and never fails; [Recorder.Run] writes the events. Events that can't be written are
// dropped, counted by [Recorder.Dropped] and logged. So a reconcile does not depend on its events, and can't wait for
// an event.
//
// # Series
//
// Events are equal if they have the same type, reason, action, object and related object. The note may differ; the
// first one is kept. The first of several equal events creates an Event object of events.k8s.io/v1. Further ones only
// increase the count of its series: the second is written immediately, later ones after a minute, and then whenever the
// age of the series has doubled, but at least every half hour. A series ends with a write of its last count when no
// event was added for six minutes. So a series costs about ten requests in its first two hours and two in each further
// hour, however many repetitions there are. Put variable information into the note, not into the reason.
//
// # Limits
//
// A recorder sends at most [Options.RequestsPerSecond] on average, and the requests of five seconds at once, whatever
// the number of objects and controllers that use it. An object has at most 25 different events of one type, and one
// more every five minutes. At most [Options.QueueSize] series wait to be written; when that many wait, a new series is
// dropped. If the server has internal errors in one namespace, for example because an admission webhook fails, the
// events of that namespace are sent less often, and are the first to be dropped. The recorder holds at most five times
// as many series, which is about 10 MB by default, even while the server is down. Notes are cut to 1024 bytes, reasons
// and actions to 128. Events of cluster-scoped objects are stored in the namespace default. Do not put secrets into a
// note: everyone who may read events can read it.
//
// # Permissions
//
// The controller needs the verbs create and patch for events of the group events.k8s.io, in the namespaces of its
// objects, and for cluster-scoped objects in the namespace default.
//
// # Stop
//
// [Recorder.Run] must end after the controllers, so that it also writes the events of their last runs: with package
// manager, add the recorder with AddToAll.
//
// # Concurrency
//
// A [Recorder] is safe for concurrent use. It writes one event at a time.
package events
