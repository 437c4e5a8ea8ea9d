package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// ErrOpenBind is wrapped when an address that others can reach is to be served without a key.
var ErrOpenBind = errors.New("server: refusing to listen beyond loopback without an API key")

// CheckListen refuses addresses other than loopback unless there is a key. addr is "host:port".
func CheckListen(addr string, hasKey bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("server: listen address %q: %w", addr, err)
	}
	if port == "" {
		return fmt.Errorf("server: listen address %q: no port", addr)
	}
	if hasKey || isLocalName(host) {
		return nil
	}
	if host == "" {
		host = "every interface"
	}
	return fmt.Errorf("%w: %q is %s; listen on 127.0.0.1, or give --api-key-file", ErrOpenBind, addr, host)
}

// isLocalName reports whether host, without port and brackets, can only mean this machine.
func isLocalName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isLocalHost reports whether a Host header names this machine, with or without a port.
func isLocalHost(header string) bool {
	host := header
	if h, port, err := net.SplitHostPort(header); err == nil {
		if !isPort(port) {
			return false
		}
		return isLocalName(h)
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	return isLocalName(host)
}

// isPort: SplitHostPort takes any text after the colon for the port.
func isPort(s string) bool {
	return s != "" && len(s) <= 5 && strings.Trim(s, "0123456789") == ""
}

// isLocalOrigin reports whether an Origin header names a page served by this machine. "null" (files, sandboxes) is foreign.
func isLocalOrigin(header string) bool {
	u, err := url.Parse(header)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Opaque != "" {
		return false
	}
	return isLocalHost(u.Host)
}

// isLoopbackPeer reports whether the connection comes from this machine.
func isLoopbackPeer(remote string) bool {
	ap, err := netip.ParseAddrPort(remote)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
