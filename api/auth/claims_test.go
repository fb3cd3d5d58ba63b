package auth_test

import (
	"cmp"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
)

// A token is refused if its claims can be read in two ways, or if two subjects
// would be read as the same user.
func TestAmbiguousClaims(t *testing.T) {
	key := newRSA(t)
	p := &provider{}
	p.publish(t, "one", key)
	oidc, hs256 := auth.NewOIDC(testIssuer, testIssuer+"/keys", testAudience, p), auth.NewHS256(testSecret, testAudience)
	exp := time.Now().Add(time.Hour).Unix()
	claims := func(more string) string {
		return fmt.Sprintf(`{"iss":%q,"aud":%q,"exp":%d%s}`, testIssuer, testAudience, exp, more)
	}
	tests := []struct {
		name, claims string
		good         bool
	}{
		{"one subject", claims(`,"sub":"alice"`), true},
		{"a subject beyond ASCII", claims(`,"sub":"ālice \ud83d\ude00"`), true},
		{"other claims in other letter case", claims(`,"sub":"alice","Group":1,"group":{"sub":"bob","SUB":"bob"}`), true},
		{"a second subject in other letter case", claims(`,"sub":"alice","Sub":"bob"`), false},
		{"a second subject", claims(`,"sub":"alice","sub":"bob"`), false},
		{"a second subject, escaped", claims(`,"sub":"alice","\u0073ub":"bob"`), false},
		{"only a subject in other letter case", claims(`,"SUB":"alice"`), false},
		{"roles and names in other letter case", claims(`,"sub":"alice","ROLES":["admin"],"Role":"admin","Name":"bob"`), true},
		{"a letter that folds to another", claims(`,"sub":"alice","role\u017f":["admin"]`), true},
		{"an issuer in other letter case", claims(`,"sub":"alice","Iss":"https://evil.example.com"`), false},
		{"our issuer in other letter case", `{"iss":"https://evil.example.com","Iss":"` + testIssuer + claims(`,"sub":"alice"`)[len(`{"iss":"`+testIssuer):], false},
		{"an audience in other letter case", claims(`,"sub":"alice","Aud":"` + testAudience + `"`), false},
		{"another claim twice", claims(`,"sub":"alice","x":1,"x":2`), false},
		{"a lone surrogate", claims(`,"sub":"alice\ud800"`), false},
		{"a byte that is no UTF-8", claims(",\"sub\":\"alice\xff\""), false},
		{"U+FFFD", claims(`,"sub":"alice\ufffd"`), false},
		{"null", `null`, false},
		{"a list", `[]`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for kind, authenticate := range map[string]func() error{
				"OIDC": func() error {
					user, _, err := oidc.Authenticate(t.Context(), rawRS256(t, "one", key, tt.claims))
					return cmp.Or(err, noAdmin(user))
				},
				"HS256": func() error {
					user, _, err := hs256.Authenticate(t.Context(), rawHS256(tt.claims))
					return cmp.Or(err, noAdmin(user))
				},
			} {
				err := authenticate()
				if tt.good && err != nil {
					t.Errorf("%s: a good token is refused: %v", kind, err)
				} else if !tt.good {
					wantCode(t, err, schemas.CodeUnauthorized)
				}
			}
		})
	}
}

// noAdmin is an error for a user with a role, or with another's name.
func noAdmin(user schemas.User) error {
	if len(user.Roles) > 0 || strings.HasPrefix(user.Name, "bob") {
		return fmt.Errorf("the user is %+v", user)
	}
	return nil
}

// rawRS256 makes a token of a payload as it is.
func rawRS256(t *testing.T, kid string, key *rsa.PrivateKey, payload string) string {
	t.Helper()
	text := unsignedText(`{"alg":"RS256","kid":"`+kid+`"}`, payload)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// rawHS256 makes a token of a payload as it is.
func rawHS256(payload string) string {
	text := unsignedText(`{"alg":"HS256"}`, payload)
	mac := hmac.New(sha256.New, []byte(testSecret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// unsignedText is what the signature of a token is made of.
func unsignedText(header, payload string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
}
