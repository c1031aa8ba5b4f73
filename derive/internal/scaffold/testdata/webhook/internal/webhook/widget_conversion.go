package webhook

import (
	"github.com/kube-go/sdk/core/conversion"

	v1 "example.com/kube-project/api/v1"
)

// The server writes the certificate authority into the definition:
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=widgets.group.example.com,verbs=get;update

// widgetConverter converts between the versions of the kind Widget. Each of the others converts to its hub and back. The
// hub stays the same when the API server stores another version. A field that only one version has is lost in
// conversions, unless the options have KeepLost.
func widgetConverter() (*conversion.Converter, error) {
	return conversion.NewConverter([]conversion.Spoke[v1.Widget]{}, nil)
}
