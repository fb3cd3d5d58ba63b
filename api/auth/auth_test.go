package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
)

const (
	testSecret   = "a-secret-of-at-least-32-bytes-for-tests"
	testIssuer   = "https://id.example.com"
	testAudience = "tray"
)

// sign makes a token of any claims.
func sign(t *testing.T, method jwt.SigningMethod, kid string, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// good returns claims that pass, changed by name and value pairs; a nil value
// takes a claim away.
func good(changes ...any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{
		"iss": testIssuer, "sub": "u1", "aud": []string{"other", testAudience}, "name": "Una",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == nil {
			delete(c, changes[i].(string))
		} else {
			c[changes[i].(string)] = changes[i+1]
		}
	}
	return c
}

func ago(d time.Duration) int64 { return time.Now().Add(-d).Unix() }

// badClaims are refused, whoever has signed them.
var badClaims = map[string]func() jwt.MapClaims{
	"expired":                  func() jwt.MapClaims { return good("exp", ago(time.Second)) },
	"without exp":              func() jwt.MapClaims { return good("exp", nil) },
	"exp no number":            func() jwt.MapClaims { return good("exp", "tomorrow") },
	"exp beyond all time":      func() jwt.MapClaims { return good("exp", 1e300) },
	"not yet good":             func() jwt.MapClaims { return good("nbf", ago(-2*time.Minute)) },
	"issued in the future":     func() jwt.MapClaims { return good("iat", ago(-2*time.Minute)) },
	"nbf beyond all time":      func() jwt.MapClaims { return good("nbf", 1e19) },
	"nbf far beyond all time":  func() jwt.MapClaims { return good("nbf", 1e30) },
	"nbf before all time":      func() jwt.MapClaims { return good("nbf", -1e19) },
	"iat beyond all time":      func() jwt.MapClaims { return good("iat", 1e19) },
	"iat far beyond all time":  func() jwt.MapClaims { return good("iat", 1e30) },
	"other audience":           func() jwt.MapClaims { return good("aud", "other") },
	"without audience":         func() jwt.MapClaims { return good("aud", nil) },
	"without subject":          func() jwt.MapClaims { return good("sub", nil) },
	"subject too long":         func() jwt.MapClaims { return good("sub", strings.Repeat("x", 256)) },
	"NUL in the subject":       func() jwt.MapClaims { return good("sub", "a\x00b") },
	"separator in the issuer":  func() jwt.MapClaims { return good("iss", testIssuer+"|x") },
	"token larger than 8 KiB":  func() jwt.MapClaims { return good("pad", strings.Repeat("x", 8<<10)) },
	"audience of a wrong type": func() jwt.MapClaims { return good("aud", 7) },
}

func unsigned(header string, claims jwt.MapClaims) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(body) + "."
}

// wantCode checks that a token is refused under a code.
func wantCode(t *testing.T, err error, code schemas.Code) {
	t.Helper()
	if seen, ok := errors.AsType[*schemas.Error](err); !ok || seen.Code != code {
		t.Errorf("error is %v, want code %s", err, code)
	}
}

func TestHS256RefusesBadTokens(t *testing.T) {
	rsaKey := newRSA(t)
	hs := func(claims jwt.MapClaims) string {
		return sign(t, jwt.SigningMethodHS256, "", []byte(testSecret), claims)
	}
	tokens := map[string]string{
		"none at all":       "",
		"garbage":           "garbage",
		"three dots":        "a.b.c",
		"alg none":          unsigned(`{"alg":"none"}`, good()),
		"alg missing":       unsigned(`{"typ":"JWT"}`, good()),
		"HS512":             sign(t, jwt.SigningMethodHS512, "", []byte(testSecret), good()),
		"RS256":             sign(t, jwt.SigningMethodRS256, "", rsaKey, good()),
		"other secret":      sign(t, jwt.SigningMethodHS256, "", []byte("another secret"), good()),
		"signature cut":     strings.TrimSuffix(hs(good()), hs(good())[len(hs(good()))-4:]),
		"bearer given over": "Bearer " + hs(good()),
	}
	for name, claims := range badClaims {
		tokens[name] = hs(claims())
	}
	crit := jwt.NewWithClaims(jwt.SigningMethodHS256, good())
	crit.Header["crit"] = []string{"b64"}
	var err error
	if tokens["crit"], err = crit.SignedString([]byte(testSecret)); err != nil {
		t.Fatal(err)
	}
	auth := auth.NewHS256(testSecret, testAudience)
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) {
			user, _, err := auth.Authenticate(t.Context(), token)
			wantCode(t, err, schemas.CodeUnauthorized)
			if user.ID != "" {
				t.Errorf("user is %q beside the error", user.ID)
			}
			if seen := schemas.Visible(err); strings.Contains(seen.Message, testAudience) || strings.Contains(seen.Message, testIssuer) {
				t.Errorf("message says too much: %s", seen.Message)
			}
		})
	}
}

// The user reads what to do about a token that has expired.
func TestExpiredToken(t *testing.T) {
	token := sign(t, jwt.SigningMethodHS256, "", []byte(testSecret), good("exp", ago(time.Second)))
	_, _, err := auth.NewHS256(testSecret, testAudience).Authenticate(t.Context(), token)
	if got, want := schemas.Visible(err).Message, "the sign-in has expired; sign in again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHS256TellsUsers(t *testing.T) {
	long := time.Now().Add(time.Hour).Truncate(time.Second)
	tests := []struct {
		name   string
		claims jwt.MapClaims
		want   schemas.User
	}{
		{"roles as a list", good("roles", []string{"admin", "editor"}), schemas.User{Name: "Una", Roles: []string{"admin", "editor"}}},
		{"roles as text", good("roles", "admin editor"), schemas.User{Name: "Una", Roles: []string{"admin", "editor"}}},
		{"role", good("role", "admin"), schemas.User{Name: "Una", Roles: []string{"admin"}}},
		{"roles of another shape give none", good("roles", map[string]any{"admin": true}), schemas.User{Name: "Una"}},
		{"user name of OpenID Connect", good("name", nil, "preferred_username", "una"), schemas.User{Name: "una"}},
		{"subject as name", good("name", nil), schemas.User{Name: "u1"}},
		{"times long ago", good("iat", 0, "nbf", -62135596800), schemas.User{Name: "Una"}},
		{"issuer's clock a little ahead", good("iat", ago(-30*time.Second), "nbf", ago(-30*time.Second)), schemas.User{Name: "Una"}},
	}
	auth := auth.NewHS256(testSecret, testAudience)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.ID = testIssuer + "|u1"
			tt.claims["exp"] = long.Unix()
			user, expires, err := auth.Authenticate(t.Context(), sign(t, jwt.SigningMethodHS256, "", []byte(testSecret), tt.claims))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, user); diff != "" {
				t.Errorf("user (-want +got):\n%s", diff)
			}
			if !expires.Equal(long) {
				t.Errorf("expires %s, want %s", expires, long)
			}
		})
	}
}

func TestSignTokenIsAccepted(t *testing.T) {
	now := time.Now()
	for _, audience := range []string{"", testAudience} {
		token, err := auth.SignToken(testSecret, audience, schemas.User{Name: "una", Roles: []string{"admin"}}, now, now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		user, _, err := auth.NewHS256(testSecret, audience).Authenticate(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		want := schemas.User{ID: "chattray|una", Name: "una", Roles: []string{"admin"}}
		if diff := cmp.Diff(want, user); diff != "" {
			t.Errorf("user (-want +got):\n%s", diff)
		}
	}
	if _, err := auth.SignToken("", "", schemas.User{Name: "una"}, now, now); err == nil {
		t.Error("SignToken without a secret returned no error, want one")
	}
	for _, name := range []string{"una\x01", "una\xff", strings.Repeat("u", 256)} { // Authenticate would refuse the token
		if _, err := auth.SignToken(testSecret, "", schemas.User{Name: name}, now, now); err == nil {
			t.Errorf("SignToken for %q returned no error, want one", name)
		}
	}
}

func TestLocalIsAnAdmin(t *testing.T) {
	user, expires, err := auth.Local{}.Authenticate(t.Context(), "")
	if err != nil || user.Name != "dev" || !user.Admin() || !expires.IsZero() {
		t.Errorf("got %+v until %s, %v", user, expires, err)
	}
}
