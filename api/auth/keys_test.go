package auth_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
)

// scripted is an identity provider that answers by path. A path without an
// answer cannot be reached.
type scripted struct {
	mu      sync.Mutex
	answers map[string]string
	asked   map[string]int
	hold    time.Duration // how long an answer takes
	cache   string        // the header Cache-Control of answers
}

const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/keys"
)

// newScripted returns a provider with one key.
func newScripted(t *testing.T, kid string, key *rsa.PrivateKey) *scripted {
	t.Helper()
	s := &scripted{answers: map[string]string{}, asked: map[string]int{}}
	s.set(discoveryPath, discoveryOf(testIssuer, testIssuer+keysPath))
	s.set(keysPath, keysOf(t, kid, key))
	return s
}

func discoveryOf(issuer, keys string) string {
	text, err := json.Marshal(map[string]string{"issuer": issuer, "jwks_uri": keys})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func keysOf(t *testing.T, kid string, key *rsa.PrivateKey) string {
	t.Helper()
	p := &provider{}
	p.publish(t, kid, key)
	text, err := json.Marshal(map[string]any{"keys": p.keys})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// set changes an answer; an empty one takes it away.
func (s *scripted) set(path, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = answer
}

func (s *scripted) slow(hold time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
}

func (s *scripted) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	answer, hold, header := s.answers[r.URL.Path], s.hold, http.Header{}
	if s.cache != "" {
		header.Set("Cache-Control", s.cache)
	}
	s.mu.Unlock()
	select {
	case <-time.After(hold):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if answer == "" {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: header, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// wantUnavailable checks that an error asks to come back after 10 seconds.
func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	wantCode(t, err, schemas.CodeAuthUnavailable)
	if seen, ok := errors.AsType[*schemas.Error](err); ok && seen.RetryAfter != 10 {
		t.Errorf("Retry-After is %d, want 10", seen.RetryAfter)
	}
}

func wantSignedIn(t *testing.T, auth *auth.OIDC, token string) {
	t.Helper()
	if _, _, err := auth.Authenticate(t.Context(), token); err != nil {
		t.Errorf("a good token is refused: %v", err)
	}
}

// rs256For makes a token that is good for some time.
func rs256For(t *testing.T, kid string, key *rsa.PrivateKey, ttl time.Duration) string {
	t.Helper()
	return sign(t, jwt.SigningMethodRS256, kid, key, good("exp", time.Now().Add(ttl).Unix()))
}

func rs256(t *testing.T, kid string, key *rsa.PrivateKey) string {
	t.Helper()
	return sign(t, jwt.SigningMethodRS256, kid, key, good())
}

// inBubble runs a subtest in which only waits take time.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// Callers that go away while keys are fetched end only their own wait.
func TestOIDCFetchOutlivesItsCallers(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, "one", key)
		p.slow(2 * time.Second)
		auth := auth.NewOIDC(testIssuer, "", "", p)
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, _, err := auth.Authenticate(ctx, rs256(t, "made-up", key))
			cancel()
			wantUnavailable(t, err)
		}
		token := rs256(t, "one", key)
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { wantSignedIn(t, auth, token) })
		}
		callers.Wait()
		if n := p.count(discoveryPath); n != 1 {
			t.Errorf("%d discoveries, want 1", n)
		}
	})
}

// The provider changes its key just after a fetch has asked for the keys. A token of the new
// key that comes before the answer is good: that answer cannot have the key.
func TestOIDCKeyIsChangedDuringAFetch(t *testing.T) {
	key, newer := newRSA(t), newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, "one", key)
		p.slow(time.Second)
		auth := auth.NewOIDC(testIssuer, testIssuer+keysPath, "", p)
		var callers sync.WaitGroup
		callers.Go(func() { wantSignedIn(t, auth, rs256(t, "one", key)) })
		<-time.After(time.Millisecond)
		p.set(keysPath, keysOf(t, "two", newer))
		for range 3 {
			callers.Go(func() { wantSignedIn(t, auth, rs256(t, "two", newer)) })
		}
		callers.Wait()
		if n := p.count(keysPath); n != 2 {
			t.Errorf("keys are fetched %d times, want 2", n)
		}
	})
}

// All sign-ins wait for the same fetch, and none while it has just failed.
func TestOIDCSignInsDoNotQueue(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, "one", key)
		p.slow(time.Hour)
		auth := auth.NewOIDC(testIssuer, "", "", p)
		token, begun := rs256(t, "one", key), time.Now()
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				_, _, err := auth.Authenticate(t.Context(), token)
				wantUnavailable(t, err)
			})
		}
		callers.Wait()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("sign-ins take %s, want at most 10 s", took)
		}
		begun = time.Now()
		_, _, err := auth.Authenticate(t.Context(), token)
		wantUnavailable(t, err)
		if took := time.Since(begun); took != 0 {
			t.Errorf("a sign-in just after a failure takes %s, want none", took)
		}
		p.slow(0)
		<-time.After(10 * time.Second)
		wantSignedIn(t, auth, token)
	})
}

func TestOIDCDiscoveryWithoutKeys(t *testing.T) {
	key := newRSA(t)
	for name, answer := range map[string]string{
		"no URL":       `{"issuer":"` + testIssuer + `"}`,
		"no host":      discoveryOf(testIssuer, "/keys"),
		"no HTTP":      discoveryOf(testIssuer, "ftp://id.example.com/keys"),
		"broken URL":   discoveryOf(testIssuer, "https://id.example.com:x/%"),
		"other issuer": discoveryOf("https://other.example.com", testIssuer+keysPath),
	} {
		inBubble(t, name, func(t *testing.T) {
			p := newScripted(t, "one", key)
			p.set(discoveryPath, answer)
			auth := auth.NewOIDC(testIssuer, "", "", p)
			_, _, err := auth.Authenticate(t.Context(), rs256(t, "one", key))
			wantUnavailable(t, err)
			if n := p.count(keysPath); n != 0 {
				t.Errorf("keys are fetched %d times, want none", n)
			}
			p.set(discoveryPath, discoveryOf(testIssuer, testIssuer+keysPath))
			wantSignedIn(t, auth, rs256(t, "one", key))
		})
	}
}

func TestOIDCKeysMove(t *testing.T) {
	one, two, three := newRSA(t), newRSA(t), newRSA(t)
	p := newScripted(t, "one", one)
	auth := auth.NewOIDC(testIssuer, "", "", p)
	wantSignedIn(t, auth, rs256(t, "one", one))

	p.set("/moved", keysOf(t, "two", two))
	p.set(keysPath, "")
	p.set(discoveryPath, discoveryOf(testIssuer, testIssuer+"/moved"))
	wantSignedIn(t, auth, rs256(t, "two", two))

	// A provider that no longer says where its keys are has them where they were.
	p.set("/moved", keysOf(t, "three", three))
	p.set(discoveryPath, `{}`)
	wantSignedIn(t, auth, rs256(t, "three", three))
}

// An answer without keys does not take the place of good ones.
func TestOIDCKeepsGoodKeys(t *testing.T) {
	key := newRSA(t)
	for name, answer := range map[string]string{
		"none":                `{"keys":[]}`,
		"an error":            `{"error":"maintenance"}`,
		"a key without parts": `{"keys":[{"kty":"RSA","kid":"one"}]}`,
		"a secret":            `{"keys":[{"kty":"oct","kid":"one","k":"AAAA"}]}`,
		"a private key":       `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"x","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}`, // RFC 8037, appendix A.1
		"a key to encrypt":    strings.Replace(keysOf(t, "two", key), `"sig"`, `"enc"`, 1),
		"a page":              `<html>`,
	} {
		inBubble(t, name, func(t *testing.T) {
			p := newScripted(t, "one", key)
			auth := auth.NewOIDC(testIssuer, "", "", p)
			wantSignedIn(t, auth, rs256(t, "one", key))
			p.set(keysPath, answer)
			_, _, err := auth.Authenticate(t.Context(), rs256(t, "two", key))
			wantUnavailable(t, err)
			wantSignedIn(t, auth, rs256(t, "one", key))
			if n := p.count(keysPath); n != 2 {
				t.Errorf("keys are fetched %d times, want 2", n)
			}
		})
	}
}

// A key that the provider has revoked is refused once the keys are as old as they may be,
// although no token names an unknown one.
func TestOIDCRevokedKey(t *testing.T) {
	one, two := newRSA(t), newRSA(t)
	for cache, age := range map[string]time.Duration{
		"":                             10 * time.Minute,
		"public, Max-Age=\"300\"":      5 * time.Minute,
		"max-age=0, must-revalidate":   time.Minute,
		"no-cache, max-age=3600":       time.Minute,
		"max-age=86400":                time.Hour,
		"max-age=99999999999999999999": 10 * time.Minute,
		"max-age=soon":                 10 * time.Minute,
	} {
		inBubble(t, "Cache-Control "+cache, func(t *testing.T) {
			p := newScripted(t, "one", one)
			p.cache = cache
			auth := auth.NewOIDC(testIssuer, "", "", p)
			token := rs256For(t, "one", one, 3*time.Hour)
			wantSignedIn(t, auth, token)
			p.set(keysPath, keysOf(t, "two", two))
			<-time.After(age - time.Second)
			wantSignedIn(t, auth, token)
			if n := p.count(keysPath); n != 1 {
				t.Errorf("keys are fetched %d times before they are old, want once", n)
			}
			<-time.After(time.Second)
			_, _, err := auth.Authenticate(t.Context(), token)
			wantCode(t, err, schemas.CodeUnauthorized)
		})
	}
}

// Old keys are fetched once for all who sign in.
func TestOIDCOldKeysAreFetchedOnce(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, "one", key)
		auth := auth.NewOIDC(testIssuer, "", "", p)
		token := rs256(t, "one", key)
		wantSignedIn(t, auth, token)
		<-time.After(10 * time.Minute)
		p.slow(time.Second)
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { wantSignedIn(t, auth, token) })
		}
		callers.Wait()
		if n := p.count(keysPath); n != 2 {
			t.Errorf("keys are fetched %d times, want 2", n)
		}
	})
}

// Old keys are used while the provider does not answer, for a day. Only those who come first
// wait for it.
func TestOIDCOldKeysWithoutProvider(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, "one", key)
		auth := auth.NewOIDC(testIssuer, "", "", p)
		defer auth.Close()
		token := rs256For(t, "one", key, 48*time.Hour)
		wantSignedIn(t, auth, token)
		p.slow(time.Hour)
		<-time.After(10 * time.Minute)
		for i := range 10 * 60 {
			begun := time.Now()
			wantSignedIn(t, auth, token)
			if took := time.Since(begun); i == 0 && took > 10*time.Second || i > 0 && took != 0 {
				t.Errorf("sign-in %d takes %s", i, took)
			}
			<-time.After(time.Second)
		}
		if n := p.count(keysPath) + p.count(discoveryPath); n > 70 {
			t.Errorf("the provider is asked %d times in ten minutes", n)
		}
		<-time.After(24 * time.Hour)
		_, _, err := auth.Authenticate(t.Context(), token)
		wantUnavailable(t, err)
		p.slow(0)
		<-time.After(10 * time.Second)
		wantSignedIn(t, auth, token)
	})
}

// Other keys of a set are used although one is of an unknown kind.
func TestOIDCIgnoresUnknownKeys(t *testing.T) {
	key := newRSA(t)
	p := newScripted(t, "one", key)
	p.set(keysPath, strings.Replace(keysOf(t, "one", key), "[", `[{"kty":"RSA","kid":"broken"},{"kty":"new","kid":"x"},"no key",`, 1))
	wantSignedIn(t, auth.NewOIDC(testIssuer, "", "", p), rs256(t, "one", key))
}

// A key is used whatever certificates it has, also those that Go does not read.
func TestOIDCIgnoresCertificates(t *testing.T) {
	key := newRSA(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	negative := bytes.Replace(der, []byte{2, 1, 1}, []byte{2, 1, 255}, 1) // a serial number, as MakeCert makes it
	for _, members := range []string{
		`"x5c":["` + base64.StdEncoding.EncodeToString(negative) + `"]`, `"x5c":["-----BEGIN CERTIFICATE-----"]`, `"x5c":"text"`,
		`"x5t":"c2hvcnQ="`, `"x5t#S256":"c2hvcnQ"`, `"x5u":"%"`,
	} {
		p := newScripted(t, "one", key)
		p.set(keysPath, strings.Replace(keysOf(t, "one", key), "{\"e\"", "{"+members+",\"e\"", 1))
		t.Run(strings.Split(members, `"`)[1], func(t *testing.T) { wantSignedIn(t, auth.NewOIDC(testIssuer, "", "", p), rs256(t, "one", key)) })
	}
}

// The log says where the keys cannot be fetched, without the query of the URL.
func TestOIDCErrorsHaveNoQuery(t *testing.T) {
	key := newRSA(t)
	p := newScripted(t, "one", key)
	for _, answer := range []string{"", `<html>`, `{"keys":[]}`} { // "" cannot be reached
		p.set(keysPath, answer)
		_, _, err := auth.NewOIDC(testIssuer, testIssuer+keysPath+"?k=S3CRET", "", p).Authenticate(t.Context(), rs256(t, "one", key))
		wantUnavailable(t, err)
		if text := err.Error(); strings.Contains(text, "S3CRET") || answer != `{"keys":[]}` && !strings.Contains(text, testIssuer+keysPath) {
			t.Errorf("the keys are %q: the error is %s", answer, text)
		}
	}
}

// A token with a known key id needs no provider to be refused.
func TestOIDCBadSignatureWithoutProvider(t *testing.T) {
	key, other := newRSA(t), newRSA(t)
	p := newScripted(t, "one", key)
	auth := auth.NewOIDC(testIssuer, "", "", p)
	wantSignedIn(t, auth, rs256(t, "one", key))
	p.set(discoveryPath, "")
	p.set(keysPath, "")
	for range 10 {
		_, _, err := auth.Authenticate(t.Context(), rs256(t, "one", other))
		wantCode(t, err, schemas.CodeUnauthorized)
	}
}

func TestOIDCClose(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, "one", key)
		p.slow(time.Hour)
		auth := auth.NewOIDC(testIssuer, "", "", p)
		token, begun := rs256(t, "one", key), time.Now()
		var caller sync.WaitGroup
		caller.Go(func() {
			_, _, err := auth.Authenticate(t.Context(), token)
			wantUnavailable(t, err)
		})
		synctest.Wait()
		auth.Close()
		caller.Wait()
		p.slow(0)
		_, _, err := auth.Authenticate(t.Context(), token)
		wantUnavailable(t, err)
		if took, n := time.Since(begun), p.count(discoveryPath); took != 0 || n != 1 {
			t.Errorf("took %s with %d discoveries, want no time and 1", took, n)
		}
	})
}
