// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Shard is a subset of the objects of a kind, for programs that share the work: the objects whose hash of the UID or
// the namespace is in certain ranges. String returns its shard selector, see https://kep.k8s.io/5866. It is immutable.
type Shard struct {
	field  string // what the hash is of
	ranges []hashRange
}

// hashRange is the hashes from the first to the last one.
type hashRange struct{ first, last uint64 }

// The fields that the hash can be of.
const (
	shardByUID       = "object.metadata.uid"
	shardByNamespace = "object.metadata.namespace"
)

// ShardOf returns the shard with an index, from 0, of count equal shards by UID. Each object is in exactly one of them.
func ShardOf(index, count int) (*Shard, error) {
	if count < 1 || index < 0 || index >= count {
		return nil, fmt.Errorf("shard %d of %d: want a count of at least 1, and an index from 0 to below it", index, count)
	}
	r := hashRange{last: math.MaxUint64}
	r.first, _ = bits.Div64(uint64(index), 0, uint64(count))
	if index+1 < count {
		end, _ := bits.Div64(uint64(index+1), 0, uint64(count))
		r.last = end - 1
	}
	return &Shard{shardByUID, []hashRange{r}}, nil
}

// ParseShard parses a shard selector: shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000'), or
// several separated by ||. A range includes its first hash, and excludes the last.
func ParseShard(selector string) (*Shard, error) {
	s := new(Shard)
	for part := range strings.SplitSeq(selector, "||") {
		field, r, err := parseShardRange(strings.TrimSpace(part))
		switch {
		case err != nil:
			return nil, fmt.Errorf("shard selector: %w", err)
		case s.field != "" && s.field != field:
			return nil, fmt.Errorf("shard selector: it has ranges of %s and of %s; choose one of them", s.field, field)
		}
		s.field, s.ranges = field, append(s.ranges, r)
	}
	return s, nil
}

func parseShardRange(part string) (field string, r hashRange, err error) {
	inner, ok := strings.CutPrefix(part, "shardRange(")
	inner, closed := strings.CutSuffix(inner, ")")
	args := strings.Split(inner, ",")
	if !ok || !closed || len(args) != 3 {
		return "", r, fmt.Errorf(
			"%.100q is not of the form shardRange(%s, '0x0000000000000000', '0x8000000000000000')",
			part,
			shardByUID,
		)
	}
	field = strings.TrimSpace(args[0])
	if field != shardByUID && field != shardByNamespace {
		return "", r, fmt.Errorf("%.100q is neither %s nor %s", field, shardByUID, shardByNamespace)
	}
	if r.first, err = parseHash(args[1]); err != nil {
		return "", r, err
	}
	end := strings.TrimSpace(args[2])
	if end == "'"+hashEnd+"'" || end == `"`+hashEnd+`"` {
		r.last = math.MaxUint64
		return field, r, nil
	}
	last, err := parseHash(end)
	if err == nil && last <= r.first {
		err = errors.New("a range ends where it starts, or before")
	}
	r.last = last - 1
	return field, r, err
}

// hashEnd is the end of a range that has all hashes from its start.
const hashEnd = "0x10000000000000000"

// parseHash parses the bound of a range. Servers require all digits.
func parseHash(arg string) (uint64, error) {
	arg = strings.TrimSpace(arg)
	if n := len(arg); n == 20 && (arg[0] == '\'' || arg[0] == '"') && arg[n-1] == arg[0] && strings.ToLower(arg) == arg {
		if digits, ok := strings.CutPrefix(arg[1:n-1], "0x"); ok {
			if hash, err := strconv.ParseUint(digits, 16, 64); err == nil {
				return hash, nil
			}
		}
	}
	return 0, fmt.Errorf(
		"%.100q is not a valid hash, such as '0x00ff00ff00ff00ff': 16 digits in lower case, in quotes; a range may end with '%s'",
		arg,
		hashEnd,
	)
}

// String returns the shard selector.
func (s *Shard) String() string {
	var parts []string
	for _, r := range s.ranges {
		end := hashEnd
		if r.last < math.MaxUint64 {
			end = fmt.Sprintf("0x%016x", r.last+1)
		}
		parts = append(parts, fmt.Sprintf("shardRange(%s, '0x%016x', '%s')", s.field, r.first, end))
	}
	return strings.Join(parts, " || ")
}

// Has reports whether an object is in the shard, as servers do. The namespace of a cluster-scoped object is empty.
func (s *Shard) Has(uid types.UID, namespace string) bool {
	text := string(uid)
	if s.field == shardByNamespace {
		text = namespace
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	hash := h.Sum64()
	for _, r := range s.ranges {
		if r.first <= hash && hash <= r.last {
			return true
		}
	}
	return false
}
