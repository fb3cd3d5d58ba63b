package outbound

import (
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// Networks that the library's lists leave out.
var (
	// 168.63.129.16 looks public, but it is the host agent of a cloud provider.
	moreDeniedV4 = []netip.Prefix{netip.MustParsePrefix("168.63.129.16/32")}
	// 3ffe::/16 was returned to IANA and is not routed publicly.
	moreDeniedV6 = []netip.Prefix{netip.MustParsePrefix("3ffe::/16")}
)

// guard decides which resolved addresses may be reached.
type guard struct {
	allow  []netip.Prefix
	public *ssrf.Guardian
}

func newGuard(allow []netip.Prefix) *guard {
	return &guard{allow: allow, public: ssrf.New(
		ssrf.WithDeniedV4Prefixes(moreDeniedV4...),
		ssrf.WithDeniedV6Prefixes(moreDeniedV6...),
	)}
}

// control is a net.Dialer's Control: it checks each address before the
// connection is made, whatever name it was resolved from.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return refuse("the network is not TCP")
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refuse("the address cannot be parsed")
	}
	ip := to.Addr().Unmap()
	for _, p := range g.allow {
		if p.Contains(ip.WithZone("")) {
			return nil
		}
	}
	if g.public.SafeAddr(ip) != nil || embedsV4(ip) {
		return refuse("it is not a public address")
	}
	if to.Port() != 80 && to.Port() != 443 {
		return refuse("the port is not 80 or 443")
	}
	return nil
}

// embedsV4 finds ISATAP addresses: an IPv4 address in the interface part of an
// address that looks global.
func embedsV4(ip netip.Addr) bool {
	if !ip.Is6() {
		return false
	}
	b := ip.As16()
	return (b[8]|0x02) == 0x02 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
