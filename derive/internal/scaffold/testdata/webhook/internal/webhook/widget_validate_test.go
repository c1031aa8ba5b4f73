package webhook

import (
	"testing"

	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

func TestValidateWidget(t *testing.T) {
	frozen := &v1.Widget{}
	frozen.Annotations = map[string]string{widgetFrozen: "true"}
	changed := frozen.DeepCopy()
	changed.Labels = map[string]string{"team": "web"}
	for name, r := range map[string]*kube.WebhookRequest[v1.Widget]{
		"a new object":              {Object: frozen},
		"a change of its metadata":  {Object: changed, OldObject: frozen},
		"the end of the protection": {Object: &v1.Widget{}, OldObject: frozen},
	} {
		if err := validateWidget(t.Context(), r); err != nil {
			t.Errorf("%s is denied: %v", name, err)
		}
	}
}
