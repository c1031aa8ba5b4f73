// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import "bytes"

// blankBodies overwrites the bodies of top-level functions with white space, since the parser spends most of its time
// on them. Lines and offsets stay the same. It returns false if it can't find the end of a token.
func blankBodies(src []byte) bool {
	b := &blanker{src: src}
	for b.at < len(src) {
		if !b.step() {
			return false
		}
	}
	return b.depth == 0
}

// blanker is the state of blankBodies.
type blanker struct {
	src       []byte
	at        int
	depth     int    // the number of open brackets of all kinds
	signature bool   // at is between a func and its body
	body      int    // the start of the body, or 0 outside of a body
	word      []byte // the last token, if it is a word
}

// step skips the next token.
func (b *blanker) step() bool {
	start, c := b.at, b.src[b.at]
	b.at++
	word := b.word
	b.word = nil
	switch {
	case c == ' ' || c == '\t' || c == '\r':
		b.word = word
	case c == '\n':
		if b.signature && b.depth == 0 && string(word) != "func" { // a function without a body, or a result of several tokens
			b.signature = false
		}
	case c == '/' && b.at < len(b.src) && b.src[b.at] == '/':
		b.word = word
		b.skip(bytes.IndexByte(b.src[b.at:], '\n'))
	case c == '/' && b.at < len(b.src) && b.src[b.at] == '*':
		b.word = word
		return b.skip(bytes.Index(b.src[b.at+1:], []byte("*/"))) && b.skip(3)
	case c == '`':
		return b.skip(bytes.IndexByte(b.src[b.at:], '`')) && b.skip(1)
	case c == '"' || c == '\'':
		return b.quoted(c)
	case c == '(' || c == '[':
		b.depth++
	case c == '{':
		if b.signature && b.depth == 0 && string(word) != "struct" && string(word) != "interface" {
			b.signature, b.body = false, b.at
		}
		b.depth++
	case c == ')' || c == ']' || c == '}':
		b.depth--
		if b.depth == 0 && b.body > 0 {
			b.blank(start)
		}
		return b.depth >= 0
	case isLetter(c):
		for b.at < len(b.src) && isLetter(b.src[b.at]) {
			b.at++
		}
		b.word = b.src[start:b.at]
		if b.depth == 0 && string(b.word) == "func" && (start == 0 || b.src[start-1] == '\n') {
			b.signature = true
		}
	}
	return true
}

// skip skips n bytes. A negative n means that a search has failed.
func (b *blanker) skip(n int) bool {
	if n < 0 {
		b.at = len(b.src)
		return false
	}
	b.at += n
	return b.at <= len(b.src)
}

// quoted skips a string or a rune.
func (b *blanker) quoted(quote byte) bool {
	for b.at < len(b.src) {
		c := b.src[b.at]
		b.at++
		switch c {
		case quote:
			return true
		case '\\':
			b.at++
		case '\n':
			return false
		}
	}
	return false
}

// blank overwrites the body that ends before an index.
func (b *blanker) blank(end int) {
	for i, c := range b.src[b.body:end] {
		if c != '\n' {
			b.src[b.body+i] = ' '
		}
	}
	b.body = 0
}

// isLetter reports whether a byte is part of a word or a number.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
