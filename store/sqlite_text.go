package store

import (
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// lowerText is the function of our SQLite that puts text into lower case in
// every script; its own lower and LIKE know a to z only.
const lowerText = "chattray_lower"

func init() { //nolint:gochecknoinits // connections know it that are opened later
	sqlite.MustRegisterDeterministicScalarFunction(lowerText, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return strings.ToLower(text), nil
		}
		return args[0], nil
	})
}
