//go:build !linux

package replicas

// stayAwake is only needed, and only possible, on Linux.
func stayAwake() (stop func()) { return func() {} }
