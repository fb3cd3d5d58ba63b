package app

import (
	"testing"

	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/app/settings"
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
