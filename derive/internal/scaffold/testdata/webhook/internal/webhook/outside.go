package webhook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/webhook"
)

// The functions of this file are for a program outside of the cluster, such as that of make run. The API server calls
// its webhooks at a URL, such as https://127.0.0.1:9443. An empty URL stands for the service in the cluster.

// CallAt returns a function that makes the API server call the webhooks of an object at a URL.
func CallAt(url string) func(*unstructured.Unstructured) error {
	return func(obj *unstructured.Unstructured) error {
		if url == "" {
			return nil
		}
		return webhook.UseURL(obj, url)
	}
}

// Configure applies the configurations of admission webhooks in a folder, such as config/webhook, with a URL. It takes
// them over from make deploy, and the reverse: both have the field manager kubectl.
func Configure(ctx context.Context, c *kube.Client, folder, url string) error {
	file, err := os.Open(filepath.Join(folder, "manifests.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the project has only conversions
	}
	if err != nil {
		return err
	}
	defer file.Close()
	mapper := kube.NewMapper(c, nil)
	for doc, err := range kube.Documents(file, nil) {
		if err != nil {
			return err
		}
		obj := &unstructured.Unstructured{}
		if err := doc.Decode(obj); err != nil {
			return err
		}
		if err := CallAt(url)(obj); err != nil {
			return err
		}
		configurations, err := mapper.Dynamic(ctx, obj)
		if err != nil {
			return err
		}
		if _, err := configurations.Apply(ctx, obj, &kube.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
			return err
		}
	}
	return nil
}
