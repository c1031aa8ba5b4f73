// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kube-go/sdk/core/wire"
)

// CacheOptions are the options of [NewCache]. The zero value of a field is its default.
type CacheOptions struct {
	// Dir is a directory in which the documents are kept for the next run of the program. If it does not exist, it is
	// created, accessible only to the user. Default: none; the documents are kept in memory.
	Dir string

	// MaxAge is how long a document is used without a request to the server. A [Mapper] that does not find a resource
	// sends a request nevertheless, and so does each discovery while a group version is stale, see [ErrStale]. Default: 0,
	// which always asks the server whether the document has changed.
	MaxAge time.Duration

	// OnError is called if the cache fails; the failure is not returned as an error. It may be called concurrently.
	// Default: errors are ignored.
	OnError func(error)
}

// Cache keeps the documents of any number of servers, identified by their URLs. It is safe for concurrent use, also by
// several programs. It ignores damaged files.
type Cache struct {
	options CacheOptions

	mu   sync.Mutex // guards kept
	kept map[string]entry
}

// entry is a cached document.
type entry struct {
	tag  string // the ETag or hash of the document
	body []byte
	at   time.Time // when the server sent or confirmed it
}

// suffix is the suffix of the cache's files.
const suffix = ".discovery"

// maxEntryBytes limits how much of a file is read.
const maxEntryBytes = 64 << 20

// NewCache returns a cache. It performs no IO.
func NewCache(o *CacheOptions) *Cache {
	c := &Cache{kept: map[string]entry{}}
	if o != nil {
		c.options = *o
	}
	return c
}

// Invalidate removes all documents of all servers.
func (c *Cache) Invalidate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.kept)
	if c.options.Dir == "" {
		return nil
	}
	files, err := os.ReadDir(c.options.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("invalidate cache: %w", err)
	}
	var errs []error
	for _, file := range files {
		if filepath.Ext(file.Name()) != suffix { // not a file of the cache
			continue
		}
		if err := os.Remove(filepath.Join(c.options.Dir, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("invalidate cache: %w", err))
		}
	}
	return errors.Join(errs...)
}

// keyOf returns the key of a server's document, which is a valid file name.
func keyOf(server, path string) string {
	sum := sha256.Sum256([]byte(server + "\n" + path))
	return hex.EncodeToString(sum[:16]) + suffix
}

// load returns a cached document. A nil cache is empty.
func (c *Cache) load(server, path string) (entry, bool) {
	if c == nil {
		return entry{}, false
	}
	key := keyOf(server, path)
	if c.options.Dir == "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		e, ok := c.kept[key]
		return e, ok
	}
	e, err := readEntry(filepath.Join(c.options.Dir, key), server, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.report(err)
	}
	return e, err == nil
}

// young reports whether an entry may be used without a request.
func (c *Cache) young(e entry) bool {
	age := time.Since(e.at)
	return age >= 0 && age < c.options.MaxAge
}

// store keeps a document that the server has just sent.
func (c *Cache) store(server, path string, e entry) {
	if c == nil {
		return
	}
	key := keyOf(server, path)
	if c.options.Dir == "" {
		e.at = time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kept[key] = e
		return
	}
	if err := writeEntry(c.options.Dir, key, server, path, e); err != nil {
		c.report(err)
	}
}

// confirm renews the time of a cached document that the server has just confirmed.
func (c *Cache) confirm(server, path string, e entry) {
	if c.options.Dir == "" {
		c.store(server, path, e)
		return
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(c.options.Dir, keyOf(server, path)), now, now); err != nil {
		c.report(err)
	}
}

func (c *Cache) report(err error) {
	if c.options.OnError != nil {
		c.options.OnError(fmt.Errorf("discovery cache: %w", err))
	}
}

// header is the first line of a file; the document follows. The modification time of the file is when the server sent
// or confirmed the document.
type header struct {
	Server string `json:"server"`
	Path   string `json:"path"`
	Tag    string `json:"tag,omitempty"`
	SHA256 string `json:"sha256"` // hash of the tag and the document
}

// headerOf returns the header of an entry's file.
func headerOf(server, path string, e entry) header {
	sum := sha256.New()
	sum.Write([]byte(e.tag + "\n"))
	sum.Write(e.body)
	return header{server, path, e.tag, hex.EncodeToString(sum.Sum(nil))}
}

func readEntry(file, server, path string) (entry, error) {
	f, err := os.Open(file)
	if err != nil {
		return entry{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return entry{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEntryBytes))
	if err != nil {
		return entry{}, err
	}
	line, body, _ := bytes.Cut(data, []byte("\n"))
	var h header
	if err := wire.UnmarshalJSON(line, &h); err != nil {
		return entry{}, fmt.Errorf("%s is damaged: %w", file, err)
	}
	e := entry{tag: h.Tag, body: body, at: info.ModTime()}
	if h != headerOf(server, path, e) {
		return entry{}, fmt.Errorf("%s is damaged: its checksum does not match", file)
	}
	return e, nil
}

// writeEntry writes a file atomically.
func writeEntry(dir, key, server, path string, e entry) (err error) {
	line, err := wire.MarshalJSON(headerOf(server, path, e))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Only the user has access. Invalidate removes files that a crash leaves behind.
	f, err := os.CreateTemp(dir, "*.tmp"+suffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(append(line, '\n'), e.body...))
	if err := cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, key))
}
