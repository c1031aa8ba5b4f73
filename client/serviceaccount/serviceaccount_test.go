// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestToken checks that a token is decoded, and that printing it does not show it.
func TestToken(t *testing.T) {
	const secret = "e30.hush"
	response := `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"` + secret +
		`","expirationTimestamp":"2026-01-01T00:00:00Z"}}`
	contentType := wire.MediaTypeJSON
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 201, contentType, []byte(response))
	})
	get := func(ctx context.Context, name string) (*serviceaccount.Token, error) {
		return serviceaccount.In(s.Client(t), "prod").Token(ctx, name, &request.TokenOptions{Audiences: []string{"me"}})
	}
	got, err := get(t.Context(), "robot")
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Token) != secret || !got.Expires.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("token until %v", got.Expires)
	}
	if shown := fmt.Sprintf("%v %+v %#v", got, *got, got); strings.Contains(shown, secret) {
		t.Errorf("the printed token shows the secret: %s", shown)
	}
	if ask := s.Asked()[0]; ask.Method != http.MethodPost ||
		ask.URI != "/api/v1/namespaces/prod/serviceaccounts/robot/token" ||
		!strings.Contains(ask.Body, `"audiences":["me"]`) {
		t.Errorf("request = %+v", ask)
	}
	for _, tt := range []struct{ response, want string }{
		{
			`{"kind":"TokenRequest","status":{}}`,
			"create serviceaccounts/token prod/robot: the server's response contains no token",
		},
		{
			`{"kind":"TokenRequest","status":{"token":"` + secret + `"`,
			"create serviceaccounts/token prod/robot: decode token: ",
		},
		{
			`{"kind":"TokenRequest","status":{"token":"` + secret + `","expirationTimestamp":"soon"}}`,
			"create serviceaccounts/token prod/robot: decode token: ",
		},
	} {
		response = tt.response
		if _, err := get(t.Context(), "robot"); !strings.HasPrefix(fmt.Sprint(err), tt.want) ||
			strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("error = %v, want %s", err, tt.want)
		}
	}
	response, contentType = "<html>Log in</html>", "text/html"
	const want = `create serviceaccounts/token prod/robot: content type "text/html": want application/json `
	if _, err := get(t.Context(), "robot"); !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}
