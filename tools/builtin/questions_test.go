package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/toolstest"
)

// fakeThreads runs the threads of a tool: it records what they ask and calls answer.
type fakeThreads struct {
	mu     sync.Mutex
	asked  []string // label, model, number of tools, message
	answer func(label string) (turn.Conclusion, error)
}

func (k *fakeThreads) call() tools.Call {
	return tools.Call{
		Offered: []turn.Tool{{Name: "web_search"}, {Name: "get_report"}, {Name: "search_articles"}},
		Loop: func(_ context.Context, label string, req turn.Request) (turn.Conclusion, error) {
			k.mu.Lock()
			k.asked = append(k.asked, fmt.Sprintf("%s|%s|%d|%s", label, req.Model, len(req.Tools), req.Messages[0].Content))
			k.mu.Unlock()
			return k.answer(label)
		},
	}
}

func conclusion(text string, payloads ...string) (turn.Conclusion, error) {
	c := turn.Conclusion{Text: text}
	for _, p := range payloads {
		c.Payloads = append(c.Payloads, turn.Payload{Type: "any", Data: []byte(p)})
	}
	return c, nil
}

var errModelAway = schemas.NewError(schemas.CodeUpstreamUnavailable, "the model's server is not available").Because(errors.New("secret"))

func TestResearch(t *testing.T) {
	k := &fakeThreads{answer: func(label string) (turn.Conclusion, error) {
		switch label {
		case "Plan":
			return conclusion("1. What is gold?\n\n- What is gold?\n* Who mines it?\nWhy?\n")
		case "What is gold?":
			return conclusion("A metal.", `{"articles":[{"pmid":"7","title":"On  gold"},{"title":"No place"}]}`, `[1]`)
		case "Who mines it?":
			return turn.Conclusion{}, errModelAway
		case "Why?":
			return conclusion("It shines.", `{"results":[{"title":"Shine","url":"https://x.test/a"}]}`, `{"articles":[{"pmid":"7","title":"On gold"}]}`,
				`{"url":"https://x.test/b","title":"A page"}`, `{"articles":[{"report_id":3,"title":"Ours"}]}`)
		}
		return conclusion("Gold is a metal [1] that shines [2].")
	}}
	got, err := toolstest.Call(t, builtin.Questions(), "research", `{"question":"What about gold?"}`, k.call())
	if err != nil {
		t.Fatal(err)
	}
	sources := "\n\nSources:\n\n[1] On gold (PMID 7)\n[2] Shine (https://x.test/a)\n[3] A page (https://x.test/b)\n[4] Ours (report 3)"
	if d := cmp.Diff("Gold is a metal [1] that shines [2]."+sources, got.Text); d != "" {
		t.Errorf("the result (-want +got):\n%s", d)
	}
	merge := "Question: What about gold?\n\n### What is gold?\n\nA metal.\n\nSources: [1]\n\n### Who mines it?\n\n" +
		"(This part failed: the model's server is not available.)\n\n### Why?\n\nIt shines.\n\nSources: [2] [1] [3] [4]\n" + sources
	slices.Sort(k.asked)
	want := []string{"Merge||0|" + merge, "Plan||0|What about gold?", "What is gold?||2|What is gold?", "Who mines it?||2|Who mines it?", "Why?||2|Why?"}
	if d := cmp.Diff(want, k.asked); d != "" {
		t.Errorf("conversations (-want +got):\n%s", d)
	}
}

func TestResearchReadsPlans(t *testing.T) {
	for plan, want := range map[string][]string{
		"1. one\n2) two\n 3.  three\n10)ten":       {"one", "two", "three", "ten"},
		"- one\n* two\n• three\n•four":             {"one", "two", "three", "four"},
		"1.5 °C or 2.0 °C?\n1. 0.5 mg?\n- -40 °C?": {"1.5 °C or 2.0 °C?", "0.5 mg?", "-40 °C?"},
		"-40 °C?\n**two**\n16S rRNA?\n2024: what?": {"-40 °C?", "**two**", "16S rRNA?", "2024: what?"},
	} {
		k := &fakeThreads{answer: func(label string) (turn.Conclusion, error) {
			if label == "Plan" {
				return conclusion(plan)
			}
			return conclusion("fine")
		}}
		if _, err := toolstest.Call(t, builtin.Questions(), "research", `{"question":"what?"}`, k.call()); err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, asked := range k.asked {
			if label, _, _ := strings.Cut(asked, "|"); label != "Plan" && label != "Merge" {
				parts = append(parts, label)
			}
		}
		slices.Sort(parts)
		slices.Sort(want)
		if d := cmp.Diff(want, parts); d != "" {
			t.Errorf("the sub-questions of %q (-want +got):\n%s", plan, d)
		}
	}
}

func TestResearchFaults(t *testing.T) {
	sub := strings.Repeat("a question\n", 1) + "b\nc\nd\ne\nf\ng"
	for _, tt := range []struct {
		name   string
		answer func(label string) (turn.Conclusion, error)
		change func(*tools.Call)
		want   string
		code   schemas.Code
		asked  int
	}{
		{"no plan", func(string) (turn.Conclusion, error) { return turn.Conclusion{}, errModelAway }, nil, "", schemas.CodeUpstreamUnavailable, 1},
		{"an empty plan is the question", func(string) (turn.Conclusion, error) { return conclusion(" ") }, nil, "could not be merged", "", 3},
		{"five parts at most", func(label string) (turn.Conclusion, error) {
			if label == "Plan" {
				return conclusion(sub)
			}
			return conclusion("fine")
		}, nil, "fine", "", 7},
		{"all parts fail", func(label string) (turn.Conclusion, error) {
			if label == "Plan" {
				return conclusion(sub)
			}
			return turn.Conclusion{}, errModelAway
		}, nil, "", schemas.CodeUpstreamUnavailable, 6},
		{"no merge", func(label string) (turn.Conclusion, error) {
			if label == "Merge" {
				return turn.Conclusion{}, errModelAway
			}
			return conclusion("one part")
		}, nil, "### one part\n\none part", "", 3},
		{"nothing to search with", nil, func(c *tools.Call) { c.Offered = nil }, "", schemas.CodeInvalid, 0},
		{"outside of a chat", nil, func(c *tools.Call) { c.Loop = nil }, "", schemas.CodeInvalid, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &fakeThreads{answer: tt.answer}
			c := k.call()
			if tt.change != nil {
				tt.change(&c)
			}
			got, err := toolstest.Call(t, builtin.Questions(), "research", `{"question":"what?"}`, c)
			if len(k.asked) != tt.asked {
				t.Errorf("%d conversations, want %d: %q", len(k.asked), tt.asked, k.asked)
			}
			if tt.code != "" {
				if e := schemas.Visible(err); e.Code != tt.code || strings.Contains(e.Message, "secret") {
					t.Errorf("got %v, want %s", err, tt.code)
				}
				return
			}
			if err != nil || !strings.Contains(got.Text, tt.want) {
				t.Errorf("got %q, %v; want %q in it", got.Text, err, tt.want)
			}
		})
	}
}

func TestCompareModels(t *testing.T) {
	answer := func(label string) (turn.Conclusion, error) {
		if label == "b" {
			return turn.Conclusion{}, errModelAway
		}
		return conclusion("I am " + label)
	}
	list := builtin.CompareModels([]string{"c", "b", "a"})
	for _, tt := range []struct {
		name, input, want string
		code              schemas.Code
	}{
		{"all", `{"question":"who?"}`, "## c\n\nI am c\n\n## b\n\n(This model failed: the model's server is not available.)\n\n## a\n\nI am a", ""},
		{"some", `{"question":"who?","models":["c","a"]}`, "## a\n\nI am a\n\n## c\n\nI am c", ""},
		{"twice the same", `{"question":"who?","models":["a","a"]}`, "", schemas.CodeInvalid},
		{"only white space", `{"question":" "}`, "", schemas.CodeInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := &fakeThreads{answer: answer}
			got, err := toolstest.Call(t, list, "compare_models", tt.input, k.call())
			if tt.code != "" {
				if schemas.Visible(err).Code != tt.code {
					t.Errorf("got %v, want %s", err, tt.code)
				}
				return
			}
			if d := cmp.Diff(tt.want, got.Text); d != "" || err != nil {
				t.Errorf("error %v; the result (-want +got):\n%s", err, d)
			}
			for _, a := range k.asked {
				if label, rest, _ := strings.Cut(a, "|"); rest != label+"|0|who?" {
					t.Errorf("asked %q", a)
				}
			}
		})
	}
	for _, input := range []string{`{"question":"who?","models":["a","x"]}`, `{"question":"who?","models":["a"]}`} {
		if err := list[0].Check([]byte(input)); err == nil {
			t.Errorf("%s is taken", input)
		}
	}
	k := &fakeThreads{answer: func(string) (turn.Conclusion, error) { return turn.Conclusion{}, errModelAway }}
	if _, err := toolstest.Call(t, list, "compare_models", `{"question":"who?"}`, k.call()); schemas.Visible(err).Code != schemas.CodeUpstreamUnavailable {
		t.Errorf("when all fail: %v", err)
	}
}

// A model that fails may have been replaced by another one.
func TestCompareModelsSaysWhoAnswered(t *testing.T) {
	k := &fakeThreads{answer: func(label string) (turn.Conclusion, error) {
		if label == "a" {
			return turn.Conclusion{Text: "I am c", Model: "c"}, nil
		}
		return turn.Conclusion{}, errModelAway
	}}
	const a, b = "## a did not answer; c answered in its place\n\nI am c", "\n\n## b\n\n(This model failed: the model's server is not available.)"
	for input, want := range map[string]string{
		`{"question":"who?"}`:              a + b,
		`{"question":"who?","mode":"any"}`: a + "\n\n(The first good answer counted; ",
	} {
		got, err := toolstest.Call(t, builtin.CompareModels([]string{"a", "b"}), "compare_models", input, k.call())
		if err != nil || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s: got %q, %v, want %q", input, got.Text, err, want)
		}
	}
}

func TestCompareModelsSaysWhoGaveNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeThreads{answer: func(label string) (turn.Conclusion, error) {
			switch label {
			case "a":
				return turn.Conclusion{}, errModelAway
			case "b":
				return conclusion("")
			case "d":
				<-time.After(time.Minute)
			}
			<-time.After(time.Second)
			return conclusion("I am " + label)
		}}
		got, err := toolstest.Call(t, builtin.CompareModels([]string{"a", "b", "c", "d"}), "compare_models", `{"question":"who?","mode":"any"}`, k.call())
		want := "## c\n\nI am c\n\n(The first good answer counted; no answer came from: a, b; not waited for: d.)"
		if d := cmp.Diff(want, got.Text); d != "" || err != nil {
			t.Errorf("error %v; the result (-want +got):\n%s", err, d)
		}
		<-time.After(time.Minute) // d has ended too
	})
}
