package bodies

import "io"

// WellFormed reports whether raw is JSON, by the scanner of bodies.
func WellFormed(raw []byte) bool { return !inspect(raw, rawType).failed }

// ReadBodies returns a function that reads bodies under a limit for a user and
// one for all; held returns how many bytes count for a user, and for all.
func ReadBodies(perUser, all int64) (read func(user string, r io.Reader, length, limit int64) (release func(), err error), held func(user string) (int64, int64)) {
	b := NewReader(perUser, all)
	return func(user string, r io.Reader, length, limit int64) (func(), error) {
			h, err := b.Read(user, r, length, limit)
			return h.Release, err
		}, func(user string) (int64, int64) {
			var own, all int64
			_ = b.held.Add(user, 0, func(ownNow, allNow int64) error { own, all = ownNow, allNow; return nil })
			return own, all
		}
}
