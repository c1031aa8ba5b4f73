// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is a client SDK for Kubernetes: it reads, writes, watches and reconciles the objects of an API server.
//
//	c, err := kube.NewClient(ctx, nil)               // the kubeconfig or, in a pod, the service account
//	if err != nil {
//		return err
//	}
//	pods := kube.Namespaced[corev1.Pod](c, "prod")   // *kube.API[corev1.Pod]
//	pod, err := pods.Get(ctx, "web-0", nil)          // *corev1.Pod
//	if errors.Is(err, kube.ErrNotFound) {
//		…
//	}
//
// The package has the names that most programs use: type aliases, and functions that call a function of another
// package. The comment of an alias lists the fields and methods, and links the original, which documents them. In a
// terminal, go doc github.com/kube-go/sdk/client.API.Get prints the comment of a method. Everything else is in the
// packages listed below.
//
// # Kinds
//
// A kind is a Go struct that embeds metav1.TypeMeta and metav1.ObjectMeta: a type of k8s.io/api, a type that
// kube-derive or kubebuilder generated, or a type of your own that declares only the fields that you need. There is no
// scheme, no generated clientset and no list type. The resources of k8s.io/api and of generated types are known. For
// another type, define a method KubeResource, or pass the resource to [APIOf].
//
// Kinds that are known only at run time are found by name:
//
//	disc, err := kube.Discover(ctx, c, nil)
//	res, err := disc.Resolve("deploy")               // plural, singular, short name or kind
//	objs := kube.Dynamic(c, res).In("prod")          // *kube.API[unstructured.Unstructured]
//
// A [Mapper] does the same in programs that run while kinds are installed.
//
// # Reading
//
// An [API] sends each read to the server. [Namespaced], [ClusterWide], [APIOf] and [Dynamic] return one:
//
//	for pod, err := range pods.All(ctx, &kube.ListOptions{LabelSelector: "app=web"}) { … } // reads page after page
//	for ev, err := range kube.Watch(ctx, pods, nil) { … } // continues until ctx ends, and recovers from failures
//
// An error is the last pair of a sequence, except that a cache continues after an object that can't be decoded. Options
// may be nil. Metadata and Rows return less than whole objects.
//
// # Writing
//
// Use server-side apply where you can: it sends the fields that you manage and leaves all others unchanged. It creates
// an object that does not exist, unless you set the UID of the object that must exist.
//
//	dep, err := deployments.Apply(ctx, desired, &kube.ApplyOptions{FieldManager: "web-controller"})
//	_, err = deployments.Patch(ctx, "web", kube.MergePatch(map[string]any{"spec": map[string]any{"replicas": 3}}), nil)
//	err = pods.Delete(ctx, "web-0", nil)
//
// Modify reads an object, calls a function that changes it, and writes the difference. It repeats this when another
// client has changed the object meanwhile. Fields that the Go type does not declare are kept:
//
//	dep, err = deployments.Modify(ctx, "web", func(d *appsv1.Deployment) error {
//		d.Spec.Paused = true
//		return nil
//	}, nil)
//
// Status, Scale and Subresource return the subresources. [Documents] reads objects from YAML files.
//
// # Pods
//
// The verbs that only pods have are methods of [Pods]:
//
//	pods := kube.Pods(c, "prod")
//	proc, err := pods.Exec(ctx, "web-0", &kube.ExecOptions{Command: []string{"cat", "/etc/hosts"}})
//	out, err := proc.Output()
//	fwd, err := pods.PortForward("web-0", nil)       // Dial returns a net.Conn, Listen opens a local port
//	for line, err := range pods.LogLines(ctx, "web-0", &kube.LogOptions{Follow: true}) { … }
//
// # Waiting
//
// [Await] returns when a condition of an object holds, [AwaitGone] when the object is deleted. Both watch, and do not
// poll:
//
//	crd, err := kube.Await(ctx, crds, name, kube.Ready, nil)
//
// # Caches
//
// A [Cache] holds recent states of objects, packed, so that they need little memory. All parts of a program that use
// the same kind share one watch. A [View] is one kind in a cache, and its [Store] has the objects:
//
//	view := kube.ViewOf[corev1.Pod](kube.NewCache(c, nil), &kube.Selection{Namespace: "prod"})
//	go view.Run(ctx)
//	err := view.Ready(ctx)
//	pod, err := view.Store().Get(kube.ObjectRef{Namespace: "prod", Name: "web-0"})
//
// # Controllers
//
// A [Controller] calls a [Reconcile] function for each object that may have changed, or whose related objects may have
// changed:
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
// [Finalize] cleans up resources outside the cluster before an object is deleted. A [Recorder] writes events. [Logger]
// returns the logger of a run.
//
// # Managers
//
// A [Manager] runs the controllers and servers of a program with several replicas, until ctx ends or something fails:
//
//	m := kube.NewManager(c, &kube.ManagerOptions{
//		LeaderElection: "shop",                  // the other replicas are on standby, with synced caches
//		HealthAddr: ":8081",                     // /livez, /healthz and /readyz
//		MetricsAddr: ":8080",                    // /metrics, with controller-runtime's names
//		DebugAddr: "localhost:8082",             // /debug/controllers: queues, runs, errors, watches, leader, shards
//	})
//	m.Add(ctl.With(reconcile))                       // runs in the leader
//	m.AddToAll(kube.NewWebhookServer(c, o))          // runs in every replica
//	err := m.Run(ctx)
//
// With Sharding instead of LeaderElection, each replica reconciles a share of the objects. It watches only these
// objects if the view of the controller is sharded, see [Selection]. Manager.Fence is a middleware for the client of
// the reconciles: it refuses the writes of a replica whose term is over.
//
// # Custom resources
//
// Write the spec as a struct; "go tool kube-derive" generates the kind, its resource, its deep copies and its
// CustomResourceDefinition, which [CRD] returns and [InstallCRDs] installs. "kube-derive init" creates a project.
// [NewWebhookServer] serves webhooks; [ValidateHandler], [MutateHandler] and [ConversionHandler] return their handlers.
//
// # Errors
//
// The error of a verb is an [*OpError], which prints as "get pods prod/web-0: not found". Test for the reason with
// errors.Is and the errors of this package, such as [ErrConflict]. The server's response is a [*StatusError]. A request
// that is invalid is not sent and returns an [*InvalidError]. If the server can't be reached, the error is a
// [*ConnectError] that says what to check. [IsRetryable] reports whether the same request may succeed later.
//
// # Retries and timeouts
//
// A verb returns at the latest when its context ends. It fails earlier if the connection is silent for 45 seconds, or
// if the server does not start its response within two minutes. When a server is overloaded, or one that has responded
// before can't be reached, a request that is safe to repeat is sent again for up to 30 seconds, see [RetryOptions]. The
// first request of a client fails at once if the server can't be reached. Watches, caches, controllers and Await
// retry with a growing delay until their context ends. A method Run returns after all goroutines that it started have
// ended, unless functions of the program ignore the end of their context: the Run of a controller gives up on them 10
// seconds after its StopTimeout, that of a manager after its StopTimeout for what only the leader runs and again for the
// rest, and returns an error that names them.
//
// # Concurrency
//
// Clients, APIs, caches, stores and recorders are safe for concurrent use. The caller owns the objects that they
// return, except those of a decoded store.
//
// # WebAssembly modules
//
// The same program can be a module that a WebAssembly host runs, see [github.com/kube-go/sdk/client/guest]. The host
// has the credentials, the connection and the objects of caches. The names for pods (exec, logs, ports) and for webhook
// servers do not exist in a module.
//
// # Other packages
//
// All packages have the import path github.com/kube-go/sdk/…
//
//   - [github.com/kube-go/sdk/core]: kinds, resources, references and the error reasons
//   - [github.com/kube-go/sdk/core/request]: requests as values, without sending them; all options of verbs
//   - [github.com/kube-go/sdk/core/wire]: JSON, YAML and protobuf encodings, packed objects, strict decoding, limits
//   - [github.com/kube-go/sdk/core/patch]: the difference of two objects as a patch
//   - [github.com/kube-go/sdk/core/machine]: the status of a state machine
//   - [github.com/kube-go/sdk/core/managed]: managed fields: owners, conflicts, extraction, migration
//   - [github.com/kube-go/sdk/core/admission]: admission requests and responses
//   - [github.com/kube-go/sdk/core/abi]: the interface of controllers that are WebAssembly modules
//   - [github.com/kube-go/sdk/core/conversion]: conversion between the versions of a kind
//   - [github.com/kube-go/sdk/core/conversion/conversiontest]: tests of conversion functions
//   - [github.com/kube-go/sdk/client]: the client, its APIs, entries and feeds
//   - [github.com/kube-go/sdk/client/config]: reading and changing kubeconfig files
//   - [github.com/kube-go/sdk/client/auth]: exec plugins and OpenID Connect
//   - [github.com/kube-go/sdk/client/middleware]: retries, rate limits, observers of requests
//   - [github.com/kube-go/sdk/client/discovery]: discovery with a cache, OpenAPI, version and health of the server
//   - [github.com/kube-go/sdk/client/access]: access reviews and the identity of the client
//   - [github.com/kube-go/sdk/client/pod]: verbs of pods: exec, attach, logs, port forwarding, eviction, resize
//   - [github.com/kube-go/sdk/client/podfiles]: copying files to and from containers
//   - [github.com/kube-go/sdk/client/node]: verbs of nodes: cordon, proxy
//   - [github.com/kube-go/sdk/client/guest]: programs that run as WebAssembly modules
//   - [github.com/kube-go/sdk/client/service]: the proxy of services
//   - [github.com/kube-go/sdk/client/serviceaccount]: tokens of service accounts
//   - [github.com/kube-go/sdk/client/csr]: approval of certificate signing requests
//   - [github.com/kube-go/sdk/client/rollout]: restarts of workloads
//   - [github.com/kube-go/sdk/runtime/watcher]: a watch that recovers from failures
//   - [github.com/kube-go/sdk/runtime/reflector]: the packed store of one kind
//   - [github.com/kube-go/sdk/runtime/cache]: shared watches
//   - [github.com/kube-go/sdk/runtime/applier]: which key runs when: priorities, back-off, holds, ownership
//   - [github.com/kube-go/sdk/runtime/controller]: controllers
//   - [github.com/kube-go/sdk/runtime/manager]: controllers and servers under one Run
//   - [github.com/kube-go/sdk/runtime/debugpage]: a page that shows what the controllers of a program do
//   - [github.com/kube-go/sdk/runtime/metrics]: the metrics of controllers, caches, state machines, elections and
//     shards
//   - [github.com/kube-go/sdk/runtime/histogram]: the distribution of durations
//   - [github.com/kube-go/sdk/runtime/election]: one leader among replicas
//   - [github.com/kube-go/sdk/runtime/sharding]: the objects divided among replicas
//   - [github.com/kube-go/sdk/runtime/finalizer]: finalizers
//   - [github.com/kube-go/sdk/runtime/fsm]: reconciles as finite state machines whose transitions the compiler checks
//   - [github.com/kube-go/sdk/runtime/fsm/fsmtest]: tests of state machines: crashes at any request, transitions taken
//   - [github.com/kube-go/sdk/runtime/events]: the event recorder
//   - [github.com/kube-go/sdk/runtime/wait]: conditions to wait for
//   - [github.com/kube-go/sdk/runtime/drain]: draining nodes
//   - [github.com/kube-go/sdk/runtime/logs]: merged logs of many pods
//   - [github.com/kube-go/sdk/runtime/inventory]: apply and prune the objects that one object declares
//   - [github.com/kube-go/sdk/runtime/webhook]: a server of admission and conversion webhooks, and its certificates
//   - [github.com/kube-go/sdk/runtime/install]: installing CustomResourceDefinitions
//   - [github.com/kube-go/sdk/derive]: definitions of kinds by reflection
//   - [github.com/kube-go/sdk/derive/generate]: the generator of kube-derive
//   - [github.com/kube-go/sdk/derive/validation]: validation of objects as the server does it, for tests
//   - [github.com/kube-go/sdk/derive/evolution]: incompatible changes of a definition
//   - [github.com/kube-go/sdk/kubetest]: an API server in memory, for unit tests
//   - [github.com/kube-go/sdk/wasm/host]: controllers that are WebAssembly modules, in one process
//   - [github.com/kube-go/sdk/wasm/registry]: modules from OCI registries, files and folders
//   - [github.com/kube-go/sdk/wasm/registry/registrytest]: a registry for tests
//   - [github.com/kube-go/sdk/wasm/operator]: a host that runs the modules of WasmController objects
//   - [github.com/kube-go/sdk/wasm/v1alpha1]: the kind WasmController
//   - [github.com/kube-go/sdk/contrib/otel]: traces and metrics with OpenTelemetry
//   - [github.com/kube-go/sdk/contrib/prometheus]: metrics with the Prometheus library
//   - [github.com/kube-go/sdk/contrib/zstd]: the compression of a cache
package kube
