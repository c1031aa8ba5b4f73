#!/bin/sh
# Copyright The kube authors.
# SPDX-License-Identifier: Apache-2.0
#
# enter PROGRAM [ARG...] runs a program inside the node: `enter ctr -n k8s.io containers ls` lists its containers.
set -eu
. "${0%/*}/env"
pid=$(cat "$NODE_DIR/pid")
if [ "$(cat "/proc/$pid/root/run/kube-go-node")" != "$NODE_DIR" ]; then
	echo "the node in $NODE_DIR does not run" >&2 # and the machine must not be taken for it
	exit 1
fi
echo $$ >"$NODE_CGROUP/cgroup.procs"
export PATH="$NODE_BIN:$PATH"
exec nsenter --mount="/proc/$pid/ns/mnt" -- "$@"
