package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/chattray/chattray/schemas"
)

// Explain turns an error of a client, or of reading its answer, into one that a
// model and a user may see. The sentence begins with service ("PubMed", "the
// page"). The URL, which may hold a key, is in neither the sentence nor the
// cause. If ctx is done, its error is returned.
func Explain(ctx context.Context, service string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	code, what := schemas.CodeUpstreamUnavailable, "cannot be reached"
	timeout, isNet := errors.AsType[net.Error](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, ErrRefused):
		code, what = schemas.CodeForbidden, "may not be reached: only public http and https addresses on ports 80 and 443 are allowed"
	case errors.Is(err, ErrTooLarge):
		code, what = schemas.CodeTooLarge, "answered with more data than allowed"
	case errors.Is(err, ErrCoding):
		code, what = schemas.CodeUpstreamError, "answered with compressed data, which it was not asked for"
	case errors.Is(err, ErrRedirects):
		code, what = schemas.CodeUpstreamError, "redirects too often"
	case isNet && timeout.Timeout():
		code, what = schemas.CodeUpstreamTimeout, "did not answer in time"
	case isDNS && dns.IsNotFound:
		what = "cannot be reached: there is no host of this name"
	}
	return schemas.NewError(code, service+" "+what).Because(err)
}

// Status returns the error for an answer with an unsuccessful status.
func Status(service string, status int) error {
	code, what := schemas.CodeUpstreamError, "answered with an error"
	switch {
	case status == http.StatusTooManyRequests:
		code, what = schemas.CodeRateLimited, "has received too many requests"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		code, what = schemas.CodeUpstreamAuth, "refuses access"
	case status == http.StatusNotFound, status == http.StatusGone:
		code, what = schemas.CodeNotFound, "has nothing at this address"
	case status >= http.StatusInternalServerError:
		code, what = schemas.CodeUpstreamUnavailable, "is not working"
	}
	return schemas.NewError(code, service+" "+what+" (status "+strconv.Itoa(status)+")")
}
