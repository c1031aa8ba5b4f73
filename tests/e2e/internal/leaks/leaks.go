// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaks finds secrets in the output of a test run.
package leaks

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MinLength is the length of the shortest secret that can be told from ordinary text.
const MinLength = 8

// Recorder keeps the output of a run and the secrets that the run uses. A secret may be added after it was written. The
// zero value is empty. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex // guards what follows
	outputs map[string]*bytes.Buffer
	secrets map[string]string // values to names
}

// Add adds a secret. The name stands for it in reports. It panics if the secret is shorter than [MinLength]: a test
// must use one that can be found.
func (r *Recorder) Add(name, secret string) {
	if len(secret) < MinLength {
		panic(fmt.Sprintf("leaks: the secret %s has %d characters: use at least %d", name, len(secret), MinLength))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.secrets == nil {
		r.secrets = map[string]string{}
	}
	r.secrets[secret] = name
}

// Writer returns a writer that records the output of one source. Writers of the same source share one record.
func (r *Recorder) Writer(source string) io.Writer { return output{r, source} }

type output struct {
	recorder *Recorder
	source   string
}

func (o output) Write(p []byte) (int, error) {
	r := o.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outputs == nil {
		r.outputs = map[string]*bytes.Buffer{}
	}
	if r.outputs[o.source] == nil {
		r.outputs[o.source] = new(bytes.Buffer)
	}
	return r.outputs[o.source].Write(p)
}

// Size returns how many bytes of a source are recorded.
func (r *Recorder) Size(source string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outputs[source] == nil {
		return 0
	}
	return r.outputs[source].Len()
}

// Memory returns how many bytes of memory the records need.
func (r *Recorder) Memory() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.outputs {
		n += o.Cap()
	}
	return n
}

// Capture replaces a file such as [os.Stdout] by one whose content is recorded and copied to the original file. The
// caller must call restore, which waits until everything is copied.
func (r *Recorder) Capture(file **os.File, source string) (restore func() error, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	original := *file
	*file = out
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.MultiWriter(original, r.Writer(source)), in)
		copied <- err
	}()
	return func() error {
		*file = original
		out.Close()
		err := <-copied
		in.Close()
		return err
	}, nil
}

// Leak is a secret in an output.
type Leak struct {
	Source string // of the output
	Secret string // its name
	Form   string // how it is encoded
	Line   string // the line up to the secret
}

func (l Leak) String() string {
	return fmt.Sprintf("%s has the secret %s (%s): %s", l.Source, l.Secret, l.Form, l.Line)
}

// Find returns the secrets that are in the outputs: one leak for each source, secret and form.
func (r *Recorder) Find() []Leak {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := newPatterns()
	for _, secret := range slices.Sorted(maps.Keys(r.secrets)) {
		p.add(r.secrets[secret], secret)
	}
	var leaks []Leak
	seen := map[Leak]bool{}
	for _, source := range slices.Sorted(maps.Keys(r.outputs)) {
		text, shown := r.outputs[source].Bytes(), 0
		p.find(text, func(at int, found pattern) {
			begin := shown
			shown = max(shown, at+len(found.text))
			key := Leak{Source: source, Secret: found.secret, Form: found.form}
			if seen[key] {
				return
			}
			seen[key] = true
			key.Line = lineBefore(text[min(begin, at):at])
			leaks = append(leaks, key)
		})
	}
	return leaks
}

// maxContext is how many bytes before a secret are shown at most.
const maxContext = 200

// lineBefore returns the end of the last line of a text. What follows is left out, since it may belong to the secret.
func lineBefore(text []byte) string {
	begin := max(bytes.LastIndexByte(text, '\n')+1, len(text)-maxContext)
	return fmt.Sprintf("%q...", text[begin:])
}

// pattern is a text whose presence is a leak.
type pattern struct{ text, secret, form string }

// patterns finds many patterns in one pass.
type patterns struct {
	starts []uint64             // a bit for the hash of each beginning
	byKey  map[uint64][]pattern // by the first [MinLength] bytes
}

func newPatterns() *patterns {
	return &patterns{starts: make([]uint64, 1<<14), byKey: map[uint64][]pattern{}}
}

// bit returns the place of a beginning in starts.
func bit(key uint64) (word, mask uint64) {
	hash := key * 0x9e3779b97f4a7c15 >> 44 // 20 bits
	return hash >> 6, 1 << (hash & 63)
}

// add adds the forms of all parts of a secret.
func (p *patterns) add(name, secret string) {
	for _, part := range parts(secret) {
		for form, text := range forms(part) {
			if len(text) < MinLength {
				continue
			}
			key := binary.LittleEndian.Uint64([]byte(text))
			if !slices.ContainsFunc(p.byKey[key], func(other pattern) bool { return other.text == text }) {
				p.byKey[key] = append(p.byKey[key], pattern{text, name, form})
			}
			word, mask := bit(key)
			p.starts[word] |= mask
		}
	}
}

// find calls found for each pattern in a text.
func (p *patterns) find(text []byte, found func(at int, pattern pattern)) {
	for at := 0; at+MinLength <= len(text); at++ {
		key := binary.LittleEndian.Uint64(text[at:])
		word, mask := bit(key)
		if p.starts[word]&mask == 0 {
			continue
		}
		for _, pattern := range p.byKey[key] {
			if bytes.HasPrefix(text[at:], []byte(pattern.text)) {
				found(at, pattern)
			}
		}
	}
}

// partLength is the length of the parts of a long secret. A secret that is cut is found if one part is whole.
const partLength = 24

// parts returns the texts that give a secret away: all of a short one, and each part of a long one. The headers of PEM
// and the first two parts of a JSON Web Token are known to everybody.
func parts(secret string) []string {
	if tokens := strings.Split(secret, "."); len(tokens) == 3 && strings.HasPrefix(secret, "eyJ") {
		secret = tokens[2]
	}
	var all []string
	for line := range strings.Lines(secret) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "-----") {
			continue
		}
		for len(line) >= 2*partLength {
			all = append(all, line[:partLength])
			line = line[partLength:]
		}
		if len(line) >= MinLength {
			all = append(all, line)
		}
	}
	return all
}

// forms returns a text in the encodings in which it may be printed.
func forms(text string) map[string]string {
	quoted := strconv.Quote(text)
	decimal := fmt.Sprintf("%d", []byte(text))
	all := map[string]string{
		"plain":          text,
		"quoted":         quoted[1 : len(quoted)-1],
		"query escape":   url.QueryEscape(text),
		"path escape":    url.PathEscape(text),
		"hexadecimal":    hex.EncodeToString([]byte(text)),
		"list of bytes":  decimal[1 : len(decimal)-1],
		"list of 0x":     strings.Join(strings.Fields(fmt.Sprintf("% #x", text)), ", "),
		"upper-case hex": strings.ToUpper(hex.EncodeToString([]byte(text))),
	}
	for shift := range 3 {
		name := "base64"
		if shift > 0 {
			name = fmt.Sprintf("base64 after %d bytes", shift)
		}
		all[name] = encodedWithin(base64.RawStdEncoding, text, shift)
		all["URL "+name] = encodedWithin(base64.RawURLEncoding, text, shift)
	}
	return all
}

// encodedWithin returns the characters that only a text decides when it is encoded behind some other bytes.
func encodedWithin(encoding *base64.Encoding, text string, before int) string {
	encoded := encoding.EncodeToString(append(make([]byte, before), text...))
	first := (before*8 + 5) / 6
	last := (before + len(text)) * 8 / 6
	return encoded[first:last]
}
