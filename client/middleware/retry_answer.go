// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"bytes"
	"io"
	"net/http"
)

// keep reads the body of an answer that is no longer than most. It returns the error of a connection that breaks.
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

// keptBody is a body whose start was read already.
type keptBody struct {
	io.Reader
	io.Closer
}

// drainedBytes is how long the rest of an answer may be to be read for the sake of its connection.
const drainedBytes = 256 << 10

// discard is done with a response. What is short is read, which leaves an HTTP/1.1 connection usable.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	if resp.ContentLength >= 0 && resp.ContentLength <= drainedBytes {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}
