// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// RecordingOptions are the options of [Replay] and [Compare]. The zero value of a field is its default.
type RecordingOptions struct {
	// CompilationDir is the same as in [Options]. Default: none.
	CompilationDir string
}

// Replay runs a module with a recording of [Module.Record], and returns the number of calls of the host that were
// replayed. Nothing is sent to a server. What the module does is compared with the recording, byte for byte; the first
// difference is an error. The recorded module must have the same digest.
//
// A recording may end at any byte, such as after a crash of the host. Its last call is replayed as far as it is
// recorded, and counts.
func Replay(ctx context.Context, binary []byte, recording io.Reader, o *RecordingOptions) (calls int, err error) {
	t, c, err := openTape(recording)
	if err != nil {
		return 0, err
	}
	if digest := digestOf(binary); digest != c.Digest {
		return 0, fmt.Errorf("the recording is of the module %s, not of %s", c.Digest, digest)
	}
	g, end, err := isolated(ctx, binary, c, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	i, err := g.host.newInstance(g, t)
	if err != nil {
		return 0, t.unrecorded(err)
	}
	defer i.end(context.Canceled)
	for {
		_, data, err := t.read()
		if err == io.EOF {
			return calls, nil
		}
		if err != nil {
			return calls, err
		}
		var e export
		if err := wire.UnmarshalJSON(data, &e); err != nil {
			return calls, err
		}
		if err := i.replay(&e); err != nil {
			return calls, fmt.Errorf("call %d, %s: %w", calls, e.Name, err)
		}
		calls++
	}
}

// replay calls an export. A failure that was recorded is not an error.
func (i *instance) replay(e *export) error {
	_, _, err := i.act(e)
	return i.tape.unrecorded(err)
}

// unrecorded returns the error of an instance, or nil if the recorded instance has ended here, too.
func (t *tape) unrecorded(err error) error {
	if _, peeked := t.peek(); peeked == io.EOF && !errors.Is(err, errDiverged) {
		return nil
	}
	return err
}

// tape is a recording of everything that enters and leaves an instance, in order. While an instance runs, its tape is
// written; while it is replayed, the tape is read: then what enters comes from the tape, and what leaves is compared
// with it. A nil tape records nothing. An instance runs one call at a time, so the order is that of the frames.
type tape struct {
	w    *bufio.Writer
	out  io.Writer     // below w
	left *atomic.Int64 // bytes that can still be written, also by others
	err  error         // of writing

	r      *bufio.Reader // of a replay
	frames int
}

// frame is the kind of a frame.
type frame byte

// The kinds of frames.
const (
	frameExport frame = 'e' // in: the host calls an export
	frameResult frame = 'r' // out: its result
	frameSubmit frame = 's' // out: the guest submits an operation
	frameID     frame = 'i' // in: its id, or a code
	frameCancel frame = 'x' // out: the guest cancels an operation
	frameCall   frame = 'c' // out: the guest calls an operation
	frameAnswer frame = 'a' // in: its result, or a code
	frameLog    frame = 'l' // out: a log record
	frameClock  frame = 't' // in: the time
	frameRandom frame = 'z' // in: random bytes
	framePoll   frame = 'p' // in: the events of poll_oneoff
)

// magic begins a tape.
const magic = "kube_v1 tape 1\n"

// maxFrame is the maximum size of a frame.
const maxFrame = 2 * abi.MaxMessage

// errDiverged ends a replay in which the guest does something else than the tape has.
var errDiverged = errors.New("the replay differs from the recording")

// cover says what was recorded.
type cover struct {
	Digest string            `json:"digest"`
	Name   string            `json:"name"`
	Args   []string          `json:"args,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Memory int64             `json:"memory"`
	Wake   int64             `json:"wake"` // in nanoseconds
}

// newTape begins to record. The tape ends when no bytes are left.
func newTape(w io.Writer, left *atomic.Int64, c cover) *tape {
	t := &tape{w: bufio.NewWriter(w), out: w, left: left}
	_, t.err = t.w.WriteString(magic)
	t.write('h', marshal(c))
	return t
}

// openTape begins to replay.
func openTape(r io.Reader) (*tape, cover, error) {
	t := &tape{r: bufio.NewReader(r)}
	var c cover
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(t.r, start); err != nil || string(start) != magic {
		return nil, c, errors.New("the recording does not begin with " + fmt.Sprintf("%q", magic))
	}
	kind, data, err := t.read()
	if err == io.EOF || err == nil && kind != 'h' {
		err = errors.New("the recording has no header")
	}
	if err == nil {
		err = wire.UnmarshalJSON(data, &c)
	}
	return t, c, err
}

// input returns what enters the instance.
func (t *tape) input(kind frame, produce func() []byte) []byte {
	switch {
	case t == nil:
		return produce()
	case t.r == nil:
		data := produce()
		t.write(kind, data)
		return data
	}
	got, data, err := t.read()
	if err != nil {
		panic(err)
	}
	if got != kind {
		panic(fmt.Errorf("%w: frame %d is %q, but the guest asks for %q", errDiverged, t.frames, got, kind))
	}
	return data
}

// output is emit for imports: an error ends the guest.
func (t *tape) output(kind frame, data []byte) {
	if err := t.emit(kind, data); err != nil {
		panic(err)
	}
}

// emit records what leaves the instance, or compares it.
func (t *tape) emit(kind frame, data []byte) error {
	switch {
	case t == nil:
		return nil
	case t.r == nil:
		t.write(kind, data)
		return nil
	}
	got, want, err := t.read()
	if err == nil && (got != kind || !bytes.Equal(want, data)) {
		err = fmt.Errorf("%w: frame %d is %s, but the guest does %s, different from byte %d",
			errDiverged, t.frames, got.describe(want), kind.describe(data), firstDifference(want, data))
	}
	return err
}

// describe describes a frame without its data, which may have secrets.
func (f frame) describe(data []byte) string {
	of := ""
	if f == frameSubmit || f == frameCall {
		operation, _, _ := bytes.Cut(data, []byte(" "))
		of = fmt.Sprintf(" of the operation %.10s", operation)
	}
	return fmt.Sprintf("%q%s with %d bytes", f, of, len(data))
}

// firstDifference returns the index of the first byte in which a and b differ.
func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// write writes a frame: its kind, its length and its data.
func (t *tape) write(kind frame, data []byte) {
	if t.err != nil || t.w == nil {
		return
	}
	if t.left.Add(-int64(len(data))-4) < 0 {
		t.err = errors.New("the recording has reached its maximum size")
		return
	}
	head := binary.AppendUvarint([]byte{byte(kind)}, uint64(len(data)))
	if _, t.err = t.w.Write(head); t.err == nil {
		_, t.err = t.w.Write(data)
	}
}

// read reads a frame. At the end of the tape, the error is io.EOF, also if the last frame is not complete: the process
// that has written it may have ended before.
func (t *tape) read() (frame, []byte, error) {
	kind, err := t.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	t.frames++
	size, err := binary.ReadUvarint(t.r)
	if err == nil && size > maxFrame {
		err = fmt.Errorf("it has %d bytes, more than %d", size, maxFrame)
	}
	var data []byte
	if err == nil {
		var b bytes.Buffer // grows with what is there, whatever the length says
		_, err = io.CopyN(&b, t.r, int64(size))
		data = b.Bytes()
	}
	switch err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		return 0, nil, io.EOF
	default:
		return 0, nil, fmt.Errorf("frame %d of the recording: %w", t.frames, err)
	}
	return frame(kind), data, nil
}

// peek returns the kind of the next frame.
func (t *tape) peek() (frame, error) {
	b, err := t.r.Peek(1)
	if err != nil {
		return 0, err
	}
	return frame(b[0]), nil
}

// flush writes what was recorded so far, so that the end of the process does not lose it.
func (t *tape) flush() {
	if t != nil && t.w != nil && t.err == nil {
		t.err = t.w.Flush()
	}
}

// close ends a recording. It can be called again.
func (t *tape) close() error {
	if t == nil || t.w == nil {
		return nil
	}
	err := errors.Join(t.err, t.w.Flush())
	if c, ok := t.out.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	t.w = nil
	return err
}

// clock returns the time of a clock.
func (t *tape) clock(now func() int64) int64 {
	data := t.input(frameClock, func() []byte { return binary.AppendVarint(nil, now()) })
	n, _ := binary.Varint(data)
	return n
}
