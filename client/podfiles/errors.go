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

// FileError is one file that could not be copied.
type FileError struct {
	Path string // relative to what is copied; "." is that itself
	Err  error
}

// Error names the file, quoted when that is not plain text.
func (e *FileError) Error() string { return plain(e.Path) + ": " + plain(e.Err.Error()) }

// plain returns text as it may be shown: what comes from a container could change a terminal otherwise.
func plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(text)
	}
	return text
}

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// PartialError says that some files were not copied, while the others were.
type PartialError struct {
	Failed []*FileError // the first hundred
	Count  int          // how many there are
}

// failedFiles is how many a [PartialError] names.
const failedFiles = 100

// Error names the first files.
func (e *PartialError) Error() string {
	const named = 5
	var b strings.Builder
	if e.Count == 1 {
		b.WriteString("1 file was not copied: ")
	} else {
		fmt.Fprintf(&b, "%d files were not copied: ", e.Count)
	}
	for i, f := range e.Failed[:min(len(e.Failed), named)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Error())
	}
	if e.Count > named {
		fmt.Fprintf(&b, "; and %d more", e.Count-named)
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

// add notes a file.
func (e *PartialError) add(path string, err error) {
	if e.Count++; len(e.Failed) < failedFiles {
		e.Failed = append(e.Failed, &FileError{path, err})
	}
}

// orNil returns the error, nil when no file is in it.
func (e *PartialError) orNil() error {
	if e.Count == 0 {
		return nil
	}
	return e
}
