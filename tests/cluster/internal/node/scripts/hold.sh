#!/bin/sh
# Copyright The kube authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes the mount namespace that a node lives in and holds it open until it is killed. Inside, the folders that
# containerd, the kubelet and CNI use wherever they are told to live are the node's own, so that nodes do not meet and
# the machine's stay as they were; a mount that the node makes is seen nowhere else and is gone with its last process.
set -eu
. "${0%/*}/env"

if [ "${1-}" != inside ]; then
	echo $$ >"$NODE_CGROUP/cgroup.procs"
	echo $$ >"$NODE_DIR/pid"
	exec unshare --mount --propagation private -- "$0" inside
fi

mount --make-rshared / # as on a machine that systemd started: volumes may propagate within the node
# A kubelet sets some of the kernel's parameters, and CNI turns forwarding on. They get files to write to instead.
for file in "$NODE_DIR"/sysctl/*; do
	parameter=/proc/sys/$(basename "$file" | tr . /)
	if [ -e "$parameter" ]; then mount --bind "$file" "$parameter"; fi
done
for folder in /var/lib /var/log /run; do # /run is last: the mark in it says that all is in place
	mount --bind "$NODE_DIR$folder" "$folder"
done
exec sleep infinity
