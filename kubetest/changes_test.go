// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// boxes returns the definition of boxes.
func boxes() (*unstructured.Unstructured, error) {
	crd := &unstructured.Unstructured{}
	return crd, yaml.Unmarshal([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  names: {plural: boxes, kind: Box}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 3}
              label: {type: string, maxLength: 2}
`), &crd.Object)
}

// exploreBoxes explores changes of a box. The program keeps a ConfigMap with the fields of the box. With a bug, its
// field size never becomes smaller.
func exploreBoxes(t *testing.T, bug string) {
	t.Helper()
	exploreBoxesWith(t, bug, nil)
}

// exploreBoxesWith is exploreBoxes with webhooks and further objects.
func exploreBoxesWith(t *testing.T, bug string, webhooks http.Handler, objects ...kube.Object) {
	t.Helper()
	box := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Box", "spec": map[string]any{"size": int64(1)},
		"metadata": map[string]any{"name": "one", "namespace": "shop", "uid": "u1"},
	}}
	kubetest.ExploreChanges(t, func(*testing.T) *kubetest.Scenario {
		return &kubetest.Scenario{
			Options: &kubetest.Options{
				Definitions: []func() (*unstructured.Unstructured, error){boxes}, Objects: append(objects, box),
				Webhooks: webhooks,
			},
			Program: func(ctx context.Context, c *kube.Client) error {
				maps := kube.Namespaced[corev1.ConfigMap](c, "shop")
				res := kube.Resource{Group: "example.com", Version: "v1", Kind: "Box", Plural: "boxes", Namespaced: true}
				view := kube.ViewOfResource[unstructured.Unstructured](kube.NewCache(c, nil), res, nil)
				return kube.NewController(kube.ForView(view), nil).Run(ctx,
					func(ctx context.Context, box *unstructured.Unstructured) (kube.Action, error) {
						size, _, _ := unstructured.NestedInt64(box.Object, "spec", "size")
						label, _, _ := unstructured.NestedString(box.Object, "spec", "label")
						cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: box.GetName()}}
						cm.Data = map[string]string{"size": fmt.Sprint(size), "label": label}
						if stored, err := maps.Get(ctx, cm.Name, nil); err == nil && bug == "never shrinks" {
							cm.Data["size"] = max(cm.Data["size"], stored.Data["size"])
						}
						_, err := maps.Apply(ctx, cm, &kube.ApplyOptions{FieldManager: "boxes"})
						return kube.AwaitChange(), err
					})
			},
		}
	})
}

func TestExploreChangesAcceptsProgramsThatFollow(t *testing.T) { exploreBoxes(t, "") }

// TestExploreChangesOmitsDeniedChanges has a webhook that makes all fields immutable, so that the bug has no effect.
func TestExploreChangesOmitsDeniedChanges(t *testing.T) {
	config := configuration(admissionregistrationv1.Update, "boxes")
	config.Webhooks[0].Rules[0].APIGroups = []string{"example.com"}
	deny := kube.ValidateHandler(func(context.Context, *kube.WebhookRequest[unstructured.Unstructured]) error {
		return errors.New("all fields are immutable")
	}, nil)
	exploreBoxesWith(t, "never shrinks", deny, config)
}

func TestExploreChangesFindsBugs(t *testing.T) {
	findsBug(t, "never shrinks", exploreBoxes, "change_spec.size_of_boxes.example.com_shop_one",
		"the last state, after spec.size of boxes.example.com shop/one was changed from 1 to 2 and back:",
		`configmaps shop/one: data.size is "2", before "1"`)
}
