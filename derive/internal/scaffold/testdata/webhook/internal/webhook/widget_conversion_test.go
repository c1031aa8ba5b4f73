package webhook

import (
	"testing"

	"github.com/kube-go/sdk/core/conversion/conversiontest"
	"github.com/kube-go/sdk/kube"

	v1 "example.com/kube-project/api/v1"
)

func TestWidgetConversion(t *testing.T) {
	converter, err := widgetConverter()
	if err != nil {
		t.Fatal(err)
	}
	crd, err := kube.CRD[v1.Widget]()
	if err != nil {
		t.Fatal(err)
	}
	if err := converter.Covers(crd); err != nil {
		t.Error(err)
	}
	conversiontest.RoundTrip(t, converter, nil) // the options can make objects valid, for functions that need that
}
