// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/kube-go/sdk/runtime/reflector"
)

const (
	// The size of a dictionary. A larger one hardly makes the objects smaller.
	dictionarySize = 32 << 10

	// The part of a sample that the dictionary may always have, in bytes.
	sampleSize = 4 << 10

	// The window of the encoder, which needs this memory. Few objects are larger.
	window = 64 << 10

	dictionaryID = 1
)

// New returns a codec for objects that resemble the samples. It is the value of the option Compression of caches and
// reflectors.
func New(samples [][]byte) (reflector.Codec, error) {
	dictionary := dictionaryOf(samples)
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderDictRaw(dictionaryID, dictionary),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest), // whose tables are small
		zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true),
	)
	if err != nil {
		return nil, fmt.Errorf("create zstd encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderDictRaw(dictionaryID, dictionary),
		zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderLowmem(true),
	)
	if err != nil {
		return nil, fmt.Errorf("create zstd decoder: %w", err)
	}
	return &codec{encoder, decoder}, nil
}

// dictionaryOf returns a dictionary of the last samples. Of a sample that is much larger than most, it has only the
// beginning, so that it also has others.
func dictionaryOf(samples [][]byte) []byte {
	if len(samples) == 0 {
		return nil
	}
	sizes := make([]int, len(samples))
	for i, s := range samples {
		sizes[i] = len(s)
	}
	slices.Sort(sizes)
	most := max(sampleSize, 2*sizes[len(sizes)/2])
	var dictionary []byte
	for _, s := range slices.Backward(samples) {
		dictionary = append(dictionary, s[:min(len(s), most, dictionarySize-len(dictionary))]...)
	}
	return dictionary
}

type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func (c *codec) Compress(dst, data []byte) []byte { return c.encoder.EncodeAll(data, dst) }

func (c *codec) Decompress(dst, data []byte) ([]byte, error) { return c.decoder.DecodeAll(data, dst) }
