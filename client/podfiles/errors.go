// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FileError is the error of one file that could not be copied.
type FileError struct {
	// Path is relative to the copied directory; "." is the copied file or directory itself. It is empty for a file that
	// tar in the container could not read: Err is the message of tar, which names the file.
	Path string
	Err  error
}

// Error returns the path, quoted unless it is printable, and the cause.
func (e *FileError) Error() string {
	if e.Path == "" {
		return plain(e.Err.Error())
	}
	return plain(e.Path) + ": " + plain(e.Err.Error())
}

// plain quotes text that is not printable: text from a container may contain escape sequences for the terminal.
func plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(text)
	}
	return text
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// PartialError reports that some files were not copied. The others were.
type PartialError struct {
	Failed []*FileError // the first ones, at most a hundred
	Count  int          // the number of all
}

// failedFiles is the maximum number of files in a [PartialError].
const failedFiles = 100

// Error returns the number of files and the first errors.
func (e *PartialError) Error() string {
	const named = 5
	var b strings.Builder
	if e.Count == 1 {
		b.WriteString("1 file was not copied: ")
	} else {
		fmt.Fprintf(&b, "%d files were not copied: ", e.Count)
	}
	first := e.Failed[:min(len(e.Failed), named)]
	for i, f := range first {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Error())
	}
	if more := e.Count - len(first); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Unwrap returns the errors of the files.
func (e *PartialError) Unwrap() []error {
	var errs []error
	for _, f := range e.Failed {
		errs = append(errs, f)
	}
	return errs
}

// add adds a file.
func (e *PartialError) add(path string, err error) {
	if e.Count++; len(e.Failed) < failedFiles {
		e.Failed = append(e.Failed, &FileError{path, err})
	}
}

// orNil returns the error, or nil if it contains no file.
func (e *PartialError) orNil() error {
	if e.Count == 0 {
		return nil
	}
	return e
}
