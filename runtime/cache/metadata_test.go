// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

var secrets, _ = core.ResourceOf[corev1.Secret]()

const password = "hush-hush"

func secret(name string) *corev1.Secret {
	r := ref(name)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, Labels: map[string]string{"app": "web"}},
		StringData: map[string]string{"password": password},
	}
}

// acceptances records the media types that requests accept.
type acceptances struct {
	*fakeapi.Server

	mu   sync.Mutex // guards list
	list []string
}

func (a *acceptances) RoundTrip(r *http.Request) (*http.Response, error) {
	what := "list"
	if r.URL.Query().Has("watch") {
		what = "watch"
	}
	a.mu.Lock()
	for mediaType := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		_, parameters, _ := strings.Cut(mediaType, ";")
		parameters = strings.TrimSuffix(parameters, ";drop=metadata.managedFields") // each type is sent with and without it
		a.list = append(a.list, what+" "+strings.TrimPrefix(parameters, "stream=watch;"))
	}
	a.mu.Unlock()
	return a.Server.RoundTrip(r)
}

// want checks that there were requests of some verbs, and that all of them accept only metadata.
func (a *acceptances) want(t *testing.T, verbs ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.Sort(a.list)
	got := slices.Compact(a.list)
	want := map[string]string{
		"list":  "list as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"watch": "watch as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
	}
	for i, verb := range verbs {
		if i >= len(got) || got[i] != want[verb] {
			t.Errorf("the requests accept %q, want %q", got, want[verb])
		}
	}
	if len(got) != len(verbs) {
		t.Errorf("the requests accept %q, want those of %s", got, verbs)
	}
}

func newSecrets(names ...string) *acceptances {
	a := &acceptances{Server: fakeapi.New(secrets)}
	for _, name := range names {
		a.Put(secrets, secret(name))
	}
	return a
}

// secretMetadata is a metadata type with a known kind.
type secretMetadata struct{ metav1.PartialObjectMetadata }

func (*secretMetadata) KubeResource() core.Resource { return secrets }

// wantMetadata checks that a store holds only the metadata of a secret.
func wantMetadata[K any, P core.ObjectPtr[K]](t *testing.T, s *reflector.Store[K], name string) {
	t.Helper()
	packed := s.State(ref(name)).Packed()
	if packed.Len() == 0 || bytes.Contains(packed.Bytes(), []byte(password)) || bytes.Contains(packed.Bytes(), []byte("stringData")) {
		t.Errorf("the store holds %q, want only metadata", packed.Bytes())
	}
	got, err := s.Get(ref(name))
	if err != nil {
		t.Fatal(err)
	}
	obj := P(got)
	if core.RefOf(obj).String() != name || obj.GetLabels()["app"] != "web" || obj.GetObjectKind().GroupVersionKind() != secrets.GroupVersionKind() {
		t.Errorf("Get() = %+v, want the metadata of a Secret", got)
	}
}

func TestMetadataViewRequestsAndHoldsOnlyMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecrets("prod/a")
		c := through(t, s)
		explicit := cache.OfResource[metav1.PartialObjectMetadata](c, secrets, nil)
		described := cache.Of[secretMetadata](c, nil)
		if cache.MetadataOf[corev1.Secret](c, nil) != explicit {
			t.Error("MetadataOf returns another view than OfResource")
		}
		start(t, explicit)
		start(t, described)
		s.Put(secrets, secret("prod/b"))
		synctest.Wait()
		for _, name := range []string{"prod/a", "prod/b"} {
			wantMetadata(t, explicit.Store(), name)
			wantMetadata(t, described.Store(), name)
		}
		s.want(t, "watch")
	})
}

func feedOf(t *testing.T, s *acceptances) *client.Feed {
	t.Helper()
	return client.ClusterWide[corev1.Secret](fakeapi.ClientOf(s)).Feed()
}

func TestMetadataReflectorRequestsMetadataFromAFeedOfObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecrets("prod/a")
		o := &reflector.Options{Watch: watcher.Options{Paged: true}}
		r := reflector.New(feedOf(t, s), o)
		store := reflector.StoreOf[metav1.PartialObjectMetadata](r)
		go func() { _ = r.Run(t.Context()) }()
		synctest.Wait()
		s.Put(secrets, secret("prod/b"))
		synctest.Wait()
		wantMetadata(t, store, "prod/a")
		wantMetadata(t, store, "prod/b")
		s.want(t, "list", "watch")
	})
}

func TestMetadataWatchRequestsMetadataFromAFeedOfObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecrets("prod/a")
		for ev, err := range watcher.Watch[metav1.PartialObjectMetadata](t.Context(), feedOf(t, s), nil) {
			if err != nil || ev.Object.Name != "a" || ev.Object.Kind != "Secret" || ev.Object.APIVersion != "v1" {
				t.Errorf("got %+v, %v; want the metadata of a Secret", ev.Object, err)
			}
			break
		}
		s.want(t, "watch")
	})
}

func TestMetadataStoreHoldsOnlyMetadataOfWholeObjects(t *testing.T) {
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		t.Run(encoding.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := fakesource.New(secrets, encoding)
				source.Put(secret("prod/a"))
				r := reflector.New(source, nil)
				store := reflector.StoreOf[metav1.PartialObjectMetadata](r)
				go func() { _ = r.Run(t.Context()) }()
				synctest.Wait()
				wantMetadata(t, store, "prod/a")
			})
		})
	}
}
