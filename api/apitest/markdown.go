package apitest

import "github.com/getkin/kin-openapi/openapi3filter"

func init() { //nolint:gochecknoinits // the filter's decoders are one table for all
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.PlainBodyDecoder)
}
