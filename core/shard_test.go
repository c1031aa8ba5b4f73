// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

func TestShardsPartitionTheObjects(t *testing.T) {
	for _, count := range []int{1, 2, 3, 7, 1000} {
		of := map[int]int{}
		for i := range 2000 {
			uid := types.UID(fmt.Sprintf("9d4c2b1a-0000-4000-8000-%012d", i))
			for index := range count {
				shard, err := core.ShardOf(index, count)
				if err != nil {
					t.Fatal(err)
				}
				if shard.Has(uid, "") {
					of[i]++
				}
			}
		}
		for i, n := range of {
			if n != 1 {
				t.Errorf("of %d shards, object %d is in %d", count, i, n)
			}
		}
		if len(of) != 2000 {
			t.Errorf("of %d shards, %d objects are in a shard; want all 2000", count, len(of))
		}
	}
	for _, bad := range [][2]int{{0, 0}, {-1, 2}, {2, 2}, {0, -1}} {
		if _, err := core.ShardOf(bad[0], bad[1]); err == nil {
			t.Errorf("ShardOf(%d, %d) returned no error", bad[0], bad[1])
		}
	}
}

func ExampleShardOf() {
	for i := range 2 {
		shard, err := core.ShardOf(i, 2)
		fmt.Println(shard, err)
	}
	// Output:
	// shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') <nil>
	// shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000') <nil>
}

func TestParseShardReadsWhatStringWrites(t *testing.T) {
	const whole = "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"
	tests := []struct{ name, in, want, wantErr string }{
		{name: "all objects", in: whole, want: whole},
		{
			name: "two ranges, with other quotes and blanks",
			in:   ` shardRange(object.metadata.namespace,"0x0000000000000000","0x00000000000000ff")||shardRange( object.metadata.namespace , '0x1000000000000000' , "0x10000000000000000" ) `,
			want: "shardRange(object.metadata.namespace, '0x0000000000000000', '0x00000000000000ff') || " +
				"shardRange(object.metadata.namespace, '0x1000000000000000', '0x10000000000000000')",
		},
		{name: "nothing", in: "", wantErr: "is not of the form"},
		{name: "half of two", in: whole + " ||", wantErr: "is not of the form"},
		{name: "another function", in: "hash(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')", wantErr: "is not of the form"},
		{name: "another field", in: strings.ReplaceAll(whole, "uid", "name"), wantErr: `"object.metadata.name" is neither`},
		{name: "two fields", in: whole + "||" + strings.ReplaceAll(whole, "uid", "namespace"), wantErr: "choose one"},
		{name: "a hash with fewer digits", in: "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')", wantErr: "16 digits"},
		{name: "a hash in upper case", in: strings.ReplaceAll(whole, "'0x0000000000000000'", "'0x00000000000000FF'"), wantErr: "lower case"},
		{name: "a hash with a sign", in: strings.ReplaceAll(whole, "'0x0000000000000000'", "'0x+000000000000000'"), wantErr: "16 digits"},
		{name: "a hash without quotes", in: strings.ReplaceAll(whole, "'", ""), wantErr: "in quotes"},
		{name: "a hash in different quotes", in: strings.ReplaceAll(whole, "000', ", `000", `), wantErr: "in quotes"},
		{name: "the end as a start", in: strings.ReplaceAll(whole, "'0x0000000000000000'", "'0x10000000000000000'"), wantErr: "not a valid hash"},
		{name: "an empty range", in: "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')", wantErr: "ends where it starts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := core.ParseShard(tt.in)
			switch {
			case tt.wantErr != "":
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("ParseShard(%q) = %v, %v; want an error with %q", tt.in, got, err, tt.wantErr)
				}
			case err != nil || got.String() != tt.want:
				t.Errorf("ParseShard(%q) = %v, %v; want %s", tt.in, got, err, tt.want)
			}
		})
	}
}

// FuzzShard compares a shard with apimachinery's evaluation of the same selector.
func FuzzShard(f *testing.F) {
	f.Add("shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')", "9d4c2b1a-5c55-4d0a-8f3e-0d6b5b7d1c11", "prod")
	f.Add("shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')", "", "")
	f.Add("shardRange(object.metadata.uid,'0x0000000000000000','0x00000000000000ff')||shardRange(object.metadata.uid,'0x1000000000000000','0x10000000000000000')", "a", "b")
	f.Fuzz(func(t *testing.T, selector, uid, namespace string) {
		shard, err := core.ParseShard(selector)
		if err != nil {
			return
		}
		again, err := core.ParseShard(shard.String())
		if err != nil || again.String() != shard.String() {
			t.Fatalf("ParseShard(%q) is %s, which reads as %v, %v", selector, shard, again, err)
		}
		theirs := sharding.NewSelector(requirements(shard.String())...)
		want, err := theirs.Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: namespace}})
		if got := shard.Has(types.UID(uid), namespace); err != nil || got != want {
			t.Errorf("%s has uid %q in namespace %q: %t; apimachinery says %t, %v", shard, uid, namespace, got, want, err)
		}
	})
}

// requirements splits a shard selector as written by String.
func requirements(selector string) []sharding.ShardRangeRequirement {
	var all []sharding.ShardRangeRequirement
	for part := range strings.SplitSeq(selector, " || ") {
		args := strings.Split(strings.TrimSuffix(strings.TrimPrefix(part, "shardRange("), ")"), ", ")
		all = append(all, sharding.ShardRangeRequirement{
			Key: args[0], Start: strings.Trim(args[1], "'"), End: strings.Trim(args[2], "'"),
		})
	}
	return all
}
