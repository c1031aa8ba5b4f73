#!/bin/sh
# Copyright The kube authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs the packages that a node needs and that Debian may lack. Run it as root.
set -eu

packages="iproute2 mount runc util-linux"

if ! command -v apt-get >/dev/null; then
	echo "this is not Debian or a derivative: install the packages with flock, ip, mount, nsenter, runc and unshare" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "installing packages needs root: sudo $0" >&2
	exit 1
fi
# shellcheck disable=SC2086 # a list
if dpkg-query --show --showformat '${db:Status-Status}\n' $packages 2>/dev/null | grep --invert-match --quiet '^installed$' ||
	! dpkg-query --show $packages >/dev/null 2>&1; then
	echo "installing the packages $packages"
	apt-get update --quiet --quiet
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --quiet --quiet $packages
else
	echo "the packages $packages are installed"
fi
