// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The bounds of a quantity. The largest meaningful one has twenty digits before the point and nine after it. Rounding
// 1e-99999999 takes minutes, comparing 1e999999999 takes a gigabyte, and the time to parse digits grows with their
// square.
const (
	maxQuantityBytes  = 102 // with quotes
	maxExponentDigits = 3
)

var (
	errLongQuantity = fmt.Errorf("a quantity of more than %d characters", maxQuantityBytes-2)
	errExponent     = errors.New("a quantity whose exponent has more than three digits")
)

// unmarshalQuantity decodes a quantity as its own method does, but in bounded time.
func unmarshalQuantity(dec *jsontext.Decoder, q *resource.Quantity) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if len(raw) > maxQuantityBytes {
		return errLongQuantity
	}
	if e := bytes.LastIndexAny(raw, "eE"); e >= 0 {
		exponent := bytes.Trim(raw[e+1:], `+-" `)
		if len(exponent) > maxExponentDigits {
			return errExponent
		}
	}
	return q.UnmarshalJSON(raw)
}
