package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
)

const (
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// otlpEnvironment are the OTEL_* variables, without the space around their values.
type otlpEnvironment map[string]string

func readEnvironment(environ []string) otlpEnvironment {
	e := otlpEnvironment{}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") {
			e[name] = strings.TrimSpace(value)
		}
	}
	return e
}

// traces reports whether traces are exported.
func (e otlpEnvironment) traces() bool {
	return e[endpointVariable]+e[tracesEndpointVariable] != "" &&
		e["OTEL_TRACES_EXPORTER"] != "none" && !strings.EqualFold(e["OTEL_SDK_DISABLED"], "true")
}

// first returns the first of the variables that is set, and its value.
func (e otlpEnvironment) first(name, other string) (variable, value string) {
	if e[name] == "" {
		name = other
	}
	return name, e[name]
}

// protocol returns the protocol of the traces: grpc, http/protobuf or http/json.
func (e otlpEnvironment) protocol() string {
	_, protocol := e.first(tracesProtocolVariable, protocolVariable)
	return cmp.Or(protocol, "http/protobuf")
}

// CheckEnvironment returns an error if the OTEL_* variables of the environment
// export traces to an address or with a protocol that cannot work. The exporter
// itself ignores such an address and sends the traces to localhost. The error
// names the variable. It does not contain an address, which may hold a password.
func CheckEnvironment(environ []string) error {
	e := readEnvironment(environ)
	if !e.traces() {
		return nil
	}
	switch e.protocol() {
	case "grpc", "http/protobuf", "http/json":
	default:
		variable, value := e.first(tracesProtocolVariable, protocolVariable)
		return fmt.Errorf("%s: %q is neither grpc nor http/protobuf", variable, value)
	}
	for _, variable := range []string{endpointVariable, tracesEndpointVariable} { // the exporter parses both and prints one that it cannot parse
		if _, err := url.Parse(e[variable]); err != nil {
			return fmt.Errorf("%s is not a URL; it is, for example, http://collector:4318", variable)
		}
	}
	variable, value := e.first(tracesEndpointVariable, endpointVariable)
	if e.protocol() == "grpc" {
		if !isTarget(value) {
			return fmt.Errorf("%s is not the address of a collector; with grpc it is, for example, http://collector:4317", variable)
		}
	} else if !isWebURL(value) {
		return fmt.Errorf("%s is not a URL with http or https and a host; it is, for example, http://collector:4318", variable)
	}
	return nil
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isTarget reports whether a gRPC client can take s, which may also be HOST:PORT
// or have a scheme of gRPC's own, as unix and dns. With these the exporter would
// take a user and a password for a part of the host.
func isTarget(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return u.Host != ""
	}
	return !strings.Contains(s, "@")
}
