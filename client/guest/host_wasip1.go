// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"unsafe"

	"github.com/kube-go/sdk/client/internal/streams"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

//go:wasmimport kube_v1 submit
func hostSubmit(op int32, ptr unsafe.Pointer, n uint32, deadline int64) int64

//go:wasmimport kube_v1 cancel
func hostCancel(id int64)

//go:wasmimport kube_v1 call
func hostCall(op int32, ptr unsafe.Pointer, n uint32, out unsafe.Pointer, capacity uint32) int64

//go:wasmimport kube_v1 fetch
func hostFetch(out unsafe.Pointer, capacity uint32) int64

//go:wasmimport kube_v1 log
func hostLog(level int32, ptr unsafe.Pointer, n uint32)

// maxResult is the maximum number of bytes of a result of [Call].
const maxResult = 256 << 20

//nolint:gochecknoglobals // a guest has one host
var (
	operations streams.Table
	startup    *abi.Startup
	scratch    = make([]byte, 16<<10) // the results of calls, which other goroutines can't interrupt
)

// Stream is the items of an operation. It is for one reader at a time.
type Stream struct{ *streams.Stream }

// Submit starts an operation. The caller must close the stream. The error has an [abi.Code] if the host refuses it.
func Submit(op abi.Operation, message []byte) (Stream, error) {
	id := hostSubmit(int32(op), pointer(message), uint32(len(message)), 0)
	runtime.KeepAlive(message)
	if id <= 0 {
		return Stream{}, codeOf(id)
	}
	return Stream{operations.Add(id)}, nil // the host delivers nothing before an export is called
}

// Close ends the operation.
func (s Stream) Close() {
	if s.Stream.Close() {
		hostCancel(s.ID())
	}
}

// Call performs an operation, and appends the result to dst. The error has an [abi.Code] if the host refuses it.
func Call(dst []byte, op abi.Operation, message any) ([]byte, error) {
	data, err := wire.MarshalJSON(message)
	if err != nil {
		return nil, err
	}
	n := hostCall(int32(op), pointer(data), uint32(len(data)), pointer(scratch), uint32(len(scratch)))
	runtime.KeepAlive(data)
	switch {
	case n < 0:
		return nil, codeOf(n)
	case n > maxResult:
		return nil, fmt.Errorf("a result of %d bytes: %w", n, abi.TooLarge)
	case n <= int64(len(scratch)):
		return append(dst, scratch[:n]...), nil
	}
	result := make([]byte, n)
	if got := hostFetch(pointer(result), uint32(n)); got != n {
		return nil, fmt.Errorf("a result of %d bytes could not be fetched: %w", n, codeOf(min(got, int64(abi.Internal))))
	}
	return append(dst, result...), nil
}

// Startup returns how the host has started the program.
func Startup() (*abi.Startup, error) {
	if startup == nil {
		return nil, errors.New("the host has not called kube_start: connect to the server in main, not in an init function")
	}
	own := *startup
	return &own, nil
}

// logRecord writes a record to the log of the host.
func logRecord(level slog.Level, text []byte) {
	hostLog(int32(level), pointer(text), uint32(len(text)))
	runtime.KeepAlive(text)
}

// codeOf returns the code that the host has returned.
func codeOf(result int64) abi.Code {
	if result >= 0 || result < -1<<31 {
		return abi.Internal
	}
	return abi.Code(result)
}

func pointer(data []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(data)) }

// handler writes the records of the default logger to the log of the host, which adds the time and the module.
type handler struct {
	slog.Handler
	text *buffer
}

type buffer struct {
	data    []byte
	builtIn bool // the next attributes are the time, the level and the message
}

// Write keeps a record, which a slog.TextHandler writes at once. No other goroutine can run before Handle reads it.
func (b *buffer) Write(p []byte) (int, error) {
	b.data = append(b.data[:0], p...)
	return len(p), nil
}

func newHandler() slog.Handler {
	text := new(buffer)
	return &handler{text: text, Handler: slog.NewTextHandler(text, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if !text.builtIn {
				return a
			}
			text.builtIn = a.Key != slog.MessageKey
			return slog.Attr{}
		},
	})}
}

// Handle writes a record: the message, and then the attributes, such as "runs begin controller=backup".
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	h.text.builtIn = true
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	text := append([]byte(r.Message+" "), h.text.data...)
	logRecord(r.Level, bytes.TrimRight(text, " \n"))
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attrs), text: h.text}
}

// WithGroup returns a handler that adds a group.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), text: h.text}
}
