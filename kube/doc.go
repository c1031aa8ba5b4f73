// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is the front door of the Kubernetes SDK for Go. Import it, and whatever kinds you need, to read, write
// and control objects of an API server.
//
//	c, err := kube.NewClient(ctx, nil)               // kubeconfig, else in-cluster
//	if err != nil {
//		return err
//	}
//	pods := kube.Namespaced[corev1.Pod](c, "prod")   // *kube.API[corev1.Pod]
//	pod, err := pods.Get(ctx, "web-0", nil)          // *corev1.Pod
//	if errors.Is(err, kube.ErrNotFound) {
//		…
//	}
//
// It holds aliases and thin functions only. Each links the type or function it stands for, where methods, fields and
// details are described; what is not here is for special needs, and imported from its own package: the layers below are
// public too.
//
// # Kinds
//
// A kind is a Go struct that embeds metav1.TypeMeta and metav1.ObjectMeta: one of k8s.io/api, one that kube-derive or
// kubebuilder has generated, or a lean one of your own that declares only the fields you need. There is no scheme, no
// generated clientset and no list type. What a kind is called on the wire is known for k8s.io/api and for generated
// kinds; any other has a method KubeResource, or is named explicitly: [APIOf].
//
// Kinds that are known only at run time are found by the names people use:
//
//	disc, err := kube.Discover(ctx, c, nil)
//	res, err := disc.Resolve("deploy")               // plural, singular, short name or kind
//	objs := kube.Dynamic(c, res).In("prod")          // *kube.API[unstructured.Unstructured]
//
// A [Mapper] does the same for as long as a program runs, while kinds come and go. [Can] tells what one may do.
//
// # Read
//
// An [API] always asks the server. It is made by [Namespaced], [ClusterWide], [APIOf] or [Dynamic], and has the verbs
// Get, List, All and WatchOnce; [Watch] continues where a watch request ends:
//
//	for pod, err := range pods.All(ctx, &kube.ListOptions{LabelSelector: "app=web"}) { … } // page after page
//	for ev, err := range kube.Watch(ctx, pods, nil) { … } // until ctx ends, whatever happens to the connection
//
// An error is the last pair of a sequence. Options may always be nil. Metadata and Table ask for less than the objects.
//
// # Write
//
// Server-side apply is the first choice: it sends the fields that you decide, and leaves those of others alone. There
// are Create, Update, Patch, Delete and DeleteCollection too, and Status for the subresource of that name.
//
//	dep, err := deployments.Apply(ctx, desired, &kube.ApplyOptions{FieldManager: "web-controller"})
//	_, err = deployments.Patch(ctx, "web", kube.MergePatch(map[string]any{"spec": map[string]any{"replicas": 3}}), nil)
//	err = pods.Delete(ctx, "web-0", nil)
//
// Modify reads, changes and writes again until nobody comes in between; it sends what has changed, so that fields which
// the Go type does not declare survive:
//
//	dep, err = deployments.Modify(ctx, "web", func(d *appsv1.Deployment) error {
//		d.Spec.Paused = true
//		return nil
//	}, nil)
//
// Subresources are read and written by Status, Scale and Subresource. The verbs of single kinds have packages of their
// own: client/pod (see [Pods]), client/node, client/service, client/serviceaccount, client/csr and client/rollout.
// [Drain] moves the pods of a node to other nodes. [Documents] reads objects from YAML, and [InstallCRDs] brings a
// program's own kinds along.
//
// # Streams
//
// A command runs in a container, whose streams are readers and writers; a pod's port is a net.Conn or a local port;
// logs are lines, of one pod or of many; files are copied in and out:
//
//	pods := kube.Pods(c, "prod")
//	proc, err := pods.Exec(ctx, "web-0", &kube.ExecOptions{Command: []string{"cat", "/etc/hosts"}})
//	fwd, err := pods.PortForward("web-0", nil)
//	for line, err := range pods.LogLines(ctx, "web-0", &kube.LogOptions{Follow: true}) { … }
//	files := kube.PodFilesIn(pods, "web-0", nil)
//
// # Wait
//
// [Await] returns when an object is as wanted, and [AwaitGone] when it is gone; both watch, and do not poll.
//
//	crd, err := kube.Await(ctx, crds, name, kube.Established[unstructured.Unstructured](), nil)
//
// # Keep up
//
// A [Cache] holds objects as they were on the server a moment ago, packed, so that they take little memory. Whatever
// part of a program asks for a kind, there is one watch. A [View] is one kind in it, and its [Store] is what one reads:
//
//	view := kube.ViewOf[corev1.Pod](kube.NewCache(c, nil), &kube.Selection{Namespace: "prod"})
//	go view.Run(ctx)
//	err := view.Ready(ctx)
//	pod, err := view.Store().Get(kube.ObjectRef{Namespace: "prod", Name: "web-0"})
//
// A [Controller] stands on views, and calls a [Reconcile] for each object about which something may have changed:
//
//	cache := kube.NewCache(c, nil)
//	ctl := kube.NewController(kube.For[v1.Document](cache), nil).
//		Owns(kube.Source[corev1.ConfigMap](cache)).
//		Watches(kube.Source[corev1.Secret](cache).Map(documentsUsing))
//	err := ctl.Run(ctx, func(ctx context.Context, doc *v1.Document) (kube.Action, error) {
//		…
//		return kube.RequeueAfter(5 * time.Minute), nil
//	})
//
// [Finalize] cleans up outside the cluster before an object goes; a [Recorder] tells people what happened, by events.
//
// # Kinds of your own
//
// Write the spec as a struct; go tool kube-derive writes the kind, its descriptor, its deep copies and its
// CustomResourceDefinition, which [CRD] returns and [InstallCRDs] installs. "kube-derive init" starts a whole project.
// Package derive makes definitions by reflection, derive/validation says in a unit test what a server would say of an
// object, and derive/evolution what a change of a definition breaks.
//
// # Errors
//
// A verb wraps once, in an [*OpError] that prints "get pods prod/web-0: not found". Why the server said no is matched
// by errors.Is and the errors of this package, such as [ErrConflict]; all it said is in a [*StatusError]. A request
// that can't be right is never sent and is an [*InvalidError]; a server that can't be reached, a [*ConnectError] that
// says what to look at. [IsRetryable] and [RetryAfter] tell whether, and when, to try again.
//
// # Retries and timeouts
//
// A verb waits as long as its context lets it, but notices a connection that has died within 45 seconds, and a server
// that does not begin to answer after two minutes. A request that can do no harm a second time is sent again for up to
// 30 seconds when the server is too busy or gone, see [RetryOptions]. What keeps up (kube.Watch, caches, controllers,
// Await) tries again, ever more slowly, until its context ends. Whatever runs has a method Run, which returns when all
// it started has ended.
//
// # Concurrency
//
// Clients, APIs, caches, stores and recorders are safe for concurrent use. Objects that are returned are the caller's
// own.
package kube
