// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package life_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

func TestMooseIsReleasedInSpiteOfFaults(t *testing.T) {
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		moose := &v1.Moose{
			ObjectMeta: metav1.ObjectMeta{Namespace: "forest", Name: "bull"}, Spec: v1.MooseSpec{Weight: 40},
		}
		return &kubetest.Scenario{
			Options: &kubetest.Options{
				Definitions: []func() (*unstructured.Unstructured, error){kube.CRD[v1.Moose]}, Objects: []kube.Object{moose},
			},
			Program: life.Run,
			Story: func(s *kubetest.Server) {
				mooses := kube.Namespaced[v1.Moose](s.Client(nil), "forest")
				s.Settle()
				m, err := mooses.Get(t.Context(), "bull", nil)
				if err != nil || m.Status.FSM.State != "Released" || m.Status.Weight != 40 {
					t.Errorf("the moose is %+v, %v; want it released with its weight", m, err)
				}
				if err := mooses.Delete(t.Context(), "bull", nil); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Hour)
				if list, err := mooses.List(t.Context(), nil); err != nil || len(list.Items) > 0 {
					t.Errorf("the mooses are %+v, %v; want none", list, err)
				}
			},
		}
	})
}
