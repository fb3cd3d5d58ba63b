//go:build !linux

package sqldb

// mayWrite does nothing: the first write shows whether writing is allowed.
func mayWrite(string) error { return nil }

// freeSpace returns unknown: a write that finds no room shows a full disk.
func freeSpace(string) (free uint64, known bool) { return 0, false }
