package main

import _ "embed" // the contract

// contract is openapi.yaml, as it is printed.
//
//go:embed openapi.yaml
var contract []byte
