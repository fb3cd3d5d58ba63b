package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Limits of the files that are read, in bytes.
const (
	maxConfigFile = 1 << 20
	maxSecretFile = 64 << 10
)

// fileContent is the content of a file. It implements koanf.Provider.
type fileContent []byte

// ReadBytes returns the content.
func (c fileContent) ReadBytes() ([]byte, error) { return c, nil }

// Read is not supported: a parser reads the bytes.
func (fileContent) Read() (map[string]any, error) {
	return nil, errors.New("the content of a file needs a parser")
}

// secretFile reads a secret from a file, without white space around it.
func secretFile(path string) (string, error) {
	content, err := readLimited(path, maxSecretFile)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return secret, nil
}

// readLimited reads a file that may be anything that ends, such as a pipe.
func readLimited(path string, limit int64) (fileContent, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return content, nil
}
