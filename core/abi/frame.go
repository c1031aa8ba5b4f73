// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package abi

import "encoding/binary"

// AppendFrame appends the length of a message, as u32, and the message.
func AppendFrame(dst, message []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(message))), message...)
}

// CutFrame returns the first message of data and the data after it. It returns false if data ends within it.
func CutFrame(data []byte) (message, rest []byte, ok bool) {
	if len(data) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n > uint64(len(data)-4) {
		return nil, nil, false
	}
	return data[4 : 4+n], data[4+n:], true
}
