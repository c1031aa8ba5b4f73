// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"bytes"
	"io"
	"net/http"
)

// keep reads the body of a response up to most bytes. It returns an error if the connection breaks.
func keep(resp *http.Response, most int64) error {
	if resp.StatusCode < 200 || resp.ContentLength == 0 || resp.ContentLength > most {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return err
	}
	if int64(len(data)) <= most {
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(data))
		return nil
	}
	resp.Body = &keptBody{io.MultiReader(bytes.NewReader(data), resp.Body), resp.Body}
	return nil
}

// keptBody is a body whose start has been read already.
type keptBody struct {
	io.Reader
	io.Closer
}

// drainedBytes is the maximum size of the rest of a response that is read to keep its connection usable.
const drainedBytes = 256 << 10

// discard closes a response. It reads a short body first, which keeps an HTTP/1.1 connection usable.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	if resp.ContentLength >= 0 && resp.ContentLength <= drainedBytes {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}
