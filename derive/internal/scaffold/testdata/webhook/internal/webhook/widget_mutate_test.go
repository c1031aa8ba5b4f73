package webhook

import (
	"testing"

	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

func TestMutateWidget(t *testing.T) {
	r := &kube.WebhookRequest[v1.Widget]{
		Request: &kube.AdmissionRequest{User: admission.User{Name: "ann"}},
		Object:  &v1.Widget{},
	}
	for range 2 { // a server may call a webhook again
		if err := mutateWidget(t.Context(), r); err != nil || r.Object.Annotations[widgetCreator] != "ann" {
			t.Errorf("annotations = %v, %v; want the creator", r.Object.Annotations, err)
		}
	}
}
