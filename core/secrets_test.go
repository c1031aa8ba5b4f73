// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestPrintingShowsNoSecret checks that requests, packed objects and errors do not reveal the body of a Secret when
// they are printed or logged.
func TestPrintingShowsNoSecret(t *testing.T) {
	const secret = "s3cret"
	packed := wire.NewPacked(wire.JSON, []byte(secret))
	r := &request.Request{
		Verb: "create", Method: "POST", Path: "/api/v1/namespaces/a/pods/b/exec", ContentType: "application/json",
		Query: map[string][]string{"command": {secret}, "stdin": {"true"}}, Body: []byte(secret),
	}
	status := &core.StatusError{Status: metav1.Status{Code: 502}, Body: []byte(secret)}
	for _, v := range []any{
		r, *r, request.MergePatch(map[string]any{"data": secret}), request.JSONPatch(request.Op{Op: "add", Path: "/a", Value: secret}),
		packed, &packed,
		wire.Document{Object: packed},
		wire.Event{Object: packed},
		wire.RawDocument{JSON: []byte(secret)},
		admission.Request{Object: packed, OldObject: packed, Options: packed},
		conversion.Request{Objects: []wire.Packed{packed}},
		status,
	} {
		var b bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%f", "%U", "%20v"} {
			fmt.Fprintf(&b, verb+"\n"+verb+"\n", v, struct{ V any }{v})
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
			slog.New(h).Info("value", "v", v, slog.Group("g", "v", v), "in", struct{ V any }{v})
		}
		for _, form := range []string{
			secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
			strings.Trim(fmt.Sprintf("%#v", []byte(secret)), "[]byte{}"), base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(b.String(), form) {
				t.Errorf("a %T shows %q:\n%s", v, form, b.String())
			}
		}
	}
	if got, want := fmt.Sprint(r), "POST /api/v1/namespaces/a/pods/b/exec?command&stdin (6 bytes of application/json)"; got != want {
		t.Errorf("a request prints as %s, want %s", got, want)
	}
	if got, want := fmt.Sprintf("%v|%8.3s|%q", status, status, status), "status 502|     sta|\"status 502\""; got != want {
		t.Errorf("an error prints as %s, want %s", got, want)
	}
}
