package sqldb

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// maxURLFile is the size of a file that a URL names, in bytes.
const maxURLFile = 1 << 20

var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// CheckURL returns an error unless Open can use the URL of a Postgres database. It does not
// connect. The error does not have the URL, which may hold a password.
func CheckURL(from string) error {
	_, err := parsePostgres(from)
	return err
}

// parsePostgres reads a URL, and says what is wrong with it; the driver's error would repeat
// the URL. Whether the server knows a parameter, it says itself.
func parsePostgres(from string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(from)
	if err != nil || u.Fragment != "" || strings.Count(authority(from), "@") > 1 { // the driver takes the first @
		return nil, errors.New("the URL of the database cannot be read; a port is a number, and in a user or a password " +
			"% is written as %25, / as %2F, ? as %3F, # as %23 and @ as %40")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("the query of the database's URL cannot be read")
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if !hasPort(host) {
			return nil, errors.New("a port of the database must be a number from 1 to 65535")
		}
	}
	if mode := query.Get("sslmode"); query.Has("sslmode") && !slices.Contains(sslModes, mode) {
		return nil, fmt.Errorf("sslmode must be one of %s", strings.Join(sslModes, ", "))
	}
	for _, name := range []string{"sslrootcert", "sslcert", "sslkey", "passfile", "servicefile"} {
		if err := fileOfURL(query.Get(name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	config, err := pgx.ParseConfig(from)
	if err != nil {
		refused := errors.New("a parameter of the database's URL, or of a PG variable of the environment, has a wrong value")
		if file, ok := errors.AsType[*fs.PathError](err); ok { // the error of the driver shows the password
			return nil, fmt.Errorf("%w: %w", refused, file)
		}
		return nil, refused
	}
	return config, nil
}

// authority returns the part of a URL that has the user and the host.
func authority(from string) string {
	_, rest, _ := strings.Cut(from, "//")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// hasPort reports whether host has a port that is one, or none.
func hasPort(host string) bool {
	at := strings.LastIndexByte(host, ':')
	if at < strings.LastIndexByte(host, ']') || at < 0 || at == len(host)-1 {
		return true
	}
	n, err := strconv.ParseUint(host[at+1:], 10, 16)
	return err == nil && n > 0
}

// fileOfURL returns an error unless the driver can read the file: it reads all of it, perhaps
// several times. A missing one may be none.
func fileOfURL(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // the driver says whether it needs the file
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxURLFile:
		return fmt.Errorf("%s is larger than %d bytes", path, maxURLFile)
	}
	return nil
}
