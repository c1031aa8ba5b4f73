// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxQuantity is the maximum length of a quantity. The largest useful quantity has twenty digits before the decimal
	// point and nine after it.
	maxQuantity = 100

	// maxKnown is the maximum length of a quantity that is remembered.
	maxKnown = 16
)

var (
	errExponent = errors.New("exponent of more than three digits")
	errQuantity = fmt.Errorf("quantity of more than %d characters", maxQuantity)
)

// known has some of the quantities that were parsed, by hash. Most objects have the same few quantities, and parsing
// one takes several times as long as finding it here.
//
//nolint:gochecknoglobals // a cache of constant values
var known [256]atomic.Pointer[knownQuantity]

type knownQuantity struct {
	text  string
	value resource.Quantity
}

// decodeQuantity does the same as the quantity's own method, without its three problems: that method panics at a length
// close to the largest integer, takes hours to round a number such as 1e-2147483647, and takes time proportional to the
// square of the number of digits.
func decodeQuantity(data []byte, q *resource.Quantity) error {
	for pos := 0; pos < len(data); {
		num, value, next, err := part(data, pos, 1)
		if err == nil && num != 0 {
			*q, err = parseQuantity(value)
		}
		if err != nil {
			return err
		}
		pos = next
	}
	return nil
}

func parseQuantity(text []byte) (resource.Quantity, error) {
	if len(text) > maxKnown {
		return parseNewQuantity(string(text))
	}
	hash := uint32(2166136261) // FNV-1a
	for _, c := range text {
		hash = (hash ^ uint32(c)) * 16777619
	}
	slot := &known[hash%uint32(len(known))]
	if k := slot.Load(); k != nil && k.text == string(text) {
		return k.value.DeepCopy(), nil
	}
	q, err := parseNewQuantity(string(text))
	if err == nil {
		slot.Store(&knownQuantity{string(text), q.DeepCopy()})
	}
	return q, err
}

func parseNewQuantity(s string) (resource.Quantity, error) {
	if e := strings.LastIndexAny(s, "eE"); e >= 0 && len(s)-e > len("e-999") {
		return resource.Quantity{}, errExponent
	}
	if len(s) > maxQuantity {
		return resource.Quantity{}, errQuantity
	}
	return resource.ParseQuantity(s)
}
