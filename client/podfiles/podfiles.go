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

// remotePath returns the parent and the name of a path in a container. A relative parent begins with a dot: the shell
// would take a name such as -x for an option, and look for others in its CDPATH.
func remotePath(p string) (dir, name string, err error) {
	p = path.Clean(p)
	dir, name = path.Split(p)
	switch {
	case name == "" || name == "." || name == "..":
		return "", "", &request.InvalidError{Field: "remote", Detail: fmt.Sprintf("%q does not end with a name", p)}
	case strings.ContainsRune(p, 0):
		return "", "", &request.InvalidError{Field: "remote", Detail: "contains a zero byte"}
	case !path.IsAbs(dir):
		dir = "./" + dir
	}
	return dir, name, nil
}

// complaintBytes limits how much of tar's error messages is kept.
const complaintBytes = 4 << 10

// complaints is the start of tar's standard error, without the lines that name no file that was not copied. It is safe
// for concurrent use.
type complaints struct {
	mu      sync.Mutex // guards the fields below
	text    []byte     // whole lines
	lines   int        // the number of all, of which text may have only the first
	line    []byte     // the start of the last line, which has no end yet
	changed bool       // tar has reported a file that has changed while tar read it
	last    time.Time  // time of the last write
}

func (c *complaints) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	for rest, more := p, true; more; {
		var piece []byte
		piece, rest, more = bytes.Cut(rest, []byte("\n"))
		c.line = append(c.line, piece[:min(len(piece), complaintBytes-len(c.line))]...)
		if more {
			c.endLine()
		}
	}
	return len(p), nil
}

// endLine adds the last line to the text. The caller holds the lock.
func (c *complaints) endLine() {
	c.changed = c.changed || bytes.HasSuffix(c.line, []byte(fileChanged))
	if len(bytes.TrimSpace(c.line)) > 0 && !isWarning(c.line) {
		c.lines++
		c.text = append(append(c.text, c.line...), '\n')
		c.text = c.text[:min(len(c.text), complaintBytes)]
	}
	c.line = c.line[:0]
}

// all returns the text with the last line. The caller holds the lock.
func (c *complaints) all() string {
	if isWarning(c.line) {
		return string(c.text)
	}
	return string(c.text) + string(c.line)
}

// fileChanged is the end of GNU tar's warning about a file that has changed while tar read it, such as a log to which a
// program writes. Tar has copied as much as the file had at first.
const fileChanged = ": file changed as we read it"

// isWarning recognizes the lines of tar that name no file that was not copied: the warnings about times that the clock
// of the container has not reached or that are very old, and about files that have changed, after which tar continues;
// and the last line after errors.
func isWarning(line []byte) bool {
	return bytes.Contains(line, []byte("time stamp")) &&
		(bytes.Contains(line, []byte("in the future")) || bytes.Contains(line, []byte("implausibly old"))) ||
		bytes.HasSuffix(line, []byte(fileChanged)) ||
		bytes.HasSuffix(bytes.TrimSuffix(line, []byte(".")), []byte(" previous errors"))
}

// String returns the text as one line without control characters.
func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.printable(), "; ")
}

// printable returns the lines without control characters. The caller holds the lock.
func (c *complaints) printable() []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(strings.ToValidUTF8(c.all(), "")), "\n") {
		line = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// addTo adds the lines, each of which is about a file that tar could not read. After the exit status exit, it reports
// whether they are the reason for it. GNU tar exits with 1 if files have only changed.
func (c *complaints) addTo(partial *PartialError, exit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLine()
	lines := c.printable()
	if len(lines) == 0 {
		return c.changed && exit == 1
	}
	for _, line := range lines {
		partial.add("", errors.New(strings.TrimPrefix(line, "tar: ")))
	}
	partial.Count += max(0, c.lines-len(lines))
	return true
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
	case refused && quotesTar(status.Status.Message) && isMissing(status.Status.Message),
		exited && (exit.Code == 126 || exit.Code == 127) && isMissing(text):
		return noTar(err)
	case text != "" && (exited || errors.Is(err, io.ErrUnexpectedEOF)):
		// Servers may break the connection if input is left unread.
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// noTar returns an error that matches ErrNoTar and has err in its chain.
func noTar(err error) error {
	cause := err
	if op, ok := errors.AsType[*client.OpError](err); ok {
		cause = op.Err
	}
	return replace(err, fmt.Errorf("%w (%w)", ErrNoTar, cause))
}

// replace returns an error of the same operation with a more precise cause.
func replace(err, cause error) error {
	if op, ok := errors.AsType[*client.OpError](err); ok {
		return &client.OpError{Verb: op.Verb, Resource: op.Resource, Ref: op.Ref, Err: cause}
	}
	return cause
}

// quotesTar reports whether a message names the program tar, as those of container runtimes about a missing program do.
// Other messages, such as that of a node whose container runtime does not run, may be about other missing files.
func quotesTar(text string) bool {
	text = strings.ReplaceAll(text, `\`, "") // of a message in a message
	return strings.Contains(text, `"tar"`) || strings.Contains(text, "`tar`")
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
