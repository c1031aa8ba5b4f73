#!/bin/sh
# Copyright The kube authors.
# SPDX-License-Identifier: Apache-2.0
#
# Ends whatever is left of a node: every process in its control groups, which takes the node's mounts, network
# namespaces and virtual Ethernet pairs with it, then the control groups and the bridge. It may run again, and needs
# nobody who started the node.
set -u
. "${0%/*}/env"

pids() { # of every process of the node, one a line
	# shellcheck disable=SC2086 # a list
	find $NODE_CGROUPS -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u
}

tries=0
while left=$(pids) && [ -n "$left" ]; do
	tries=$((tries + 1))
	if [ "$tries" -gt 200 ]; then
		echo "these processes of the node do not end:" $left >&2
		exit 1
	fi
	# shellcheck disable=SC2086 # a list
	kill -KILL $left 2>/dev/null
	sleep 0.05
done

status=0
for cgroup in $NODE_CGROUPS; do
	if [ -d "$cgroup" ]; then
		find "$cgroup" -depth -type d -exec rmdir {} \; || status=1
	fi
done
if [ "$(cat "/sys/class/net/$NODE_BRIDGE/ifalias" 2>/dev/null)" = "$NODE_DIR" ]; then
	ip link delete "$NODE_BRIDGE" || status=1
fi
exit $status
