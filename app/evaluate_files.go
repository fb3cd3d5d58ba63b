package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// evalPages is the folder of the page files of an evaluation.
func evalPages(dir string) string { return filepath.Join(dir, "pages") }

// pagesWith makes a folder of page files: those of a folder ("" is none), with one added in
// place of the one of the same page, whose name it returns.
func pagesWith(ctx context.Context, folder, added, to string) (string, error) {
	name, content, err := readPage(ctx, added)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", err
	}
	var files []os.DirEntry
	if folder != "" {
		if files, err = os.ReadDir(folder); err != nil {
			return "", err
		}
	}
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); f.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		other, raw, err := readPage(ctx, filepath.Join(folder, f.Name()))
		if err != nil {
			return "", err
		}
		if other == name {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, f.Name()), raw, 0o600); err != nil {
			return "", err
		}
	}
	return name, os.WriteFile(filepath.Join(to, filepath.Base(added)), content, 0o600)
}

// readPage reads a page file and the name of its page. Mistakes in it are found later.
func readPage(ctx context.Context, path string) (name string, content []byte, err error) {
	if content, err = readSmall(ctx, path); err != nil {
		return "", nil, err
	}
	var page struct{ Page string }
	if err := yaml.Unmarshal(content, &page); err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	if page.Page == "" {
		page.Page = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return page.Page, content, nil
}

// createBeside creates a file that can be renamed to the path. It takes the folder as it is
// written: without "d/.." the path of a folder that does not exist would be another one's.
func createBeside(path string) (*os.File, error) {
	folder, name := filepath.Split(path)
	return os.CreateTemp(cmp.Or(folder, "."), name+".*.part")
}

// replaceFile writes a file that only its owner can read, in place of an earlier one once
// it is whole.
func replaceFile(path string, write func(io.Writer) error) error {
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	if err = errors.Join(write(file), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// readSmall reads a whole file of at most maxEvalFile bytes. It does not wait for a pipe when
// ctx ends.
func readSmall(ctx context.Context, path string) ([]byte, error) {
	return stoppable(ctx, func() ([]byte, error) {
		file, err := os.Open(path) //nolint:gosec // the operator names it
		if err != nil {
			return nil, err
		}
		defer file.Close()
		raw, err := io.ReadAll(io.LimitReader(file, maxEvalFile+1))
		if err == nil && len(raw) > maxEvalFile {
			err = fmt.Errorf("has more than %d bytes", maxEvalFile)
		}
		return raw, err
	})
}

// toFile writes into a new file that only its owner can read, or to stdout if path is
// empty. A file that could not be written completely is removed.
func toFile(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "" {
		return write(stdout)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
