// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
)

// maxNodes is the maximum number of nodes on one machine.
const maxNodes = 256

// claimBridge creates a bridge for the node and sets its name and addresses in the plan. The first unused name also
// determines the subnet. The kernel never creates two interfaces with the same name, so nodes do not conflict. The
// bridge also has the address of the API server's service, on which the forwarder listens.
func claimBridge(plan *layout) error {
	taken, err := machinePrefixes()
	if err != nil {
		return err
	}
	service, err := netip.ParseAddrPort(plan.Service)
	if err != nil {
		return err
	}
	for number := range maxNodes {
		name, subnet := fmt.Sprintf("kubego%d", number), nodeSubnet(number)
		if overlaps(subnet, taken) {
			continue
		}
		err := addBridge(name, plan.Dir)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		plan.Bridge, plan.Subnet, plan.Gateway = name, subnet.String(), subnet.Addr().Next().String()
		// The first pod would also add the gateway, but only to a bridge without an address.
		for _, address := range []string{fmt.Sprintf("%s/%d", plan.Gateway, subnet.Bits()), service.Addr().String()} {
			if err := ip("address", "add", address, "dev", name); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("this machine has a bridge, or an address in 10.213.0.0/16, for each of %d nodes", maxNodes)
}

// addBridge creates a bridge with the node's directory as its alias, by which cleanup finds it. If this process is
// killed, the shell continues, and holds the lock for which cleanup waits. The error is os.ErrExist if another
// interface has the name.
func addBridge(name, dir string) error {
	lock, err := build.Lock(context.Background(), filepath.Join(dir, "bridge.lock"), func() {})
	if err != nil {
		return err
	}
	defer lock.Close()
	const script = `ip link add "$1" type bridge || exit
		ip link set dev "$1" alias "$2" || { ip link delete "$1"; exit 1; }`
	cmd := exec.Command("sh", "-c", script, "sh", name, dir)
	cmd.ExtraFiles = []*os.File{lock}
	out, err := cmd.CombinedOutput()
	return ipError("add the bridge "+name, string(out), err)
}

func nodeSubnet(number int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 213, byte(number), 0}), 24)
}

// machinePrefixes returns the networks in which this machine has an address.
func machinePrefixes() ([]netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var prefixes []netip.Prefix
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes, nil
}

func overlaps(subnet netip.Prefix, taken []netip.Prefix) bool {
	return slices.ContainsFunc(taken, subnet.Overlaps)
}

// ip runs the ip program. The error is os.ErrExist if the object already exists.
func ip(args ...string) error {
	message, err := run("ip", args...)
	return ipError("ip "+strings.Join(args, " "), message, err)
}

func ipError(action, message string, err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(message, "File exists") {
		err = os.ErrExist
	}
	return fmt.Errorf("%s: %w: %s", action, err, strings.TrimSpace(message))
}
