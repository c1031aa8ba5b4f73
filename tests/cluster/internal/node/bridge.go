// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxNodes is how many nodes can be on one machine.
const maxNodes = 256

// claimBridge makes a bridge for the node and fills in its name and its addresses. The number of the first name that is
// free chooses the subnet too, so the kernel, which makes no two interfaces of one name, keeps nodes apart.
func claimBridge(plan *layout) error {
	taken, err := machinePrefixes()
	if err != nil {
		return err
	}
	for number := range maxNodes {
		name, subnet := fmt.Sprintf("kubego%d", number), nodeSubnet(number)
		if overlaps(subnet, taken) {
			continue
		}
		err := ip("link", "add", name, "type", "bridge")
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		// The alias tells cleanup whose bridge it is.
		if err := os.WriteFile(filepath.Join("/sys/class/net", name, "ifalias"), []byte(plan.Dir), 0o644); err != nil {
			return errors.Join(err, deleteBridge(name))
		}
		plan.Bridge, plan.Subnet, plan.Gateway = name, subnet.String(), subnet.Addr().Next().String()
		// The first pod would bring it otherwise, but not to a bridge that has been given another one before.
		address := fmt.Sprintf("%s/%d", plan.Gateway, subnet.Bits())
		if err := ip("address", "add", address, "dev", name); err != nil {
			return errors.Join(err, deleteBridge(name))
		}
		return nil
	}
	return fmt.Errorf("this machine has a bridge, or an address in 10.213.0.0/16, for each of %d nodes", maxNodes)
}

func nodeSubnet(number int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 213, byte(number), 0}), 24)
}

// machinePrefixes returns the networks that this machine has an address in.
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

func deleteBridge(name string) error { return ip("link", "delete", name) }

// ip runs the program of that name. The error is os.ErrExist if that was its reason.
func ip(args ...string) error {
	message, err := run("ip", args...)
	if err == nil {
		return nil
	}
	if strings.Contains(message, "File exists") {
		err = os.ErrExist
	}
	return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, message)
}
