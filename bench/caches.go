// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	peers "k8s.io/client-go/tools/cache"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/contrib/zstd"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// contender is a cache of pods that is not running yet.
type contender interface {
	// Run syncs the cache until ctx ends.
	Run(ctx context.Context)
	// Ready waits until the cache is synced.
	Ready(ctx context.Context) error
	// Len returns the number of objects.
	Len() int
}

// maker returns a new cache, without objects, which reads from the trial's server.
type maker func(ctx context.Context, e *env) (contender, error)

// leanPod declares five fields of a pod besides its metadata.
type leanPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName           string `json:"nodeName"`
		ServiceAccountName string `json:"serviceAccountName"`
	} `json:"spec"`
	Status struct {
		Phase    string `json:"phase"`
		PodIP    string `json:"podIP"`
		QOSClass string `json:"qosClass"`
	} `json:"status"`
}

// KubeResource implements core.Describer.
func (*leanPod) KubeResource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
}

// taggedPod is leanPod with the protobuf tags of k8s.io/api, so that the cache requests it as protobuf.
type taggedPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`

	Spec struct {
		NodeName           string `json:"nodeName" protobuf:"bytes,10,opt,name=nodeName"`
		ServiceAccountName string `json:"serviceAccountName" protobuf:"bytes,8,opt,name=serviceAccountName"`
	} `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	Status struct {
		Phase    string `json:"phase" protobuf:"bytes,1,opt,name=phase"`
		PodIP    string `json:"podIP" protobuf:"bytes,6,opt,name=podIP"`
		QOSClass string `json:"qosClass" protobuf:"bytes,9,opt,name=qosClass"`
	} `json:"status" protobuf:"bytes,3,opt,name=status"`
}

// KubeResource implements core.Describer.
func (*taggedPod) KubeResource() core.Resource { return (*leanPod)(nil).KubeResource() }

// jsonPod is a whole pod. The cache requests it as JSON, because it is not a type of k8s.io/api.
type jsonPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   corev1.PodSpec   `json:"spec"`
	Status corev1.PodStatus `json:"status"`
}

func newClient(ctx context.Context, e *env) (*client.Client, error) {
	o := &client.Options{Config: &config.Config{Server: e.url}}
	if e.wrap != nil {
		o.PerAttempt = []middleware.Func{e.wrap}
	}
	return client.New(ctx, o)
}

// view is a view of a cache of the SDK.
type view[K any] struct{ *cache.View[K] }

func (v view[K]) Run(ctx context.Context) { _ = v.View.Run(ctx) } // it ends with ctx; Ready returns other errors

func (v view[K]) Len() int { return v.Store().Len() }

// newView returns the maker of a view of pods.
func newView[K any, P core.ObjectPtr[K]]() maker {
	return func(ctx context.Context, e *env) (contender, error) {
		v, err := viewOf[K, P](ctx, e, nil)
		return view[K]{v}, err
	}
}

// newCompressedView is newView for pods in a cache that compresses them.
func newCompressedView(ctx context.Context, e *env) (contender, error) {
	v, err := viewOf[corev1.Pod](ctx, e, &cache.Options{Compression: zstd.New})
	return view[corev1.Pod]{v}, err
}

func viewOf[K any, P core.ObjectPtr[K]](ctx context.Context, e *env, o *cache.Options) (*cache.View[K], error) {
	c, err := newClient(ctx, e)
	if err != nil {
		return nil, err
	}
	pods, err := core.ResourceOf[corev1.Pod]()
	return cache.OfResource[K, P](cache.New(c, o), pods, nil), err
}

// informer is an informer of client-go.
type informer struct{ peers.SharedIndexInformer }

func (i informer) Run(ctx context.Context) { i.RunWithContext(ctx) }

func (i informer) Ready(ctx context.Context) error {
	if !peers.WaitForCacheSync(ctx.Done(), i.HasSynced) {
		return errors.New("the informer is not synced")
	}
	return nil
}

func (i informer) Len() int { return len(i.GetStore().ListKeys()) }

func restConfig(e *env, media string) *rest.Config {
	return &rest.Config{
		Host: e.url, ContentConfig: rest.ContentConfig{ContentType: media, AcceptContentTypes: media}, QPS: -1,
	}
}

// newInformer returns the maker of a typed informer of pods. transform may be nil.
func newInformer(media string, transform peers.TransformFunc) maker {
	return func(_ context.Context, e *env) (contender, error) {
		c, err := kubernetes.NewForConfig(restConfig(e, media))
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithTransform(transform))
		return informer{factory.Core().V1().Pods().Informer()}, nil
	}
}

// newMetadataInformer returns the maker of an informer of the metadata of pods. transform may be nil.
func newMetadataInformer(transform peers.TransformFunc) maker {
	return func(_ context.Context, e *env) (contender, error) {
		c, err := metadata.NewForConfig(restConfig(e, ""))
		if err != nil {
			return nil, err
		}
		factory := metadatainformer.NewSharedInformerFactoryWithOptions(c, 0, metadatainformer.WithTransform(transform))
		return informer{factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer()}, nil
	}
}

// strip removes the managedFields, as many users of client-go do.
func strip(obj any) (any, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetManagedFields(nil)
	return obj, nil
}

// synced runs a cache, waits until it is synced, and returns a function that stops it.
func synced(ctx context.Context, e *env, c contender) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	stop = func() {
		cancel()
		wg.Wait()
	}
	err = c.Ready(ctx)
	if n := c.Len(); err == nil && n != e.objects {
		err = fmt.Errorf("the cache has %d objects, and the server has %d", n, e.objects)
	}
	if err != nil {
		stop()
	}
	return stop, err
}

func refOf(namespace, name string) core.ObjectRef {
	return core.ObjectRef{Namespace: namespace, Name: name}
}
