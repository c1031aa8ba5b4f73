// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package podfiles copies files and folders into containers and out of them.
//
//	files := podfiles.In(pods, "web-0", nil)
//	_, err := files.Upload(ctx, "./site", "/var/www/site")
//	_, err = files.Download(ctx, "/var/log/app", "./logs")
//
// Both paths are those of the thing that is copied: a folder's content comes to be in a folder of the name that is given,
// in a parent that must be there. What has the name of a file that is copied is replaced; files besides it stay.
//
// The work is done by the program tar, which the container must have. Permissions and times of modification are kept;
// owners are not, nor are bits such as setuid. Symbolic links are copied as links.
//
// # Trust
//
// What a container sends may be meant to do harm. A download writes nothing outside of the path that it was given, also
// not through symbolic links that are there or come along; a link that leads out is refused. [Options] bounds it.
//
// # Errors
//
// Files that could not be copied are named in a [*PartialError]; the others have been copied. When the container has no
// tar, the error matches [ErrNoTar].
//
// # Concurrency
//
// A [Files] is immutable and safe for concurrent use.
package podfiles
