// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"net/netip"
	"testing"
)

func TestSubnetIsInUseWhenTheMachineHasAnAddressInIt(t *testing.T) {
	for _, test := range []struct {
		name  string
		taken []string
		want  bool
	}{
		{name: "no address"},
		{name: "another node's", taken: []string{"127.0.0.1/8", "10.213.6.1/24", "fe80::1/64"}},
		{name: "its own", taken: []string{"10.213.7.1/24"}, want: true},
		{name: "an address in a larger network around it", taken: []string{"192.168.0.2/24", "10.1.2.3/8"}, want: true},
		{name: "a single address within it", taken: []string{"10.213.7.200/32"}, want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var taken []netip.Prefix
			for _, prefix := range test.taken {
				taken = append(taken, netip.MustParsePrefix(prefix))
			}
			if got := overlaps(nodeSubnet(7), taken); got != test.want {
				t.Errorf("overlaps(%v, %v) = %t, want %t", nodeSubnet(7), taken, got, test.want)
			}
		})
	}
}
