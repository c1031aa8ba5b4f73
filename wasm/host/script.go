// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// script is a recording, ordered by what the guest asked for.
type script struct {
	cover
	steps []step
	asked map[string][]*question // by their key
}

// step is a call of the host.
type step struct {
	export

	at     int64 // the time in Unix nanoseconds; 0 if it was not read
	ended  bool  // the recording has its end; otherwise, it has failed or the recording ends before
	result []byte
}

// question is an operation that the recorded guest has submitted or called.
type question struct {
	key, body string
	write     bool
	step      int  // the number of the step in which it was asked; -1 before the first one
	used      bool // by the module that is compared

	items  []scriptItem // of a submitted operation
	answer []byte       // of a called operation, or the id or code of a submitted one; nil if it is not recorded
}

// scriptItem is an item and the number of the step that has delivered it.
type scriptItem struct {
	item

	step int
}

// keyer names operations, so that those of two versions of a module can be paired. Ids of watches differ between them.
type keyer struct{ watches map[int64]string }

// key returns what an operation is about, the body of a request or the version of an object, and whether it is a write.
func (k *keyer) key(form frame, kind abi.Operation, message []byte) (key, body string, write bool) {
	key = fmt.Sprintf("%c%d ", form, kind)
	switch kind {
	case abi.OpRequest, abi.OpHTTP:
		head, rest, ok := abi.CutFrame(message)
		var r abi.Request
		if !ok || wire.UnmarshalJSON(head, &r) != nil {
			break
		}
		method := cmp.Or(r.Method, http.MethodGet) // as in package http
		return key + method + " " + r.URL, canonical(rest), method != http.MethodGet && method != http.MethodHead
	case abi.OpGet:
		var g abi.Get
		if wire.UnmarshalJSON(message, &g) == nil {
			return fmt.Sprintf("%s%s %s/%s", key, k.watches[g.Watch], g.Namespace, g.Name), g.ResourceVersion, false
		}
	case abi.OpList:
		var l abi.List
		if wire.UnmarshalJSON(message, &l) == nil {
			watch := k.watches[l.Watch]
			l.Watch = 0
			return key + watch + " " + string(marshal(l)), "", false
		}
	case abi.OpWatch, abi.OpDelay: // by their message
	}
	return key + canonical(message), "", false
}

// subject returns a key for a person.
func subject(key string) string {
	_, text, _ := strings.Cut(key, " ")
	return text
}

// canonical returns a JSON text in a form in which equal values have equal texts, and other data unchanged.
func canonical(data []byte) string {
	v := jsontext.Value(data).Clone()
	if v.Canonicalize() != nil {
		return string(data)
	}
	return string(v)
}

// readScript reads a recording, which may end at any byte.
func readScript(r io.Reader) (*script, error) {
	t, c, err := openTape(r)
	if err != nil {
		return nil, err
	}
	s := &script{cover: c, asked: make(map[string][]*question)}
	p := scriptReader{script: s, keyer: keyer{make(map[int64]string)}, ids: make(map[int64]*question)}
	for {
		kind, data, err := t.read()
		if err == io.EOF {
			p.settle()
			return s, nil
		}
		if err == nil {
			err = p.frame(kind, data)
		}
		if err != nil {
			return nil, err
		}
	}
}

// finish removes what can't be compared, because its end is not recorded: a last call, and operations without an
// answer. Permissions are needed for them, too, so Rules keeps them.
func (s *script) finish() {
	if last := len(s.steps) - 1; last >= 0 && !s.steps[last].ended {
		s.steps = s.steps[:last]
	}
	for key, all := range s.asked {
		s.asked[key] = slices.DeleteFunc(all, func(q *question) bool { return q.answer == nil })
	}
}

// scriptReader reads the frames of a recording.
type scriptReader struct {
	keyer

	script     *script
	ids        map[int64]*question // submitted operations
	open       *question           // whose answer follows
	message    []byte              // of the open question
	wall, mono int64               // the first times
	monos      []int64             // of the steps
}

func (p *scriptReader) frame(kind frame, data []byte) error {
	s := p.script
	switch kind {
	case frameExport:
		st := step{}
		if err := wire.UnmarshalJSON(data, &st.export); err != nil {
			return err
		}
		if q := p.ids[st.ID]; st.Name == abi.Wake && q != nil && (len(st.Message) > 0 || st.Flags != 0) {
			q.items = append(q.items, scriptItem{item{flags: st.Flags, data: st.Message}, len(s.steps)})
		}
		s.steps, p.monos = append(s.steps, st), append(p.monos, 0)
	case frameResult:
		if len(s.steps) == 0 {
			return errors.New("the recording has a result without a call")
		}
		last := &s.steps[len(s.steps)-1]
		last.ended, last.result = true, data
	case frameSubmit, frameCall:
		fields := 2
		if kind == frameSubmit {
			fields = 3
		}
		parts := strings.SplitN(string(data), " ", fields)
		op, err := strconv.Atoi(parts[0])
		if err != nil || len(parts) != fields {
			return fmt.Errorf("frame %q of the recording is not an operation", kind)
		}
		p.message = []byte(parts[fields-1])
		q := &question{step: len(s.steps) - 1}
		q.key, q.body, q.write = p.key(kind, abi.Operation(op), p.message)
		s.asked[q.key] = append(s.asked[q.key], q)
		p.open = q
	case frameID, frameAnswer:
		if p.open == nil || len(data) < 8 {
			return fmt.Errorf("frame %q of the recording is not the answer of an operation", kind)
		}
		p.open.answer = data
		if id := int64(binary.LittleEndian.Uint64(data)); kind == frameID && id > 0 {
			p.ids[id], p.watches[id] = p.open, canonical(p.message)
		}
		p.open = nil
	case frameClock:
		p.time(data)
	case frameCancel, frameLog, frameRandom, framePoll: // the module that is compared has its own
	}
	return nil
}

// time records the time of a step. Guests read two clocks; the monotonic one begins with the host.
func (p *scriptReader) time(data []byte) {
	const since = 1e17 // 1973
	n, _ := binary.Varint(data)
	last := len(p.script.steps) - 1
	switch {
	case n > since && p.wall == 0:
		p.wall = n
	case n <= since && p.mono == 0:
		p.mono = n
	}
	switch {
	case last < 0:
	case n > since && p.script.steps[last].at == 0:
		p.script.steps[last].at = n
	case n <= since && p.monos[last] == 0:
		p.monos[last] = n
	}
}

// settle computes the times of the steps that have read the monotonic clock only.
func (p *scriptReader) settle() {
	for n := range p.script.steps {
		if st := &p.script.steps[n]; st.at == 0 && p.monos[n] != 0 {
			st.at = p.wall + p.monos[n] - p.mono
		}
	}
}
