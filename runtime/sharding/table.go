// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// member is one term of a replica.
type member struct {
	uid      string // of its lease
	identity string
}

// table says which member owns which slot. It is immutable: methods return other tables.
type table struct {
	generation int64    // grows with each write
	by         string   // what divides the objects: byUID or byNamespace; empty if an older version has written it
	members    []member // in the order in which they have joined, at most maxMembers
	owners     owners
}

// owners has the index of each slot's member plus 1, or 0 if the slot is free.
type owners [slotCount]uint8

// maxMembers is the maximum number of members. Others wait until one leaves.
const maxMembers = 255

// index returns the index of a member, or -1.
func (t table) index(uid string) int {
	return slices.IndexFunc(t.members, func(m member) bool { return m.uid == uid })
}

// of returns the slots of a member.
func (t table) of(uid string) (s slots) {
	at := t.index(uid)
	for i, owner := range t.owners {
		if at >= 0 && int(owner) == at+1 {
			s.add(i)
		}
	}
	return s
}

// The fields that divide the objects, see Options.ByNamespace.
const (
	byUID       = "uid"
	byNamespace = "namespace"
)

// foreign reports whether the members of the table divide the objects by something else.
func (t table) foreign(by string) bool { return t.by != "" && t.by != by && len(t.members) > 0 }

// join returns a table with another member, unless there are too many.
func (t table) join(m member) table {
	if len(t.members) == maxMembers {
		return t
	}
	t.members = append(slices.Clip(t.members), m)
	return t
}

// leave returns a table without a member. Its slots are free.
func (t table) leave(uid string) table {
	at := t.index(uid)
	if at < 0 {
		return t
	}
	t.members = slices.Delete(slices.Clone(t.members), at, at+1)
	for i, owner := range t.owners {
		switch o := int(owner); {
		case o == at+1:
			t.owners[i] = 0
		case o > at+1:
			t.owners[i]--
		}
	}
	return t
}

// same reports whether the content is the same, apart from the generation.
func (t table) same(o table) bool { return t.owners == o.owners && slices.Equal(t.members, o.members) }

// balanced returns the owners that the slots should have: the numbers of slots of any two members differ by at most
// one. It moves as few slots as possible, and leaves the slots of a member in few ranges. It depends on nothing but the
// table, and moving only some of the slots leads to the same result.
func (t table) balanced() owners {
	n := len(t.members)
	if n == 0 {
		return owners{}
	}
	excess := t.excess()
	for i := range n {
		for excess[i] > 0 {
			excess[i] -= t.release(uint8(i+1), excess[i])
		}
	}
	for i, owner := range t.owners {
		if owner == 0 {
			next := t.heir(i, excess)
			t.owners[i] = next
			excess[next-1]++
		}
	}
	return t.owners
}

// excess returns for each member how many slots it has more than it should have.
func (t table) excess() []int {
	n := len(t.members)
	counts, order := make([]int, n), make([]int, n)
	for i := range n {
		order[i] = i
	}
	for _, owner := range t.owners {
		if owner > 0 {
			counts[owner-1]++
		}
	}
	share, rest := slotCount/n, slotCount%n
	// Members that have one slot more than the share keep it, so that the result does not change while slots move.
	slices.SortStableFunc(order, func(a, b int) int {
		exact := func(i int) int { return oneIf(counts[i] == share+1) }
		return cmp.Or(cmp.Compare(exact(b), exact(a)), cmp.Compare(counts[b], counts[a]))
	})
	for place, i := range order {
		counts[i] -= share
		if place < rest {
			counts[i]--
		}
	}
	return counts
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// release frees at most limit slots of an owner: the last ones of its shortest range. It returns their number.
func (t *table) release(owner uint8, limit int) int {
	var own slots
	for i, o := range t.owners {
		if o == owner {
			own.add(i)
		}
	}
	shortest := slices.MinFunc(own.ranges(), func(a, b slotRange) int {
		return cmp.Compare(a.last-a.first, b.last-b.first)
	})
	first := max(shortest.first, shortest.last-limit+1)
	for i := first; i <= shortest.last; i++ {
		t.owners[i] = 0
	}
	return shortest.last - first + 1
}

// heir returns the next owner of a free slot: that of a neighbor, or the member with the fewest slots.
func (t *table) heir(slot int, excess []int) uint8 {
	for _, i := range []int{slot - 1, slot + 1} {
		if i >= 0 && i < slotCount && t.owners[i] > 0 && excess[t.owners[i]-1] < 0 {
			return t.owners[i]
		}
	}
	least := 0
	for i := range excess {
		if excess[i] < excess[least] {
			least = i
		}
	}
	return uint8(least + 1)
}

// stored is the JSON of a table.
type stored struct {
	Slots      int            `json:"slots"`
	By         string         `json:"by,omitempty"`
	Generation int64          `json:"generation"`
	Members    []storedMember `json:"members"`
}

type storedMember struct {
	UID      string `json:"uid"`
	Identity string `json:"identity"`
	Slots    string `json:"slots"`
}

func (t table) encode() string {
	s := stored{Slots: slotCount, By: t.by, Generation: t.generation, Members: []storedMember{}}
	for _, m := range t.members {
		s.Members = append(s.Members, storedMember{m.uid, m.identity, t.of(m.uid).String()})
	}
	text, _ := json.Marshal(s) // strings and numbers only
	return string(text)
}

// decode parses the JSON of a table.
func decode(text string) (t table, err error) {
	var s stored
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return table{}, err
	}
	switch {
	case s.Slots != slotCount:
		return table{}, fmt.Errorf("it has %d slots, and not %d", s.Slots, slotCount)
	case len(s.Members) > maxMembers:
		return table{}, fmt.Errorf("it has %d members, which is more than %d", len(s.Members), maxMembers)
	}
	t.generation, t.by = s.Generation, s.By
	for i, m := range s.Members {
		own, err := parseSlots(m.Slots)
		switch {
		case err != nil:
			return table{}, err
		case m.UID == "" || t.index(m.UID) >= 0:
			return table{}, fmt.Errorf("the UID of the member %.100q is empty or not unique", m.Identity)
		}
		t.members = append(t.members, member{m.UID, m.Identity})
		for slot := range slotCount {
			switch {
			case !own.has(slot):
			case t.owners[slot] > 0:
				return table{}, fmt.Errorf("the slot %d has two owners", slot)
			default:
				t.owners[slot] = uint8(i + 1)
			}
		}
	}
	return t, nil
}
