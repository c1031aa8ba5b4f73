// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestMovesAreFew lets members join and leave a table, and checks that the shares are equal, that no slot moves
// unnecessarily, that the order of the moves does not matter for that, and that few ranges remain.
func TestMovesAreFew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var tab table
		for step := range 30 {
			uid := fmt.Sprint(step)
			if n := len(tab.members); n > 0 && random.IntN(3) == 0 {
				tab = tab.leave(tab.members[random.IntN(n)].uid)
			} else if n < 12 {
				tab = tab.join(member{uid, uid})
			}
			least := fewest(tab)
			moves := 0
			for target := tab.balanced(); target != tab.owners; target = tab.balanced() {
				for i := range tab.owners { // some of the moves, in any order
					if tab.owners[i] != target[i] && (tab.owners[i] == 0 || random.IntN(3) > 0) {
						tab.owners[i] = target[i]
						moves++
					}
				}
			}
			if moves > least {
				t.Fatalf("%d moves, want %d", moves, least)
			}
			ranges := 0
			for _, m := range tab.members {
				ranges += len(tab.of(m.uid).ranges())
			}
			if n := len(tab.members); n > 0 && ranges > 12*n {
				t.Fatalf("%d members have %d ranges", n, ranges)
			}
		}
	}
}

// fewest returns the smallest number of moves after which all shares are equal.
func fewest(t table) (moves int) {
	if len(t.members) == 0 {
		return 0
	}
	for _, n := range t.excess() {
		moves += max(0, -n)
	}
	return moves
}

func TestTablesAreStored(t *testing.T) {
	tab := table{generation: 7, by: byUID}.join(member{"u1", "a"}).join(member{"u2", "b"})
	tab.owners = tab.balanced()
	tab = tab.join(member{"u3", "c"})
	got, err := decode(tab.encode())
	if err != nil || !got.same(tab) || got.generation != 7 || got.by != byUID {
		t.Errorf("decode(%s) = %v, %v", tab.encode(), got, err)
	}
	for text, want := range map[string]string{
		``:              "unexpected end",
		`{"slots":128}`: "it has 128 slots",
		`{"slots":256,"members":[{"uid":"a","slots":"0-256"}]}`:                                 "not a range",
		`{"slots":256,"members":[{"uid":"a","slots":"x"}]}`:                                     "not a range",
		`{"slots":256,"members":[{"uid":"a","slots":"0-1"},{"uid":"b","slots":"1"}]}`:           "two owners",
		`{"slots":256,"members":[{"uid":"a"},{"uid":"a"}]}`:                                     "not unique",
		`{"slots":256,"members":[` + strings.Repeat(`{"uid":"a"},`, 255) + `{"uid":"a"}` + `]}`: "256 members",
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("decode(%.100s) = %v, want an error with %q", text, err, want)
		}
	}
	for i := range 300 {
		tab = tab.join(member{fmt.Sprint(i), ""})
	}
	if n := len(tab.members); n != maxMembers {
		t.Errorf("%d members, want at most %d", n, maxMembers)
	}
}

// FuzzTable checks that any text is a table or an error, since others can edit the annotation, that a table is stored
// without a loss, and that its members can share the slots.
func FuzzTable(f *testing.F) {
	tab := table{generation: 7}.join(member{"u1", "a"}).join(member{"u2", "b"})
	f.Add(tab.encode())
	tab.owners = tab.balanced()
	f.Add(tab.join(member{"u3", "<c>"}).encode())
	f.Add(`{"slots":256,"generation":-1,"members":[{"uid":"\ud800","slots":"255,+0-3,2"}]}`)
	f.Add(`{"slots":256,"members":[{"uid":"a","slots":"0-"},{"uid":"b","slots":"99999999999999999999"}]}`)
	f.Add(`{"slots":256,"members":[{"uid":"a","slots":"0-255"},{"uid":"b","slots":"7"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := decode(text)
		if err != nil {
			return
		}
		again, err := decode(tab.encode())
		if err != nil || !again.same(tab) || again.generation != tab.generation {
			t.Fatalf("decode(%s) = %v, %v; want %v", tab.encode(), again, err, tab)
		}
		if again.encode() != tab.encode() {
			t.Errorf("encode() = %s, want %s", again.encode(), tab.encode())
		}
		counts := make([]int, len(tab.members))
		for slot, owner := range tab.balanced() {
			if len(counts) == 0 {
				break
			}
			if owner == 0 || int(owner) > len(counts) {
				t.Fatalf("the slot %d has the owner %d of %d members", slot, owner, len(counts))
			}
			counts[owner-1]++
		}
		if len(counts) > 0 && slices.Max(counts)-slices.Min(counts) > 1 {
			t.Errorf("the members of %s have %v slots, want equal numbers", text, counts)
		}
	})
}

// TestSlotsAreShards checks that slots are the shards of the server.
func TestSlotsAreShards(t *testing.T) {
	var own slots
	for i := range slotCount {
		if i%3 == 0 || i > 200 {
			own.add(i)
		}
	}
	byUID, byNamespace := own.shard(false), own.shard(true)
	for i := range 2000 {
		text := fmt.Sprintf("%d-4b1d-%d", i, i)
		want := own.has(slotOf(text))
		if byUID.Has(types.UID(text), "") != want || byNamespace.Has("", text) != want {
			t.Errorf("%s is in the slot %d, but %s is different", text, slotOf(text), byUID)
		}
	}
	if (slots{}).shard(false).Has("a", "b") {
		t.Error("an empty shard has an object")
	}
}

// TestASlotThatSomebodyElseTakesEndsTheTerm has a table that somebody has restored, and that another member has changed
// since, so that its generation is not lower.
func TestASlotThatSomebodyElseTakesEndsTheTerm(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	self, other := member{uid: "a", identity: "a"}, member{uid: "b", identity: "b"}
	mine, theirs := table{generation: 10}.join(self).join(other), table{generation: 10}.join(self).join(other)
	for i := range mine.owners {
		mine.owners[i], theirs.owners[i] = 1, 1
	}
	theirs.owners[3] = 2
	for name, tt := range map[string]struct {
		given slots
		want  bool
	}{
		"taken": {slots{}, true}, "given": {mine.of("a"), false},
	} {
		s := state{
			self: self, group: "g", listed: true, fresh: true, table: mine, given: tt.given, leaseDuration: time.Minute,
		}
		_, act := s.step(input{
			kind: listed, now: now, group: "g", version: "7", table: theirs,
			leases: []lease{{name: "shop-a", uid: "a", group: "g"}, {name: "shop-b", uid: "b", group: "g"}},
		})
		if (act.kind == lost) != tt.want {
			t.Errorf("%s: the action is %+v, want the loss: %v", name, act.kind, tt.want)
		}
	}
}
