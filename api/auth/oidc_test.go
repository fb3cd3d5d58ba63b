package auth_test

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
	"github.com/golang-jwt/jwt/v5"
)

// provider is an identity provider as a RoundTripper.
type provider struct {
	keys     []map[string]string
	down     atomic.Bool
	requests atomic.Int32
	// answer, when set, is its answer to every request.
	answer string
	// status is the status code of its answers; 0 means the usual one.
	status int
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.requests.Add(1)
	if p.down.Load() {
		return nil, errors.New("connection refused")
	}
	var body any = map[string]any{"keys": p.keys}
	if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
		body = map[string]any{
			"issuer": testIssuer, "jwks_uri": testIssuer + "/keys",
			"authorization_endpoint": testIssuer + "/a", "token_endpoint": testIssuer + "/t",
		}
	}
	text, err := json.Marshal(body)
	if p.answer != "" {
		text = []byte(p.answer)
	}
	return &http.Response{
		StatusCode: cmp.Or(p.status, http.StatusOK), Status: http.StatusText(cmp.Or(p.status, http.StatusOK)), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(text))), Request: r,
	}, err
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publish adds the public part of a key to those of the provider.
func (p *provider) publish(t *testing.T, kid string, key crypto.Signer) {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	jwk := map[string]string{"kid": kid, "use": "sig"}
	switch pub := key.Public().(type) {
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", b64(pub.N.Bytes()), b64(big.NewInt(int64(pub.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := pub.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		jwk["kty"], jwk["crv"], jwk["x"], jwk["y"] = "EC", "P-256", b64(point[1:33]), b64(point[33:])
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", b64(pub)
	default:
		t.Fatalf("key of type %T", pub)
	}
	p.keys = append(p.keys, jwk)
}

func TestOIDC(t *testing.T) {
	rsaKey, other := newRSA(t), newRSA(t)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{}
	p.publish(t, "rsa", rsaKey)
	p.publish(t, "ec", ecKey)
	p.publish(t, "ed", edKey)

	tokens := map[string]string{
		"RS256": sign(t, jwt.SigningMethodRS256, "rsa", rsaKey, good()),
		"PS256": sign(t, jwt.SigningMethodPS256, "rsa", rsaKey, good()),
		"ES256": sign(t, jwt.SigningMethodES256, "ec", ecKey, good()),
		"EdDSA": sign(t, jwt.SigningMethodEdDSA, "ed", edKey, good()),
		"no id": sign(t, jwt.SigningMethodES256, "", ecKey, good()),
	}
	for name, token := range tokens {
		for source, auth := range map[string]*auth.OIDC{
			"discovery": auth.NewOIDC(testIssuer, "", testAudience, p),
			"key set":   auth.NewOIDC("", testIssuer+"/keys", testAudience, p),
		} {
			t.Run(source+" "+name, func(t *testing.T) {
				user, _, err := auth.Authenticate(t.Context(), token)
				if err != nil || user.ID != testIssuer+"|u1" {
					t.Errorf("got %+v, %v", user, err)
				}
			})
		}
	}

	bad := map[string]string{
		"none at all":             "",
		"garbage":                 "garbage",
		"alg none":                unsigned(`{"alg":"none","kid":"rsa"}`, good()),
		"other key":               sign(t, jwt.SigningMethodRS256, "rsa", other, good()),
		"unknown key id":          sign(t, jwt.SigningMethodRS256, "nobody", other, good()),
		"public key as a secret":  sign(t, jwt.SigningMethodHS256, "rsa", rsaKey.N.Bytes(), good()),
		"algorithm of other kind": sign(t, jwt.SigningMethodRS256, "ec", rsaKey, good()),
		"other issuer":            sign(t, jwt.SigningMethodRS256, "rsa", rsaKey, good("iss", "https://evil.example.com")),
	}
	for name, claims := range badClaims {
		bad[name] = sign(t, jwt.SigningMethodRS256, "rsa", rsaKey, claims())
	}
	for name, token := range bad {
		t.Run("bad "+name, func(t *testing.T) {
			auth := auth.NewOIDC(testIssuer, "", testAudience, p)
			_, _, err := auth.Authenticate(t.Context(), token)
			wantCode(t, err, schemas.CodeUnauthorized)
		})
	}
}

func TestOIDCProviderThatIsDown(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		p.publish(t, "one", key)
		p.down.Store(true)
		auth := auth.NewOIDC(testIssuer, "", "", p)
		token := sign(t, jwt.SigningMethodRS256, "one", key, good())

		_, _, err := auth.Authenticate(t.Context(), token)
		wantCode(t, err, schemas.CodeAuthUnavailable)
		_, _, err = auth.Authenticate(t.Context(), "garbage")
		wantCode(t, err, schemas.CodeUnauthorized)

		p.down.Store(false)
		if _, _, err = auth.Authenticate(t.Context(), token); err != nil {
			t.Fatalf("the provider is back: %v", err)
		}
		p.down.Store(true)
		if _, _, err = auth.Authenticate(t.Context(), token); err != nil {
			t.Errorf("a key that is known needs no provider: %v", err)
		}
	})
}

// TestOIDCProviderThatHangs has a provider that takes requests and never answers.
func TestOIDCProviderThatHangs(t *testing.T) {
	key := newRSA(t)
	for name, keys := range map[string]string{"discovery": "", "key set": testIssuer + "/keys"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				auth := auth.NewOIDC(testIssuer, keys, "", hangs{})
				begun := time.Now()
				_, _, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, "one", key, good()))
				wantCode(t, err, schemas.CodeAuthUnavailable)
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("a request takes %s, want seconds", took)
				}
			})
		})
	}
}

// hangs is the way to such a provider. It sees the end after everybody else.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	synctest.Wait()
	return nil, r.Context().Err()
}

func TestOIDCAnswersWithoutKeys(t *testing.T) {
	key := newRSA(t)
	for name, answer := range map[string]string{"HTML": "<html></html>", "a list": "[]", "too much": `{"x":"` + strings.Repeat("x", 1<<20) + `"}`} {
		t.Run(name, func(t *testing.T) {
			auth := auth.NewOIDC(testIssuer, testIssuer+"/keys", "", &provider{answer: answer})
			_, _, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, "one", key, good()))
			wantCode(t, err, schemas.CodeAuthUnavailable)
		})
	}
	t.Run("an error", func(t *testing.T) {
		p := &provider{status: http.StatusBadGateway} // whose body is not the provider's
		p.publish(t, "one", key)
		auth := auth.NewOIDC(testIssuer, testIssuer+"/keys", "", p)
		_, _, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, "one", key, good()))
		wantCode(t, err, schemas.CodeAuthUnavailable)
	})
}

func TestOIDCAsksForKeysSeldom(t *testing.T) {
	key := newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		p.publish(t, "one", key)
		auth := auth.NewOIDC(testIssuer, testIssuer+"/keys", "", p)
		for i := range 100 {
			_, _, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, "made-up", key, good()))
			if i < 4 {
				wantCode(t, err, schemas.CodeUnauthorized)
			} else { // nobody knows whether the provider has the key by now
				wantUnavailable(t, err)
			}
		}
		if n := p.requests.Load(); n > 4 {
			t.Errorf("%d requests for 100 tokens with a made-up key id", n)
		}
		p.publish(t, "two", key)
		<-time.After(10 * time.Second) // the next refresh is allowed
		if _, _, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, "two", key, good())); err != nil {
			t.Errorf("a new key is not taken up: %v", err)
		}
		_, _, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, "three", key, good()))
		wantUnavailable(t, err)
	})
}
