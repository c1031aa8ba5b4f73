// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// newEgress returns the transport for requests to other servers than the API server. It follows no redirects. It
// connects to the addresses that only the machine of the host can reach, such as 127.0.0.1, and to the metadata
// services of clouds, such as 169.254.169.254, only if the origin names them: a name that somebody else has in DNS must
// not lead there.
func newEgress(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	var proxies sync.Map // the addresses of proxies, which guests do not choose
	plain := &net.Dialer{Timeout: 30 * time.Second}
	guarded := &net.Dialer{Timeout: plain.Timeout, Control: refuseLocal}
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			u, err := proxy(r)
			if u != nil {
				ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
				proxies.Store(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme])), true)
			}
			return u, err
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			name, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			_, isProxy := proxies.Load(address)
			if _, err := netip.ParseAddr(name); err == nil || isProxy {
				return plain.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		ResponseHeaderTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 1 << 20, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer},
	}
}

// CheckOrigin returns an error if a text is not an origin, see [Module.Origins]: a scheme, a host and perhaps a port,
// without a path.
func CheckOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return fmt.Errorf("%q is not an origin: name a scheme and a host, such as https://hooks.example.com", text)
	}
	return nil
}

// refuseLocal returns an error if an address is one of the machine, or of its link, or of a metadata service.
func refuseLocal(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap()
	if ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsUnspecified() || isMetadata(ip) {
		return &abi.Error{Code: abi.Forbidden, Message: fmt.Sprintf("the name has the local address %s: a host connects to "+
			"such an address only if the origin names it instead", ip)}
	}
	return nil
}

// isMetadata reports whether an address is that of a metadata service of a cloud which is not link-local. They respond
// with credentials of the machine.
func isMetadata(ip netip.Addr) bool {
	switch ip.WithZone("").String() {
	case "fd00:ec2::254", // https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html
		"fd00:ec2::23",    // https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
		"fd20:ce::254",    // https://cloud.google.com/compute/docs/metadata/querying-metadata
		"168.63.129.16",   // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
		"100.100.100.200": // https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
		return true
	}
	return false
}
