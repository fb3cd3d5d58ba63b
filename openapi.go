package main

import (
	_ "embed" // the contract
	"io"
)

// contract is openapi.yaml, as it is served and printed.
//
//go:embed openapi.yaml
var contract []byte

func printOpenAPI(w io.Writer) error {
	_, err := w.Write(contract)
	return err
}
