package store_test

import (
	"testing"

	"github.com/chattray/chattray/store/storetest"
)

// The store works whatever settings the database has.
func TestPostgresSettings(t *testing.T) { storetest.RunSettings(t, postgresURL(t)) }
