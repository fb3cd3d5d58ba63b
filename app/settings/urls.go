package settings

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/chattray/chattray/store/sqldb"
)

// httpURL parses a base URL, which may be empty. The error never has the value,
// which may hold a password.
func httpURL(field func(*Config) *string) binder {
	return scalar(field, parseHTTPURL)
}

func parseHTTPURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", errors.New("must be a URL that begins with http:// or https://")
	}
	return s, nil
}

// publicURL parses a URL to which the service appends paths.
func publicURL(s string) (string, error) {
	if strings.ContainsAny(s, "?#") {
		return "", errors.New("must have no query and no fragment")
	}
	if u, err := url.Parse(s); err == nil && u.User != nil {
		return "", errors.New("must have no user and no password")
	}
	return parseHTTPURL(s)
}

func database(c *Config, raw any) error {
	s, err := scalarText(raw)
	if err != nil {
		return err
	}
	path, isFile := strings.CutPrefix(s, "sqlite:")
	switch {
	case isFile && strings.HasPrefix(path, ":memory:"):
		return errors.New("must be the path of a file: a database in memory is not supported")
	case isFile && path != "":
	case strings.HasPrefix(s, "postgres://"), strings.HasPrefix(s, "postgresql://"):
		if err := sqldb.CheckURL(s); err != nil {
			return err
		}
	default:
		return errors.New("must be sqlite:PATH or a URL that begins with postgres://")
	}
	c.DatabaseURL = s
	return nil
}

// natsURLs parses the addresses of NATS servers. The error never has the value, which may
// hold a password.
func natsURLs(c *Config, raw any) error {
	list, err := texts(raw)
	if err != nil {
		return err
	}
	for _, s := range list {
		u, err := url.Parse(s)
		if err != nil || (u.Scheme != "nats" && u.Scheme != "tls") || u.Host == "" {
			return errors.New("must be URLs that begin with nats:// or tls://")
		}
	}
	c.NATS.URL = strings.Join(list, ",")
	return nil
}

// origins parses a list of origins, which become the form that browsers send.
func origins(field func(*Config) *[]string) binder {
	return func(c *Config, raw any) error {
		list, err := texts(raw)
		if err != nil {
			return err
		}
		var found []string
		for _, s := range list {
			origin, ok := originOf(s)
			switch {
			case strings.Contains(s, "*"):
				return fmt.Errorf("%q is a pattern; each origin must be named, such as https://app.example.com", redactURLs(s))
			case !ok:
				return fmt.Errorf("%q is not an origin such as https://app.example.com", redactURLs(s))
			}
			found = append(found, origin)
		}
		*field(c) = found
		return nil
	}
}

// originOf returns an origin in lower case and without the default port of its scheme.
func originOf(s string) (origin string, ok bool) {
	s = strings.ToLower(s)
	u, err := url.Parse(s)
	if err != nil || s != u.Scheme+"://"+u.Host || u.Hostname() == "" {
		return "", false
	}
	switch u.Scheme {
	case "http":
		s = strings.TrimSuffix(s, ":80")
	case "https":
		s = strings.TrimSuffix(s, ":443")
	default:
		return "", false
	}
	return strings.TrimSuffix(s, ":"), true
}
