package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
)

func TestDefaultModel(t *testing.T) {
	for environ, want := range map[string]string{
		"": demo.Name, "CHATTRAY_MODEL=m": demo.Name, "OPENAI_API_KEY=k": "gpt-4.1-mini", "CHATTRAY_OPENAI_BASE_URL=http://h/v1": "gpt-4.1-mini",
		`CHATTRAY_MODELS=[{"name":"a","base_url":"http://h/v1"}]`: "a",
	} {
		c, _, err := settings.Load(nil, []string{environ}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := defaultModel(c); got != want {
			t.Errorf("with %q the default model is %q, want %q", environ, got, want)
		}
	}
}

func TestModelOffers(t *testing.T) {
	const models = `CHATTRAY_MODELS=[{"name":"a","base_url":"http://h/v1","context_window":100000,"price":{"input":2,"output":8}},{"name":"b","base_url":"http://h/v1"}]`
	a := schemas.ModelOffer{Name: "a", ContextWindow: 100_000, Price: &schemas.ModelPrice{Input: 2, Output: 8}}
	b := schemas.ModelOffer{Name: "b"}
	byDefault := func(o schemas.ModelOffer) schemas.ModelOffer {
		o.Default = true
		return o
	}
	for _, test := range []struct {
		name    string
		environ []string
		want    []schemas.ModelOffer
	}{
		{"the demo model", nil, []schemas.ModelOffer{{Name: demo.Name, Default: true}}},
		{"the first of the list", []string{models}, []schemas.ModelOffer{byDefault(a), b}},
		{"another of the list", []string{models, "CHATTRAY_MODEL=b"}, []schemas.ModelOffer{byDefault(b), a}},
	} {
		c, _, err := settings.Load(nil, test.environ, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, modelOffers(c)); diff != "" {
			t.Errorf("%s: the offers differ (-want +got):\n%s", test.name, diff)
		}
	}
}
