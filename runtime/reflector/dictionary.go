// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// dictionary is the default codec. It replaces text that is in many objects by references to a dictionary, which is
// text of some objects. Text means any bytes. It is several times faster than general compression, so that compressing
// an object costs less than reading it from the network, and decompressing it less than decoding it.
//
// A compressed object consists of steps. Each has a number of bytes and the bytes, and then a number of bytes to copy
// from the dictionary and their position there. Numbers are varints. The last step may end after the bytes.
type dictionary struct {
	text   []byte
	places []uint16 // the position + 1 in the dictionary of a seed, by its hash; 0: none
}

const (
	// A seed is the shortest text that is found in the dictionary.
	seedBytes = 8
	// Compress looks for a seed at each position that is a multiple of this number, or follows a match.
	stride = 4

	maxDictionary = 1 << 15 // bytes, so that a position fits a uint16
	placeBits     = 14
	countBits     = 17
)

// seedAt returns the seed at a position, and its hash.
func seedAt(data []byte, pos int, hashBits uint) (seed, hash uint64) {
	seed = binary.LittleEndian.Uint64(data[pos:])
	return seed, seed * 0x9e3779b97f4a7c15 >> (64 - hashBits)
}

// newDictionary returns a codec for objects like the samples. The dictionary has the text that is in at least a quarter
// of them, and then the text that is in at least three, as far as there is room.
func newDictionary(samples [][]byte) (Codec, error) {
	const most = 64 // samples, which keeps this fast
	samples = samples[:min(len(samples), most)]
	counts := make([]uint8, 1<<countBits) // the number of samples that have a seed, by its hash
	latest := make([]uint8, 1<<countBits) // the number of the last of them
	for i, sample := range samples {
		for pos := range len(sample) - seedBytes + 1 {
			if _, h := seedAt(sample, pos, countBits); latest[h] != uint8(i+1) {
				latest[h] = uint8(i + 1)
				counts[h]++
			}
		}
	}
	d := &dictionary{places: make([]uint16, 1<<placeBits)}
	for _, least := range []int{max(len(samples)/4, 3), 3} {
		for _, sample := range samples {
			d.addCommon(sample, counts, uint8(least))
		}
	}
	return d, nil
}

// addCommon adds the text of a sample that is in enough samples and not in the dictionary yet.
func (d *dictionary) addCommon(sample []byte, counts []uint8, least uint8) {
	start := 0
	for pos := range len(sample) - seedBytes + 1 {
		_, h := seedAt(sample, pos, countBits)
		if counts[h] < least {
			d.add(sample[start : pos+seedBytes-1])
			start = pos + 1
			continue
		}
		counts[h] = 0
	}
	d.add(sample[start:])
}

func (d *dictionary) add(text []byte) {
	if len(text) < seedBytes || len(d.text)+len(text) > maxDictionary {
		return
	}
	pos := len(d.text)
	d.text = append(d.text, text...)
	for ; pos+seedBytes <= len(d.text); pos++ {
		if _, h := seedAt(d.text, pos, placeBits); d.places[h] == 0 {
			d.places[h] = uint16(pos + 1)
		}
	}
}

// Compress implements [Codec].
func (d *dictionary) Compress(dst, data []byte) []byte {
	done := 0 // the part of data that dst has
	for pos := 0; pos+seedBytes <= len(data); {
		seed, h := seedAt(data, pos, placeBits)
		place := int(d.places[h]) - 1
		if place < 0 || binary.LittleEndian.Uint64(d.text[place:]) != seed {
			pos += stride
			continue
		}
		end := pos + seedBytes + common(data[pos+seedBytes:], d.text[place+seedBytes:])
		for pos > done && place > 0 && data[pos-1] == d.text[place-1] {
			pos--
			place--
		}
		dst = appendBytes(dst, data[done:pos])
		dst = binary.AppendUvarint(dst, uint64(end-pos))
		dst = binary.AppendUvarint(dst, uint64(place))
		pos, done = end, end
	}
	if done < len(data) {
		dst = appendBytes(dst, data[done:])
	}
	return dst
}

func appendBytes(dst, data []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(data))), data...)
}

// common returns the length of the common prefix.
func common(a, b []byte) (n int) {
	for ; n+8 <= min(len(a), len(b)); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

var errCorrupt = errors.New("invalid compressed object")

// Decompress implements [Codec].
func (d *dictionary) Decompress(dst, data []byte) ([]byte, error) {
	for len(data) > 0 {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			return dst, errCorrupt
		}
		dst = append(dst, data[size:size+int(n)]...)
		if data = data[size+int(n):]; len(data) == 0 {
			break
		}
		n, size = binary.Uvarint(data)
		place, more := binary.Uvarint(data[max(size, 0):])
		if size <= 0 || more <= 0 || place > uint64(len(d.text)) || n > uint64(len(d.text))-place {
			return dst, errCorrupt
		}
		dst = append(dst, d.text[place:place+n]...)
		data = data[size+more:]
	}
	return dst, nil
}
