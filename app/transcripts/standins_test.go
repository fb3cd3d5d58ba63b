package transcripts

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/tools"
)

type (
	searchInput struct {
		Query string `json:"query"`
	}
	foundArticle struct {
		PMID    string   `json:"pmid"`
		Title   string   `json:"title"`
		Authors []string `json:"authors"`
		URL     string   `json:"url"`
	}
	foundArticles struct {
		Query    string         `json:"query"`
		Total    int            `json:"total"`
		Articles []foundArticle `json:"articles"`
	}
)

// standIns run instead of built-in tools of the same name, in transcripts that name them
// in the part stand-ins: search_articles says fixed sentences, and search_pubmed needs no
// network.
func standIns() []turn.Tool {
	return []turn.Tool{
		tools.NewText("search_articles", "Search.", func(_ context.Context, call *tools.Call, _ searchInput) (string, error) {
			call.Progress("searching", "Found 15 articles...", 0.5, nil)
			return "Found 5 articles: ...", nil
		}),
		tools.New("search_pubmed", "Search.", func(_ context.Context, _ *tools.Call, in searchInput) (tools.Result, error) {
			found := foundArticles{Query: in.Query, Articles: []foundArticle{}}
			if in.Query == "CRISPR" {
				found.Total = 1
				found.Articles = append(found.Articles, foundArticle{
					PMID: "22745249", Title: "A programmable dual-RNA-guided DNA endonuclease in adaptive bacterial immunity",
					Authors: []string{"Jinek M"}, URL: "https://pubmed.ncbi.nlm.nih.gov/22745249/",
				})
			}
			text := fmt.Sprintf("Found %d articles...", found.Total)
			if found.Total == 0 {
				return tools.Result{Text: text}, nil
			}
			return tools.WithPayload(text, "pubmed_search_results", found)
		}),
	}
}

// standInAgent gives an agent the stand-ins of these names.
type standInAgent struct {
	runs.Agent
	tools []turn.Tool
}

func newStandInAgent(agent runs.Agent, names string) standInAgent {
	named := strings.Fields(names)
	return standInAgent{agent, slices.DeleteFunc(standIns(), func(t turn.Tool) bool { return !slices.Contains(named, t.Name) })}
}

// Run implements runs.Agent.
func (a standInAgent) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	req.Tools = slices.Clone(req.Tools)
	for i, t := range req.Tools {
		if n := slices.IndexFunc(a.tools, func(s turn.Tool) bool { return s.Name == t.Name }); n >= 0 {
			req.Tools[i].Run = a.tools[n].Run
		}
	}
	return a.Agent.Run(ctx, req)
}
