package webhook

import (
	"context"
	"errors"
	"reflect"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

// widgetFrozen is an annotation that protects the spec of an object.
const widgetFrozen = "group.example.com/frozen"

// +kubebuilder:webhookconfiguration:mutating=false,name=widget-controller
// +kubebuilder:webhook:path=/validate/widgets,mutating=false,failurePolicy=fail,sideEffects=None,groups=group.example.com,resources=widgets,verbs=create;update,versions=v1,name=validate.widgets.group.example.com,admissionReviewVersions=v1,serviceName=widget-controller,serviceNamespace=widget-system

// validateWidget returns an error to deny a request. The user reads its message: name the field and the remedy. What the
// schema or a rule in CEL can express needs no webhook. This example denies changes of frozen objects.
func validateWidget(_ context.Context, r *kube.WebhookRequest[v1.Widget]) error {
	old := r.OldObject // nil if the object is new
	if old != nil && old.Annotations[widgetFrozen] == "true" && !reflect.DeepEqual(old.Spec, r.Object.Spec) {
		return errors.New("spec: the object is frozen: remove the annotation " + widgetFrozen + " first")
	}
	return nil
}
