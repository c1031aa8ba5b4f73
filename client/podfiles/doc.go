// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package podfiles copies files and directories into containers and out of them.
//
//	files := podfiles.In(pods, "web-0", nil)
//	_, err := files.Upload(ctx, "./site", "/var/www/site")
//	_, err = files.Download(ctx, "/var/log/app", "./logs")
//
// Both paths are those of the copied file or directory itself: the content of a directory is copied to the directory at
// the given path, whose parent must exist. A file with the name of a copied file is replaced; other files are kept.
//
// The copy is made by the program tar, which the container must have. Permissions and modification times are kept;
// owners and bits such as setuid are not. Symbolic links are copied as links. A download does not change the
// permissions of local directories that exist. For users other than root, BusyBox removes the permissions in its umask
// from uploaded files, and makes directories writable for their owner.
//
// # Trust
//
// The data that a container sends may be malicious. A download writes nothing outside of the given path, not even
// through symbolic links that exist or are part of the download; a link to a target outside is rejected. [Options]
// limits the size of a download.
//
// # Permissions
//
// The verbs get and create for pods/exec, see client/pod.
//
// # Errors
//
// A [*PartialError] lists the files that could not be copied; the others have been copied. If the container has no tar,
// the error matches [ErrNoTar], and contains the error of the server.
//
// # Concurrency
//
// A [Files] is immutable and safe for concurrent use.
package podfiles
