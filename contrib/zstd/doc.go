// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package zstd compresses the objects of a cache in memory, with a dictionary that it makes from the first objects of
// each kind.
//
//	cache := kube.NewCache(client, &kube.CacheOptions{Compression: zstd.New})
//
// Objects of one kind resemble each other, so each needs only a part of its size: a cached pod about a third less than
// with the codec that a cache has by default. In return, each read of an object takes about 3 µs longer, and each
// change about 10 µs. Use it for kinds with many objects that are read rarely.
//
// Only programs that import this package link the library github.com/klauspost/compress.
package zstd
