package openai_test

import (
	"testing"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest"
	"github.com/chattray/chattray/agents/openai"
)

func dial(t testing.TB, d modeltest.Dial) agents.Model {
	t.Helper()
	m, err := openai.New(openai.Config{
		BaseURL: d.BaseURL, APIKey: d.APIKey, Transport: d.Transport,
		Connect: d.Connect, FirstToken: d.FirstToken, Idle: d.Idle,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestProtocol(t *testing.T) {
	modeltest.Protocol(t, func(t *testing.T, d modeltest.Dial) agents.Model { return dial(t, d) })
}
