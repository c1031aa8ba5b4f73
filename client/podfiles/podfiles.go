// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
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
	// Container is whose files they are. Default: the pod's container, if it has just one.
	Container string

	// Progress is told how far a copy is: after each file, and while large ones are copied. It is called by one goroutine
	// at a time, which waits for it. Default: nobody.
	Progress func(Progress)

	// MaxBytes and MaxFiles bound a download. Default 64 GiB and 1,000,000 files.
	MaxBytes int64
	MaxFiles int
}

// Progress is how far a copy is.
type Progress struct {
	Path string // the file that is being copied, relative to what is copied; "." is that itself
	Stats
}

// Stats is how much was copied. Beside an error other than a [*PartialError] it is how far the copy came.
type Stats struct {
	Files int   // also folders and links
	Bytes int64 // of content
}

// Files is the files of one container.
type Files struct {
	exec func(ctx context.Context, command []string, stdin bool) (*pod.Process, error)
	opts Options
}

// ErrNoTar says that a container has no program tar.
var ErrNoTar = errors.New("the container has no program tar, by which files are copied: " +
	"put one into its image, or add an ephemeral container that has one")

// In returns the files of a container of a pod.
func In(pods *pod.API, name string, o *Options) *Files {
	f := &Files{}
	if o != nil {
		f.opts = *o
	}
	f.exec = func(ctx context.Context, command []string, stdin bool) (*pod.Process, error) {
		return pods.Exec(ctx, name, &pod.ExecOptions{Command: command, Container: f.opts.Container, Stdin: stdin, StallTimeout: -1})
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

// complaintBytes bounds what is kept of what tar complains of.
const complaintBytes = 4 << 10

// complaints is the start of what tar writes to its second output. It is safe for concurrent use.
type complaints struct {
	mu   sync.Mutex // guards what follows
	text []byte
	last time.Time // when something was written last
}

func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[:min(len(p), complaintBytes-len(c.text))]...)
	c.last = time.Now()
	return len(p), nil
}

// String returns one line, without what could change a terminal.
func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(string(c.text), "")), "\n", "; ")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

// quietSince returns since when nothing was said, zero when nothing was said at all.
func (c *complaints) quietSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// explain says what the outcome of tar means.
func explain(err error, said *complaints) error {
	text := said.String()
	exit, exited := errors.AsType[*pod.ExitError](err)
	status, refused := errors.AsType[*core.StatusError](err)
	switch {
	case refused && isMissing(status.Status.Message), exited && (exit.Code == 126 || exit.Code == 127) && isMissing(text):
		if op, ok := errors.AsType[*client.OpError](err); ok {
			return &client.OpError{Verb: op.Verb, Resource: op.Resource, Ref: op.Ref, Err: ErrNoTar} // which says it better
		}
		return ErrNoTar
	case text != "" && (exited || errors.Is(err, io.ErrUnexpectedEOF)): // servers may break off when input is left unread
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// isMissing recognises what container runtimes and shells say of a program that is not there.
func isMissing(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{"executable file not found", "no such file or directory", "not found in $path", "command not found"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// counter counts what is copied, and tells of it.
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

// through returns a reader that counts what is read.
func (c *counter) through(r io.Reader) io.Reader { return &countingReader{r, c} }

func (c *counter) done() {
	c.Files++
	c.tell(c.Progress)
}

type countingReader struct {
	io.Reader
	counter *counter
}

// tellBytes is how often the progress within a file is told.
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
