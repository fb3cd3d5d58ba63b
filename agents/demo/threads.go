package demo

import (
	"fmt"
	"regexp"
	"strings"
)

// How the prompts begin that the tool research gives its threads.
const (
	planBegins  = "You plan research."
	partBegins  = "You answer one part of a research question."
	mergeBegins = "You merge the findings of a research question"
)

// maxParts is into how many sub-questions a topic is split.
const maxParts = 4

func hasResearch(s *scene) bool { return s.offered("research") }

// research hands the question to the tool of that name and shows what it gave.
func research(s *scene, m []string) reply {
	if r, ok := s.look("I split that up and search for its parts side by side.", call{"research", toJSON(object{"question": s.ask[len(s.ask)-len(m[1]):]})}); !ok {
		return r
	}
	return reply{text: s.of("research")[0].text, chips: starters}
}

// planResearch asks for articles about each word of the topic, the whole topic
// first.
func planResearch(s *scene) reply {
	topic := s.topic()
	parts := []string{topic}
	if words := strings.Fields(topic); len(words) > 1 {
		parts = append(parts, words[:min(len(words), maxParts-1)]...)
	}
	return reply{text: "Find articles about " + strings.Join(parts, "\nFind articles about "), bare: true}
}

var (
	findingHead   = regexp.MustCompile(`(?m)^### (.+)$`)
	findingSource = regexp.MustCompile(`(?m)^Sources:((?: \[\d+\])+)$`)
)

// mergeResearch puts the first line of each finding into one list, with its
// sources.
func mergeResearch(s *scene) reply {
	var all strings.Builder
	for _, m := range s.Messages {
		all.WriteString(m.Content)
	}
	text := all.String()
	heads := findingHead.FindAllStringSubmatchIndex(text, -1)
	var b strings.Builder
	fmt.Fprintf(&b, "I put %s together:\n", count(len(heads), "finding"))
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		part := text[h[1]:end]
		cites := ""
		if m := findingSource.FindStringSubmatch(part); m != nil {
			cites = m[1]
		}
		fmt.Fprintf(&b, "\n- **%s**: %s%s", text[h[2]:h[3]], strings.TrimRight(firstLine(part), ":"), cites)
	}
	return reply{text: b.String(), bare: true}
}
