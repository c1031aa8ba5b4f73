// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// ExitError is a process that has ended with another exit status than 0.
type ExitError struct {
	Code int

	// Stderr is what the process has written to its second output, cut after 16 KiB. Only [Process.Output] sets it.
	Stderr []byte
}

// Error returns, for example, "exit status 2".
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// noOutcome is a stream that ended in good order, but without an outcome.
type noOutcome struct{}

func (noOutcome) Error() string {
	return "the server has closed the stream without saying how the process has ended"
}

// Unwrap makes the error match io.ErrUnexpectedEOF.
func (noOutcome) Unwrap() error { return io.ErrUnexpectedEOF }

// readOutcome reads what a server says of the end of a process: one status, or whatever it says until the stream ends.
func readOutcome(r io.Reader) []byte {
	var said []byte
	for buf := make([]byte, messageBytes); ; {
		n, err := r.Read(buf)
		said = append(said, buf[:n]...)
		var status metav1.Status
		complete := wire.UnmarshalJSON(said, &status) == nil && status.Status != ""
		if err != nil || complete || len(said) > outcomeBytes {
			return said
		}
	}
}

// outcomeOf says how a process has ended, from what the server has said of it and from why the stream has ended.
func outcomeOf(said []byte, ended error) error {
	var status metav1.Status // its kind is left out
	switch err := wire.UnmarshalJSON(said, &status); {
	case err == nil && status.Status == metav1.StatusSuccess:
		return nil
	case err == nil && status.Status == metav1.StatusFailure:
		return failureOf(status)
	case errors.Is(ended, net.ErrClosed):
		return errors.New("the stream was closed before the process had ended")
	case ended != io.EOF:
		return ended
	case len(said) > 0: // plain text, as the oldest servers do it
		text := strings.ToValidUTF8(string(said[:min(len(said), messageBytes)]), "")
		return &core.StatusError{Status: metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Message: strings.Join(strings.Fields(text), " "),
		}}
	}
	return noOutcome{}
}

// failureOf returns an [*ExitError] when a status says what the exit status is. See
// https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go.
func failureOf(status metav1.Status) error {
	if status.Reason == "NonZeroExitCode" && status.Details != nil {
		for _, cause := range status.Details.Causes {
			if code, err := strconv.ParseUint(cause.Message, 10, 31); cause.Type == "ExitCode" && err == nil && code > 0 {
				return &ExitError{Code: int(code)}
			}
		}
	}
	return &core.StatusError{Status: status}
}
