// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Options are the options of [In].
type Options struct {
	// Container is the container of the files. Default: the only container of the pod.
	Container string

	// Progress is called after each file, and several times for a large file. It is called by one goroutine at a time, and
	// blocks the copy. Default: none.
	Progress func(Progress)

	// MaxBytes and MaxFiles limit a download. Default: 64 GiB and 1,000,000 files. MaxFiles also counts parent directories
	// that the archive omits, and files that can't be copied.
	MaxBytes int64
	MaxFiles int
}

// Progress is the progress of a copy.
type Progress struct {
	Path string // the current file, relative to the copied directory; "." is the copied file or directory itself
	Stats
}

// Stats is the amount of copied data. If the error is not a [*PartialError], it is the amount before the error.
type Stats struct {
	Files int   // including directories and links
	Bytes int64 // content of the files
}

// Files are the files of one container.
type Files struct {
	exec func(ctx context.Context, command []string, stdin bool) (*pod.Process, error)
	opts Options
}

// ErrNoTar is the error for a container without the program tar.
var ErrNoTar = errors.New("the container has no tar program, which is needed to copy files: " +
	"add it to the image, or add an ephemeral container that has it")

// In returns the files of a container of a pod.
func In(pods *pod.API, name string, o *Options) *Files {
	f := &Files{}
	if o != nil {
		f.opts = *o
	}
	f.exec = func(ctx context.Context, command []string, stdin bool) (*pod.Process, error) {
		return pods.Exec(ctx, name, &pod.ExecOptions{
			Command: command, Container: f.opts.Container, Stdin: stdin, StallTimeout: -1,
		})
	}
	return f
}

// remotePath returns the parent and the name of a path in a container.
func remotePath(p string) (dir, name string, err error) {
	p = path.Clean(p)
	dir, name = path.Split(p)
	switch {
	case name == "" || name == "." || name == "..":
		return "", "", &request.InvalidError{Field: "remote", Detail: fmt.Sprintf("%q does not end with a name", p)}
	case strings.ContainsRune(p, 0):
		return "", "", &request.InvalidError{Field: "remote", Detail: "contains a zero byte"}
	case dir == "":
		dir = "."
	}
	return dir, name, nil
}

// complaintBytes limits how much of tar's error messages is kept.
const complaintBytes = 4 << 10

// complaints is the start of tar's standard error, without the lines that are only warnings. It is safe for concurrent
// use.
type complaints struct {
	mu   sync.Mutex // guards the fields below
	text []byte     // whole lines
	line []byte     // the start of the last line, which has no end yet
	last time.Time  // time of the last write
}

func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	for rest, more := p, true; more; {
		var piece []byte
		piece, rest, more = bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, piece[:min(len(piece), complaintBytes-len(c.line))]...)
		if more && !isWarning(c.line) {
			c.text = append(append(c.text, c.line...), '\n')
			c.text = c.text[:min(len(c.text), complaintBytes)]
		}
		if more {
			c.line = c.line[:0]
		}
	}
	return len(p), nil
}

// all returns the text with the last line. The caller holds the lock.
func (c *complaints) all() string {
	if isWarning(c.line) {
		return string(c.text)
	}
	return string(c.text) + string(c.line)
}

// isWarning recognizes the warnings of tar about times that the clock of the container has not reached or that are very
// old. Tar continues after them.
func isWarning(line []byte) bool {
	return bytes.Contains(line, []byte("time stamp")) &&
		(bytes.Contains(line, []byte("in the future")) || bytes.Contains(line, []byte("implausibly old")))
}

// String returns the text as one line without control characters.
func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(c.all(), "")), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

// quietSince returns the time of the last write. It is zero before the first one.
func (c *complaints) quietSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.TrimSpace(c.all()) == "" {
		return time.Time{}
	}
	return c.last
}

// explain returns the error for the outcome of tar.
func explain(err error, said *complaints) error {
	text := said.String()
	exit, exited := errors.AsType[*pod.ExitError](err)
	status, refused := errors.AsType[*core.StatusError](err)
	switch {
	case refused && isMissing(status.Status.Message), exited && (exit.Code == 126 || exit.Code == 127) && isMissing(text):
		return replace(err, ErrNoTar)
	case text != "" && (exited || errors.Is(err, io.ErrUnexpectedEOF)):
		// Servers may break the connection if input is left unread.
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// replace returns an error of the same operation with a more precise cause.
func replace(err, cause error) error {
	if op, ok := errors.AsType[*client.OpError](err); ok {
		return &client.OpError{Verb: op.Verb, Resource: op.Resource, Ref: op.Ref, Err: cause}
	}
	return cause
}

// isMissing recognizes the messages of container runtimes and shells for a missing program.
func isMissing(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{
		"executable file not found", "no such file or directory", "not found in $path", "command not found",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// counter counts the copied data and reports the progress.
type counter struct {
	Progress
	tell func(Progress)
}

func (f *Files) newCounter() *counter {
	tell := f.opts.Progress
	if tell == nil {
		tell = func(Progress) {}
	}
	return &counter{tell: tell}
}

// through returns a reader that counts the data that is read.
func (c *counter) through(r io.Reader) io.Reader { return &countingReader{r, c} }

func (c *counter) done() {
	c.Files++
	c.tell(c.Progress)
}

type countingReader struct {
	io.Reader
	counter *counter
}

// tellBytes is the amount of data of a file between two reports of the progress.
const tellBytes = 1 << 20

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	before := r.counter.Bytes
	r.counter.Bytes += int64(n)
	if before/tellBytes != r.counter.Bytes/tellBytes {
		r.counter.tell(r.counter.Progress)
	}
	return n, err
}
