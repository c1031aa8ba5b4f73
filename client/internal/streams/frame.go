// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"fmt"
	"io"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// Request returns the message of [abi.OpRequest]. It reads the body, which may be nil, to its end.
func Request(head abi.Request, body io.Reader) ([]byte, error) {
	data, err := wire.MarshalJSON(head)
	if err != nil {
		return nil, err
	}
	message := abi.AppendFrame(nil, data)
	if body == nil {
		return message, nil
	}
	sent, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return append(message, sent...), nil
}

// Response returns the head of the first item of a request.
func Response(item Item) (*abi.Response, error) {
	head := new(abi.Response)
	if err := wire.UnmarshalJSON(item.Data, head); err != nil {
		return nil, fmt.Errorf("the head of the response: %w", err)
	}
	if head.Status < 100 || head.Status > 999 {
		return nil, fmt.Errorf("the head of the response: %w: the status is %d", abi.Invalid, head.Status)
	}
	return head, nil
}
