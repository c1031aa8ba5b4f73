// Package webhook has the webhooks of this project. Each kind has a file with its functions.
package webhook

import (
	"net/http"
	"net/url"

	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/kube"
)

// The server makes its certificates, stores them in a secret for all replicas, and writes the certificate authority into
// the configurations that name it:
//
// +kubebuilder:rbac:groups="",namespace=widget-system,resources=secrets,verbs=get;create;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=widget-controller,verbs=get;update

// handlers returns the handlers of admission requests by path. kube-derive add webhook appends a line.
func handlers() map[string]http.Handler {
	return map[string]http.Handler{}
}

// converters returns what converts kinds with several versions. kube-derive add version appends a line.
func converters() []func() (*conversion.Converter, error) {
	return []func() (*conversion.Converter, error){}
}

// webhooks returns the handlers of all webhooks by path, and the names of the definitions with conversions.
func webhooks() (all map[string]http.Handler, definitions []string, err error) {
	all = handlers()
	for _, converter := range converters() {
		conv, err := converter()
		if err != nil {
			return nil, nil, err
		}
		res := conv.Resource()
		all["/convert/"+res.Plural] = kube.ConversionHandler(conv.Convert, nil)
		definitions = append(definitions, res.Plural+"."+res.Group)
	}
	return all, definitions, nil
}

// Add adds a server with the webhooks to a manager. All replicas serve them. The last parameter is the URL of a program
// outside of the cluster, see CallAt.
func Add(m *kube.Manager, c *kube.Client, addr, outside string) error {
	all, definitions, err := webhooks()
	if err != nil {
		return err
	}
	o := &kube.WebhookServerOptions{
		Addr:        addr,
		Service:     "widget-controller",
		Mutating:    []string{"widget-controller"},
		Validating:  []string{"widget-controller"},
		Definitions: definitions,
	}
	if outside != "" {
		u, err := url.Parse(outside)
		if err != nil {
			return err
		}
		o.Service, o.Hosts, o.Secret, o.StopDelay = "", []string{u.Hostname()}, "widget-controller-outside-tls", -1
	}
	s := kube.NewWebhookServer(c, o)
	for path, handler := range all {
		s.Handle(path, handler)
	}
	m.AddToAll(s)
	m.AddReadinessCheck("webhooks", s.Ready)
	return nil
}
