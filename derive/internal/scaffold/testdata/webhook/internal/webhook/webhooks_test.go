package webhook

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// TestServerCallsWebhooks creates each sample on a server in memory that calls the webhooks as their manifests say.
func TestServerCallsWebhooks(t *testing.T) {
	samples, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range samples {
		t.Run(filepath.Base(name), func(t *testing.T) {
			all, _, err := webhooks()
			if err != nil {
				t.Fatal(err)
			}
			mux := http.NewServeMux()
			for path, handler := range all {
				mux.Handle(path, handler)
			}
			s := kubetest.Start(t, &kubetest.Options{
				Files:    []string{"../../config/crd/*.yaml", "../../config/webhook/*.yaml"},
				Webhooks: mux,
			})
			create(t, s.Client(nil), name)
		})
	}
}

// create creates the objects of a file.
func create(t *testing.T, c *kube.Client, name string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mapper := kube.NewMapper(c, nil)
	for doc, err := range kube.Documents(file, nil) {
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := doc.Decode(obj); err != nil {
			t.Fatal(err)
		}
		api, err := mapper.Dynamic(t.Context(), obj)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.Create(t.Context(), obj, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
