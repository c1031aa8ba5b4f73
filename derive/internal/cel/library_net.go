// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"net/netip"
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

func urlType() *cel.Type     { return cel.ObjectType("kubernetes.URL") }
func addressType() *cel.Type { return cel.OpaqueType("net.IP") }
func networkType() *cel.Type { return cel.OpaqueType("net.CIDR") }

// urls returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-url-library.
func urls() functions {
	part := func(id string, f func(*url.URL) string) []cel.FunctionOpt {
		return []cel.FunctionOpt{member("url_get_"+id, urlType(), cel.StringType, func(u *url.URL) ref.Val { return types.String(f(u)) })}
	}
	return functions{
		"url":            {function("string_to_url", cel.StringType, urlType(), parseURL)},
		"isURL":          {function("is_url_string", cel.StringType, cel.BoolType, isURL)},
		"getScheme":      part("scheme", func(u *url.URL) string { return u.Scheme }),
		"getHost":        part("host", func(u *url.URL) string { return u.Host }),
		"getHostname":    part("hostname", (*url.URL).Hostname),
		"getPort":        part("port", (*url.URL).Port),
		"getEscapedPath": part("escaped_path", (*url.URL).EscapedPath),
		"getQuery":       {member("url_get_query", urlType(), cel.MapType(cel.StringType, cel.ListType(cel.StringType)), queryOf)},
	}
}

func parseURL(text string) ref.Val {
	if _, err := url.ParseRequestURI(text); err != nil { // it must be absolute
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	u, err := url.Parse(text)
	if err != nil {
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	return &extension{urlType(), u, u.String(), func(other any) bool {
		o, ok := other.(*url.URL)
		return ok && o.String() == u.String()
	}}
}

func isURL(text string) ref.Val {
	_, err := url.ParseRequestURI(text)
	return types.Bool(err == nil)
}

func queryOf(u *url.URL) ref.Val {
	query := map[ref.Val]ref.Val{}
	for name, values := range u.Query() {
		query[types.String(name)] = types.NewStringList(types.DefaultTypeAdapter, values)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, query)
}

// addresses returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-ip-address-library.
func addresses() functions {
	is := func(id string, f func(netip.Addr) bool) []cel.FunctionOpt {
		return []cel.FunctionOpt{member("ip_is_"+id, addressType(), cel.BoolType, func(a netip.Addr) ref.Val { return types.Bool(f(a)) })}
	}
	return functions{
		"ip":   {function("string_to_ip", cel.StringType, addressType(), toAddress)},
		"isIP": {function("is_ip", cel.StringType, cel.BoolType, func(s string) ref.Val { _, err := parseAddress(s); return types.Bool(err == nil) })},
		"ip.isCanonical": {function("ip_is_canonical", cel.StringType, cel.BoolType, func(s string) ref.Val {
			a, err := parseAddress(s)
			if err != nil {
				return failure(err)
			}
			return types.Bool(a.String() == s)
		})},
		"family": {member("ip_family", addressType(), cel.IntType, func(a netip.Addr) ref.Val {
			if a.Is4() {
				return types.Int(4)
			}
			return types.Int(6)
		})},
		"isUnspecified":        is("unspecified", netip.Addr.IsUnspecified),
		"isLoopback":           is("loopback", netip.Addr.IsLoopback),
		"isLinkLocalMulticast": is("link_local_multicast", netip.Addr.IsLinkLocalMulticast),
		"isLinkLocalUnicast":   is("link_local_unicast", netip.Addr.IsLinkLocalUnicast),
		"isGlobalUnicast":      is("global_unicast", netip.Addr.IsGlobalUnicast),
		"string":               {function("ip_to_string", addressType(), cel.StringType, func(a netip.Addr) ref.Val { return types.String(a.String()) })},
	}
}

func parseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return a, fmt.Errorf("IP Address %q parse error during conversion from string: %w", text, err)
	case a.Zone() != "":
		return a, fmt.Errorf("IP address %q with zone value is not allowed", text)
	case a.Is4In6():
		return a, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return a, nil
}

func toAddress(text string) ref.Val {
	a, err := parseAddress(text)
	if err != nil {
		return failure(err)
	}
	return addressOf(a)
}

func addressOf(a netip.Addr) ref.Val {
	return sized{&extension{addressType(), a, a.String(), func(other any) bool { return other == any(a) }}, (a.BitLen() + 7) / 8}
}

// networks returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-cidr-library.
func networks() functions {
	t := networkType()
	return functions{
		"cidr":   {function("string_to_cidr", cel.StringType, t, toNetwork)},
		"isCIDR": {function("is_cidr", cel.StringType, cel.BoolType, func(s string) ref.Val { _, err := parseNetwork(s); return types.Bool(err == nil) })},
		"containsIP": {
			member1("cidr_contains_ip_string", t, cel.StringType, cel.BoolType, func(n netip.Prefix, s string) ref.Val {
				a, err := parseAddress(s)
				if err != nil {
					return failure(err)
				}
				return types.Bool(n.Contains(a))
			}),
			member1("cidr_contains_ip_ip", t, addressType(), cel.BoolType, func(n netip.Prefix, a netip.Addr) ref.Val { return types.Bool(n.Contains(a)) }),
		},
		"containsCIDR": {
			member1("cidr_contains_cidr_string", t, cel.StringType, cel.BoolType, func(n netip.Prefix, s string) ref.Val {
				other, err := parseNetwork(s)
				if err != nil {
					return failure(err)
				}
				return contains(n, other)
			}),
			member1("cidr_contains_cidr", t, t, cel.BoolType, contains),
		},
		"ip":           {member("cidr_ip", t, addressType(), func(n netip.Prefix) ref.Val { return addressOf(n.Addr()) })},
		"prefixLength": {member("cidr_prefix_length", t, cel.IntType, func(n netip.Prefix) ref.Val { return types.Int(n.Bits()) })},
		"masked":       {member("cidr_masked", t, t, func(n netip.Prefix) ref.Val { return networkOf(n.Masked()) })},
		"string":       {function("cidr_to_string", t, cel.StringType, func(n netip.Prefix) ref.Val { return types.String(n.String()) })},
	}
}

func contains(n, other netip.Prefix) ref.Val {
	return types.Bool(n.Overlaps(other) && n.Bits() <= other.Bits())
}

func parseNetwork(text string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return n, fmt.Errorf("network address parse error during conversion from string: network address parse error during conversion from string: %w", err)
	case n.Addr().Is4In6():
		return n, fmt.Errorf("network address parse error during conversion from string: IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return n, nil
}

func toNetwork(text string) ref.Val {
	n, err := parseNetwork(text)
	if err != nil {
		return failure(err)
	}
	return networkOf(n)
}

func networkOf(n netip.Prefix) ref.Val {
	return sized{&extension{networkType(), n, n.String(), func(other any) bool { return other == any(n) }}, (n.Bits() + 7) / 8}
}
