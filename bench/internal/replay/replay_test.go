// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kube-go/sdk/bench/internal/objects"
	"github.com/kube-go/sdk/bench/internal/replay"
	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

const pods = 250

func newServer(t *testing.T, o replay.Options) (*replay.Server, string) {
	t.Helper()
	res, err := core.ResourceOf[corev1.Pod]()
	if err != nil {
		t.Fatal(err)
	}
	all := replay.NewCollection(res, pods, func(i int) replay.Object { return objects.Pod(i) })
	o.Collections = []*replay.Collection{all}
	s := replay.New(&o)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// eachServer runs a test with each way to list objects.
func eachServer(t *testing.T, test func(t *testing.T, s *replay.Server, url string)) {
	t.Helper()
	for _, lists := range []bool{false, true} {
		t.Run(fmt.Sprintf("lists=%v", lists), func(t *testing.T) {
			s, url := newServer(t, replay.Options{Lists: lists})
			test(t, s, url)
		})
	}
}

func stripped(pod *corev1.Pod) *corev1.Pod {
	pod.ManagedFields = nil
	return pod
}

// synced starts the reflector of a feed and waits until its store is synced, and then until it has seen a change.
func synced[K any, P core.ObjectPtr[K]](t *testing.T, s *replay.Server, feed *client.Feed) *reflector.Store[K] {
	t.Helper()
	r := reflector.New(feed, &reflector.Options{Watch: watcher.Options{
		PageSize: 100,
		OnError: func(err error) {
			if !strings.Contains(err.Error(), "sendInitialEvents is forbidden") {
				t.Error(err)
			}
		},
	}})
	store := reflector.StoreOf[K, P](r)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	if err := store.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Touch("pods", 7)
	if err := store.WaitForVersion(t.Context(), fmt.Sprint(objects.LastResourceVersion+1)); err != nil {
		t.Fatal(err)
	}
	return store
}

func newClient(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: url}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReflectorReceivesThePods(t *testing.T) {
	for _, e := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		t.Run(e.String(), func(t *testing.T) {
			eachServer(t, func(t *testing.T, s *replay.Server, url string) {
				store := synced[corev1.Pod](t, s, client.ClusterWide[corev1.Pod](newClient(t, url)).PreferEncoding(e).Feed())
				for i := range pods {
					want := stripped(objects.Pod(i))
					got, err := store.Get(core.RefOf(want))
					if err != nil {
						t.Fatal(err)
					}
					checkPod(t, i, got, want)
				}
			})
		})
	}
}

// checkPod compares pods, of which pod 7 was changed.
func checkPod(t *testing.T, i int, got, want *corev1.Pod) {
	t.Helper()
	if i == 7 {
		if got.Annotations[replay.Sent] == "" {
			t.Errorf("pod 7 has the annotations %v, want %s", got.Annotations, replay.Sent)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("pod %d differs (-want +got):\n%s", i, diff)
	}
}

func TestReflectorReceivesTheMetadata(t *testing.T) {
	eachServer(t, func(t *testing.T, s *replay.Server, url string) {
		res, _ := core.ResourceOf[corev1.Pod]()
		api := client.Of[metav1.PartialObjectMetadata](newClient(t, url), res)
		store := synced[metav1.PartialObjectMetadata](t, s, api.Feed())
		for i := range pods {
			want := stripped(objects.Pod(i)).ObjectMeta
			got, err := store.Get(core.RefOf(&want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.ObjectMeta); i != 7 && diff != "" {
				t.Fatalf("pod %d differs (-want +got):\n%s", i, diff)
			}
		}
	})
}

// runInformer runs an informer until the end of the test, and waits until it has seen a change of pod 7.
func runInformer(t *testing.T, s *replay.Server, informer cache.SharedIndexInformer) {
	t.Helper()
	changed := make(chan struct{}, 100)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { changed <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer is not synced")
	}
	s.Touch("pods", 7)
	<-changed
}

func TestInformerReceivesThePods(t *testing.T) {
	for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(media, func(t *testing.T) {
			eachServer(t, func(t *testing.T, s *replay.Server, url string) {
				clients, err := kubernetes.NewForConfig(&rest.Config{
					Host: url, ContentConfig: rest.ContentConfig{ContentType: media, AcceptContentTypes: media},
				})
				if err != nil {
					t.Fatal(err)
				}
				informer := informers.NewSharedInformerFactory(clients, 0).Core().V1().Pods().Informer()
				runInformer(t, s, informer)
				for i := range pods {
					want := objects.Pod(i)
					got, ok, err := informer.GetStore().GetByKey(want.Namespace + "/" + want.Name)
					if err != nil || !ok {
						t.Fatalf("pod %s: %v, %v", want.Name, ok, err)
					}
					pod := got.(*corev1.Pod)
					pod.TypeMeta = want.TypeMeta
					checkPod(t, i, pod, want)
				}
			})
		})
	}
}

func TestInformerReceivesTheMetadata(t *testing.T) {
	eachServer(t, func(t *testing.T, s *replay.Server, url string) {
		c, err := metadata.NewForConfig(&rest.Config{Host: url})
		if err != nil {
			t.Fatal(err)
		}
		factory := metadatainformer.NewSharedInformerFactory(c, 0)
		informer := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer()
		runInformer(t, s, informer)
		want := objects.Pod(3)
		got, ok, err := informer.GetStore().GetByKey(want.Namespace + "/" + want.Name)
		if err != nil || !ok {
			t.Fatalf("pod %s: %v, %v", want.Name, ok, err)
		}
		if diff := cmp.Diff(want.ObjectMeta, got.(*metav1.PartialObjectMetadata).ObjectMeta); diff != "" {
			t.Errorf("the metadata differs (-want +got):\n%s", diff)
		}
		if n := len(informer.GetStore().ListKeys()); n != pods {
			t.Errorf("the informer has %d pods, want %d", n, pods)
		}
	})
}

func TestServerRejectsWhatItDoesNotSupport(t *testing.T) {
	_, url := newServer(t, replay.Options{})
	for path, want := range map[string]int{
		"/api/v1/pods?labelSelector=app%3Dweb":           http.StatusBadRequest,
		"/api/v1/pods?fieldSelector=a%3Db":               http.StatusBadRequest,
		"/api/v1/secrets":                                http.StatusNotFound,
		"/api/v1/namespaces/prod/pods/web":               http.StatusNotFound,
		"/api/v1/pods?watch=true&resourceVersion=17":     http.StatusGone,
		"/api/v1/pods?continue=later":                    http.StatusGone,
		"/api/v1/pods?limit=2&continue=" + fmt.Sprint(2): http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("GET %s: status %d, want %d", path, response.StatusCode, want)
		}
	}
}
