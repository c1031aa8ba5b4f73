// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

const (
	// Servers keep changes for about five minutes at least, which is the compaction interval of etcd. So a program that
	// crashes can usually resume from its last snapshot.
	snapshotInterval = 5 * time.Minute

	// An older file is not used. A server that still has the changes since then could have more of them than objects.
	oldestSnapshot = time.Hour

	// An older file is of a watch that no program has any more, and is removed.
	unusedSnapshot = 24 * time.Hour

	// Fewer bytes are listed faster than the server confirms a snapshot, see [resumed].
	smallestSnapshot = 512 << 10

	// The default limits of package wire for a list and for an object.
	largestSnapshot = 1 << 30
	largestObject   = 64 << 20
)

// The format of a file: the magic with the number of the format, the identity, the time in seconds, the resource
// version and the number of objects, then the objects, each with its length and its encoding, and the checksum of all
// that. All numbers are little-endian. The number of the format changes with [wire.Packed.AppendCompact], too.
const (
	snapshotMagic  = "kubesnp\x01"
	snapshotHeader = len(snapshotMagic) + sha256.Size + 8 + 8 + 4
	snapshotItem   = 4 + 1
	snapshotSum    = crc32.Size
)

// snapshot is the content of a file.
type snapshot struct {
	identity [sha256.Size]byte
	taken    time.Time // when the objects were those of the server
	version  uint64
	objects  []wire.Packed
}

// write replaces a file with the snapshot, or leaves it unchanged if that fails. The codecs are those of the objects.
func (s *snapshot) write(path string, c codecs) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	removeOld(path)
	if err := s.encode(f, c); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// encode writes the content of the file.
func (s *snapshot) encode(file io.Writer, c codecs) error {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buffer := bufio.NewWriterSize(file, 1<<16) // which remembers an error until Flush
	w := io.MultiWriter(buffer, sum)
	_, _ = w.Write(s.header())
	var item [snapshotItem]byte
	size := snapshotHeader + snapshotSum
	var decompressed []byte
	for _, kept := range s.objects {
		object := c.plain(kept, decompressed)
		if isCompressed(kept) {
			decompressed = object.Bytes()[:0]
		}
		if size += snapshotItem + object.Len(); object.Len() > largestObject || size > largestSnapshot {
			return errors.New("the objects are too large")
		}
		binary.LittleEndian.PutUint32(item[:], uint32(object.Len()))
		item[4] = byte(object.Encoding())
		_, _ = w.Write(item[:])
		if _, err := w.Write(object.Bytes()); err != nil {
			return err
		}
	}
	_, _ = buffer.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return buffer.Flush()
}

// removeSnapshot removes a file, if it exists, and old files in its directory.
func removeSnapshot(path string) error {
	removeOld(path)
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// removeOld removes the other files in the directory of a file that were not written for a long time: those of watches
// that no program has any more, and the incomplete files of programs that crashed while they wrote them.
func removeOld(path string) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	entries, _ := os.ReadDir(dir) // best effort
	for _, e := range entries {
		limit := unusedSnapshot
		if strings.HasSuffix(e.Name(), ".tmp") {
			limit = oldestSnapshot
		}
		if e.Name() == name || !e.Type().IsRegular() || !isSnapshotName(e.Name()) { // it could be a pipe
			continue
		}
		other := filepath.Join(dir, e.Name())
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > limit && hasMagic(other) {
			_ = os.Remove(other)
		}
	}
}

// isSnapshotName reports whether a name is one of [Reflector.file], or of an incomplete file.
func isSnapshotName(name string) bool {
	base, tmp, ok := strings.Cut(name, ".snapshot")
	plural, sum := base[:max(0, len(base)-17)], base[max(0, len(base)-17):]
	if !ok || plural == "" || !strings.HasPrefix(sum, "-") {
		return false
	}
	_, err := hex.DecodeString(sum[1:])
	return err == nil && (tmp == "" || strings.HasPrefix(tmp, ".") && strings.HasSuffix(tmp, ".tmp"))
}

// hasMagic reports whether a file begins like a snapshot, of any format. An incomplete file may be empty.
func hasMagic(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(snapshotMagic)-1)
	n, err := io.ReadFull(f, begin)
	empty := n == 0 && errors.Is(err, io.EOF) && strings.HasSuffix(path, ".tmp")
	return empty || err == nil && strings.HasPrefix(snapshotMagic, string(begin))
}

func (s *snapshot) header() []byte {
	dst := append([]byte(snapshotMagic), s.identity[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.taken.Unix()))
	dst = binary.LittleEndian.AppendUint64(dst, s.version)
	return binary.LittleEndian.AppendUint32(dst, uint32(len(s.objects)))
}

var (
	errNotSnapshot = errors.New("it is not a snapshot in the current format")
	errDamaged     = errors.New("it is damaged")
)

// readSnapshot reads a file. It returns nil if the file does not exist.
func readSnapshot(path string) (*snapshot, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestSnapshot {
		return nil, errNotSnapshot
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return parseSnapshot(data)
}

// parseSnapshot returns the snapshot in the data of a file. The objects use the memory of data.
func parseSnapshot(data []byte) (*snapshot, error) {
	if !strings.HasPrefix(string(data[:min(len(data), len(snapshotMagic))]), snapshotMagic) {
		return nil, errNotSnapshot
	}
	end := len(data) - snapshotSum
	if end < snapshotHeader ||
		crc32.Checksum(data[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, errDamaged
	}
	s := new(snapshot)
	rest := data[len(snapshotMagic):end:end]
	rest = rest[copy(s.identity[:], rest):]
	s.taken = time.Unix(int64(binary.LittleEndian.Uint64(rest)), 0)
	s.version = binary.LittleEndian.Uint64(rest[8:])
	count := int(binary.LittleEndian.Uint32(rest[16:]))
	rest = rest[20:]
	if count > len(rest)/snapshotItem {
		return nil, errDamaged
	}
	s.objects = make([]wire.Packed, 0, count)
	for range count {
		if len(rest) < snapshotItem {
			return nil, errDamaged
		}
		size, encoding := int64(binary.LittleEndian.Uint32(rest)), wire.Encoding(rest[4])
		rest = rest[snapshotItem:]
		if size > largestObject || size > int64(len(rest)) || encoding != wire.JSON && encoding != wire.Protobuf {
			return nil, errDamaged
		}
		s.objects = append(s.objects, wire.NewPacked(encoding, rest[:size:size]))
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return nil, errDamaged
	}
	return s, nil
}

// byRef returns the objects by namespace and name.
func (s *snapshot) byRef() (map[core.ObjectRef]wire.Packed, error) {
	objects := make(map[core.ObjectRef]wire.Packed, len(s.objects))
	for _, object := range s.objects {
		head, err := object.Head()
		if err != nil || head.Ref.Name == "" || head.UID == "" {
			return nil, errDamaged
		}
		objects[head.Ref] = object
	}
	if len(objects) < len(s.objects) {
		return nil, errDamaged
	}
	return objects, nil
}

// snapshots reads and writes the snapshots of a reflector. It is used by Run only.
type snapshots struct {
	dir, scope string     // see [Options]
	current    time.Time  // when the objects were last known to be those of the server
	changed    bool       // there were changes since the last snapshot
	written    time.Time  // when the last one was written or loaded
	writing    chan error // receives the result of the write in progress; nil while nothing is written
}

// usesSnapshots reports whether the objects are kept in snapshots. A secret must not outlive its process in a file,
// where the encryption of etcd does not protect it. This is also true of its metadata: an annotation of kubectl apply
// has the data.
func (r *Reflector) usesSnapshots() bool {
	res := r.table.resource
	return r.snapshots.dir != "" && (res.Group != "" || res.Plural != "secrets")
}

// file returns the path of the snapshot, which depends on what is watched, and the identity, which also depends on the
// form of the objects.
func (r *Reflector) file(n need) (path string, identity [sha256.Size]byte) {
	res := r.table.resource
	watched := fmt.Sprintf("%q", []string{
		r.snapshots.scope, res.APIVersion(), res.Kind, res.Plural, strconv.FormatBool(res.Namespaced),
		r.watch.LabelSelector, r.watch.FieldSelector, r.watch.ShardSelector,
	})
	sum := sha256.Sum256([]byte(watched))
	path = filepath.Join(r.snapshots.dir, res.Plural+"-"+hex.EncodeToString(sum[:8])+".snapshot")
	return path, sha256.Sum256(fmt.Appendf(nil, "%s %t %t %s", watched, n.metadata, n.protobuf, n.fields()))
}

// resume returns the source of a watch that resumes from the snapshot, or nil if no snapshot can be used. A snapshot of
// objects that are not kept in snapshots is removed. cancel ends the watch.
func (r *Reflector) resume(n need, src watcher.Source, cancel func(error)) *resumed {
	t := r.table
	t.mu.RLock()
	filled := t.ready
	t.mu.RUnlock()
	if filled || r.snapshots.dir == "" {
		return nil
	}
	path, identity := r.file(n)
	if !r.usesSnapshots() { // earlier versions of this package wrote the metadata of secrets
		if err := removeSnapshot(path); err != nil {
			r.report(fmt.Errorf("list %s: a snapshot has secrets: %w", t.resource, err))
		}
		return nil
	}
	s, err := readSnapshot(path)
	if s == nil && err == nil {
		return nil
	}
	var objects map[core.ObjectRef]wire.Packed
	switch {
	case err != nil:
	case s.identity != identity:
		err = errors.New("it has another form of the objects")
	case time.Since(s.taken).Abs() > oldestSnapshot:
		err = fmt.Errorf("it is from %s, more than %v ago", s.taken.Format(time.RFC3339), oldestSnapshot)
	default:
		objects, err = s.byRef()
	}
	if err != nil {
		r.report(fmt.Errorf("list %s: snapshot %s is not used: %w", t.resource, path, err))
		return nil
	}
	r.snapshots.written, r.snapshots.changed = time.Now(), true
	return &resumed{Source: src, options: &r.watch, version: s.version, objects: objects, cancel: cancel}
}

// adopt fills the table with the confirmed objects of a resumed watch, like a list.
func (r *Reflector) adopt(s *resumed, keep *wire.Projection, form uint64) error {
	objects := s.objects
	s.objects = nil
	_ = r.take(watcher.Event{Type: watcher.Init}, keep, form) // which returns no error
	for ref, object := range objects {
		head, err := object.Head()
		if err == nil {
			err = r.take(watcher.Event{Type: watcher.InitApply, Head: head, Object: object}, keep, form)
		}
		if err != nil {
			return &errSnapshot{fmt.Sprintf("%s: %v", ref, err)}
		}
	}
	head := wire.Head{ResourceVersion: strconv.FormatUint(s.version, 10)}
	if err := r.take(watcher.Event{Type: watcher.InitDone, Head: head}, keep, form); err != nil {
		r.report(err)
	}
	return nil
}

// note writes a snapshot in the background if one is due after an event: after a list; with the first bookmark after
// the interval, if there were changes; and otherwise often enough that the file does not become too old. A bookmark
// makes the version recent, and needs no timer.
func (r *Reflector) note(ev watcher.EventType) {
	s := &r.snapshots
	if s.dir == "" {
		return
	}
	s.current = time.Now()
	switch since := s.current.Sub(s.written); {
	case ev == watcher.InitDone:
	case ev != watcher.Bookmark:
		s.changed = true
		return
	case since < snapshotInterval || !s.changed && since < oldestSnapshot/2:
		return
	}
	if s.writing != nil && len(s.writing) == 0 {
		return
	}
	r.awaitSnapshot()
	if write := r.prepareSnapshot(); write != nil {
		result := make(chan error, 1)
		s.writing = result
		go func() { result <- write() }() // Run waits for it
	}
}

// awaitSnapshot waits for the write in progress, and reports its error.
func (r *Reflector) awaitSnapshot() {
	s := &r.snapshots
	if s.writing == nil {
		return
	}
	if err := <-s.writing; err != nil {
		r.report(fmt.Errorf("write a snapshot of %s: %w", r.table.resource, err))
	}
	s.writing = nil
}

// endSnapshots writes the last snapshot of a run.
func (r *Reflector) endSnapshots() {
	if r.snapshots.dir == "" {
		return
	}
	r.awaitSnapshot()
	if write := r.prepareSnapshot(); write != nil {
		r.snapshots.writing = make(chan error, 1)
		r.snapshots.writing <- write()
		r.awaitSnapshot()
	}
}

// prepareSnapshot returns a function that writes the current objects. It returns nil if they can't be resumed from: a
// list is incomplete, or the version is not a number.
func (r *Reflector) prepareSnapshot() (write func() error) {
	r.mu.Lock()
	need, wanted := r.need, r.form
	r.mu.Unlock()
	objects, c, version, form := r.table.all()
	number, err := strconv.ParseUint(version, 10, 64)
	if r.listing || form == 0 || form != wanted || err != nil || number == 0 || !r.usesSnapshots() {
		return nil
	}
	r.snapshots.written, r.snapshots.changed = time.Now(), false
	path, identity := r.file(need)
	size := 0
	for _, object := range objects {
		size += object.Len()
	}
	if size < smallestSnapshot {
		return func() error { return removeSnapshot(path) }
	}
	s := &snapshot{identity: identity, taken: r.snapshots.current, version: number, objects: objects}
	return func() error { return s.write(path, c) }
}

// all returns all objects, their codecs, version and form. The form is 0 if no list was completed.
func (t *table) all() (objects []wire.Packed, c codecs, version string, form uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.ready {
		return nil, nil, "", 0
	}
	objects = make([]wire.Packed, 0, t.count)
	for e := range t.entries("") {
		objects = append(objects, e.object)
	}
	return objects, t.compression.codecs, t.version, t.form
}
