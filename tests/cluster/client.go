// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// probeTimeout is the timeout of a health check: a paused component accepts connections and never responds.
const probeTimeout = 2 * time.Second

// maxAnswerBytes is the maximum number of bytes of a response.
const maxAnswerBytes = 10 << 20

// httpClient returns a client that trusts only the authority and presents the certificate. All arguments are files.
func httpClient(caFile, certFile, keyFile string) (*http.Client, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("no certificate in %s", caFile)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}},
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   time.Minute,
	}}, nil
}

// healthy returns a check that the URL responds with status 200.
func healthy(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		return do(ctx, client, http.MethodGet, url, nil, nil)
	}
}

// statusError is an unsuccessful response.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.text)
}

// do sends a JSON request and decodes the response into out, unless that is nil.
func do(ctx context.Context, client *http.Client, method, url string, in, out any) error {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, url, &statusError{response.StatusCode, summary(answer)})
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// summary returns the message of a Status, the failed lines of a health report, or otherwise the text.
func summary(answer []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(answer, &status) == nil && status.Message != "" {
		return status.Message
	}
	var failing []string
	for line := range strings.Lines(string(answer)) {
		if strings.HasPrefix(line, "[-]") {
			failing = append(failing, strings.TrimSpace(line))
		}
	}
	if len(failing) > 0 {
		return strings.Join(failing, ", ")
	}
	text := strings.TrimSpace(string(answer))
	return text[:min(len(text), 500)]
}
