// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finder

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/load"
)

// conversion reads //kube:conversion, which one version of a kind may have.
func (f *finder) conversion(k *kind.Kind, m *load.Marker) {
	a := m.Args
	wrong := func(format string, args ...any) {
		f.report(m.Pos, "//kube:conversion: "+fmt.Sprintf(format, args...))
	}
	namespace, service, _ := strings.Cut(a.String("service"), "/")
	c := &kind.Conversion{
		Webhook:   a.String("strategy") != "None",
		Namespace: namespace,
		Service:   service,
		Path:      cmp.Or(a.String("path"), "/convert"),
		Port:      a.Number("port").String(),
		URL:       a.String("url"),
		Reviews:   a.Strings("versions"),
		Pos:       m.Pos,
	}
	if len(c.Reviews) == 0 {
		c.Reviews = []string{"v1"}
	}
	k.Conversion = c
	if !c.Webhook {
		if len(a) > 1 {
			wrong("strategy=None has no webhook: remove the other arguments")
		}
		return
	}
	switch {
	case a.Has("service") == a.Has("url"):
		wrong("needs either service=namespace/name or url=…")
	case a.Has("url"):
		if u, err := url.Parse(c.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			wrong("url=%s must be https://host[:port]/path, without user, query and fragment", c.URL)
		}
		if a.Has("path") || a.Has("port") {
			wrong("path and port are for a service: write them into the url")
		}
	case len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(service)) > 0:
		wrong("service=%s must be namespace/name", a.String("service"))
	}
	if !strings.HasPrefix(c.Path, "/") {
		wrong("path=%s must begin with a slash", c.Path)
	}
	if n, err := strconv.Atoi(cmp.Or(c.Port, "443")); err != nil || n < 1 || n > 65535 {
		wrong("port=%s must be from 1 to 65535", c.Port)
	}
	if !slices.Contains(c.Reviews, "v1") && !slices.Contains(c.Reviews, "v1beta1") {
		wrong("versions=%s must contain v1 or v1beta1: servers send no others", strings.Join(c.Reviews, ","))
	}
}
