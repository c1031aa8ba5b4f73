package webhook

import (
	"context"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

// widgetCreator is an annotation with the user that has created an object.
const widgetCreator = "group.example.com/creator"

// +kubebuilder:webhookconfiguration:mutating=true,name=widget-controller
// +kubebuilder:webhook:path=/mutate/widgets,mutating=true,failurePolicy=fail,sideEffects=None,groups=group.example.com,resources=widgets,verbs=create,versions=v1,name=mutate.widgets.group.example.com,admissionReviewVersions=v1,serviceName=widget-controller,serviceNamespace=widget-system

// mutateWidget changes the object of a request. It may be called twice for the same request. Constant defaults need no
// webhook: use the marker +kubebuilder:default. This example annotates new objects with their creator.
func mutateWidget(_ context.Context, r *kube.WebhookRequest[v1.Widget]) error {
	if r.Object.Annotations == nil {
		r.Object.Annotations = map[string]string{}
	}
	r.Object.Annotations[widgetCreator] = r.User.Name
	return nil
}
