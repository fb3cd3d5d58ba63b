package store

import (
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// lowerText is the SQL function, added to SQLite, for lower case in every
// script; SQLite's own lower and LIKE know only a to z.
const lowerText = "chattray_lower"

func init() { //nolint:gochecknoinits // connections know it that are opened later
	sqlite.MustRegisterDeterministicScalarFunction(lowerText, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return strings.ToLower(text), nil
		}
		return args[0], nil
	})
}
