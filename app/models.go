package app

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/usage"
)

const openAIBase = "https://api.openai.com/v1"

// newModel returns the demo model, or the configured models with their
// fallbacks. All calls are metered, and prompts take memory in rooms. A nil transport uses the network.
func newModel(c settings.Config, transport http.RoundTripper, rooms promptRooms, log *slog.Logger) (agents.Model, error) {
	if c.Demo() {
		log.Warn("no model is configured, so the built-in demo model answers; set OPENAI_API_KEY or CHATTRAY_OPENAI_BASE_URL")
		return agents.Metered(demo.New(c.DemoDelay)), nil
	}
	if transport == nil {
		transport = openai.NewTransport(http.ProxyFromEnvironment)
	}
	servers, window := make(serversByModel, len(c.Models)), windows(c)
	for _, m := range c.Models {
		base, key := serverOf(c, m), m.APIKey
		if m.BaseURL == "" {
			key = cmp.Or(key, c.OpenAI.APIKey)
		}
		attempts := openai.DefaultAttempts
		if len(c.FallbackOf(m.Name)) > 0 {
			attempts = 1 // another model answers sooner than a retry
		}
		server, err := openai.New(openai.Config{
			BaseURL: base, APIKey: key, Transport: transport, Connect: c.Timeouts.ModelConnect, FirstToken: c.Timeouts.ModelFirstToken,
			Idle: c.Timeouts.ModelIdle, Attempts: attempts, Before: leases.Hold, Memory: rooms[base], Logger: log, Limits: openai.Limits{Reply: 2 * int(c.TextLimits().Reply)}, // the run's own timeout comes first
		})
		if err != nil {
			return nil, err
		}
		servers[m.Name] = server
	}
	return agents.Fallback(agents.Metered(servers), agents.FallbackOptions{
		Order: c.FallbackOf, Window: func(model string) int { return window[model] }, Logger: log,
	}), nil
}

// serverOf returns the base URL of a model's server.
func serverOf(c settings.Config, m settings.Model) string {
	return cmp.Or(m.BaseURL, c.OpenAI.BaseURL, openAIBase)
}

// serversByModel sends each call to the server of its model.
type serversByModel map[string]agents.Model

// Stream calls the model's server.
func (s serversByModel) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	server, ok := s[req.Model]
	if !ok {
		return func(yield func(agents.Delta, error) bool) {
			yield(agents.Delta{}, schemas.NewError(schemas.CodeInvalid, "this model is not offered"))
		}
	}
	return server.Stream(ctx, req)
}

// defaultModel returns the model of requests that name none.
func defaultModel(c settings.Config) string {
	if c.Demo() {
		return demo.Name
	}
	return c.Model
}

func modelNames(c settings.Config) []string {
	names := make([]string, 0, len(c.Models))
	for _, m := range c.Models {
		names = append(names, m.Name)
	}
	return names
}

// windows returns the known context windows.
func windows(c settings.Config) map[string]int {
	known := make(map[string]int)
	for _, m := range c.Models {
		if m.ContextWindow > 0 {
			known[m.Name] = m.ContextWindow
		}
	}
	return known
}

// prices returns the prices of the models that have one.
func prices(c settings.Config) map[string]usage.Price {
	known := make(map[string]usage.Price)
	for _, m := range c.Models {
		if m.Price != (settings.Price{}) {
			known[m.Name] = usage.Price{Input: schemas.Dollars(m.Price.Input), Output: schemas.Dollars(m.Price.Output)}
		}
	}
	return known
}

// modelOffers returns the models that a request may name, the default first.
func modelOffers(c settings.Config) []schemas.ModelOffer {
	offers := []schemas.ModelOffer{{Name: defaultModel(c), Default: true}}
	if c.Demo() {
		return offers
	}
	for _, m := range c.Models {
		offer := schemas.ModelOffer{Name: m.Name, ContextWindow: m.ContextWindow}
		if m.Price != (settings.Price{}) {
			offer.Price = &schemas.ModelPrice{Input: m.Price.Input, Output: m.Price.Output}
		}
		if m.Name == offers[0].Name {
			offer.Default = true
			offers[0] = offer
			continue
		}
		offers = append(offers, offer)
	}
	return offers
}

// modelServers returns the hosts of the models' servers, by model.
func modelServers(c settings.Config) map[string]string {
	hosts := map[string]string{}
	for _, m := range c.Models {
		if u, err := url.Parse(serverOf(c, m)); err == nil && !c.Demo() {
			hosts[m.Name] = u.Hostname()
		}
	}
	return hosts
}
