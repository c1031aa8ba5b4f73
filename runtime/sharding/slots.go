// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/core"
)

// slotCount is the number of equal parts of the hash space. A member owns some of them. With 256, the shares of ten
// members differ by at most 4 %.
const slotCount = 256

// slotOf returns the slot of a text: the first 8 bits of its 64-bit FNV-1a hash, which API servers shard objects by.
func slotOf(text string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // writes to a hash do not fail
	return int(h.Sum64() >> 56)
}

// slots is a set of slots.
type slots [slotCount / 64]uint64

func (s slots) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s *slots) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s slots) with(o slots) slots {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

func (s slots) without(o slots) slots {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

func (s slots) len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// slotRange is the slots from the first to the last one.
type slotRange struct{ first, last int }

// ranges returns the longest ranges of the slots, in order.
func (s slots) ranges() (all []slotRange) {
	for i := range slotCount {
		switch {
		case !s.has(i):
		case i > 0 && s.has(i-1):
			all[len(all)-1].last = i
		default:
			all = append(all, slotRange{i, i})
		}
	}
	return all
}

// String returns the ranges, such as "0-63,128".
func (s slots) String() string {
	var parts []string
	for _, r := range s.ranges() {
		if r.first == r.last {
			parts = append(parts, strconv.Itoa(r.first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r.first, r.last))
		}
	}
	return strings.Join(parts, ",")
}

// parseSlots parses the result of String.
func parseSlots(text string) (s slots, err error) {
	if text == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 0 || to < from || to >= slotCount {
			return slots{}, fmt.Errorf("%.20q is not a range of slots below %d", part, slotCount)
		}
		for i := from; i <= to; i++ {
			s.add(i)
		}
	}
	return s, nil
}

// shard returns the shard of the objects whose UID, or namespace, is in the slots.
func (s slots) shard(byNamespace bool) *core.Shard {
	field := "object.metadata.uid"
	if byNamespace {
		field = "object.metadata.namespace"
	}
	var parts []string
	for _, r := range s.ranges() {
		end := "0x10000000000000000"
		if r.last < slotCount-1 {
			end = fmt.Sprintf("0x%02x00000000000000", r.last+1)
		}
		parts = append(parts, fmt.Sprintf("shardRange(%s, '0x%02x00000000000000', '%s')", field, r.first, end))
	}
	shard, err := core.ParseShard(strings.Join(parts, " || "))
	if err != nil { // the set is empty
		return new(core.Shard)
	}
	return shard
}
