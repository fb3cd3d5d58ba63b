package demo

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// maxShown is how many articles an answer names.
const maxShown = 8

func nothing(topic string) string {
	return fmt.Sprintf("I found nothing about **%s**. The sample data is small: gene editing in sickle cell disease, gold, GLP-1 agonists, antibiotic resistance.", topic)
}

func missing(tool, where string) reply {
	return reply{text: fmt.Sprintf("For that I would need the tool `%s`, which this page does not offer me. Try it on %s.", tool, where), chips: starters, refused: true}
}

// searchArticles searches, and once more and wider when that found nothing.
func searchArticles(s *scene, _ []string) reply {
	topic := s.topic()
	switch {
	case topic == "" && strings.Contains(s.asked, "article"):
		return reply{text: "What are the articles to be about? Try `Find articles about BCL11A`.", chips: starters}
	case topic == "":
		return reply{text: "I did not find a topic in that. I am a table of rules and know little; `help` says what.", chips: starters}
	case !s.offered("search_articles"):
		return missing("search_articles", "the Reports page")
	}
	if s.rounds == 0 {
		calls := []call{{"search_articles", toJSON(object{"query": topic})}}
		if regexp.MustCompile(`\blist\b.*\breports\b`).MatchString(s.asked) {
			calls = append(calls, s.can(call{"list_reports", "{}"})...)
		}
		return reply{text: fmt.Sprintf("Let me search the articles for **%s**.", topic), calls: calls}
	}
	found := articles(s.of("search_articles"))
	if len(found) == 0 && s.rounds == 1 {
		return reply{
			text:  "Nothing yet; I search everywhere, for the word that says most.",
			calls: []call{{"search_articles", toJSON(object{"query": telling(topic), "stream_id": 0, "report_id": 0})}},
		}
	}
	var b strings.Builder
	switch {
	case len(found) == 0:
		b.WriteString(nothing(topic))
	case s.rounds > 1 && topic != telling(topic):
		fmt.Fprintf(&b, "No article has all of **%s**. ", topic)
		topic = telling(topic)
		fallthrough
	default:
		b.WriteString(articleAnswer(found, topic))
	}
	if list := reports(s.of("list_reports")); len(list) > 0 {
		b.WriteString("\n\nAnd these are the reports:\n\n" + reportTable(list))
	}
	return reply{text: b.String(), chips: append(topicReports(found), starters...)}
}

// telling returns the topic's word that says most: one with a digit or a capital
// inside, as names of genes and drugs have, else the longest.
func telling(topic string) string {
	best, most := "", -1
	for w := range strings.FieldsSeq(topic) {
		weight := len(w)
		if name := strings.IndexFunc(w[1:], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }); name >= 0 {
			weight += maxTopicWord
		}
		if weight > most {
			best, most = w, weight
		}
	}
	return best
}

func articleAnswer(found []article, topic string) string {
	shown := found[:min(len(found), maxShown)]
	text := fmt.Sprintf("I found %s about **%s**", count(len(found), "article"), topic)
	if len(shown) < len(found) {
		text += fmt.Sprintf("; these are the first %d", len(shown))
	}
	text += ":\n\n" + articleTable(shown)
	if first := shown[0]; first.about != "" && !strings.Contains(first.about, "```") {
		text += fmt.Sprintf("\n\nThe best match is *%s*: %s", first.cite(), first.about)
	}
	return text
}

// topicReports are chips for the reports that articles were found in.
func topicReports(found []article) []string {
	var chips []string
	for _, a := range found {
		if chip := fmt.Sprintf("Summarize report %d", a.report); a.report > 0 {
			chips = append(chips, chip)
		}
	}
	return unique(chips)[:min(len(unique(chips)), 2)]
}

func reportTable(list []entry) string {
	var b strings.Builder
	b.WriteString("| Report | Title |\n|---:|---|\n")
	for _, r := range list {
		fmt.Fprintf(&b, "| %d | %s |\n", r.id, cell(r.name))
	}
	return strings.TrimSpace(b.String())
}

func listReports(s *scene, _ []string) reply {
	if !s.offered("list_reports") {
		return missing("list_reports", "the Reports page")
	}
	if r, ok := s.look("Let me look.", call{"list_reports", "{}"}); !ok {
		return r
	}
	list := reports(s.of("list_reports"))
	if len(list) == 0 {
		return s.asGiven("list_reports")
	}
	which := ""
	if topic := s.topic(); topic != "" {
		var fitting []entry
		for _, e := range list {
			if mentions(e.text, topic) {
				fitting = append(fitting, e)
			}
		}
		if which = " about **" + topic + "**"; len(fitting) == 0 {
			return reply{text: nothing(topic), chips: starters}
		}
		list = fitting
	}
	return reply{
		text:  fmt.Sprintf("I know %s%s, newest first:\n\n%s", count(len(list), "report"), which, reportTable(list)),
		chips: []string{fmt.Sprintf("Summarize report %d", list[0].id), "List the research streams"},
	}
}

func listStreams(s *scene, _ []string) reply {
	if !s.offered("list_streams") {
		return missing("list_streams", "the Streams page")
	}
	if r, ok := s.look("Let me look.", call{"list_streams", "{}"}); !ok {
		return r
	}
	list := streams(s.of("list_streams"))
	if len(list) == 0 {
		return s.asGiven("list_streams")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "There are %s:\n", count(len(list), "research stream"))
	for _, e := range list {
		fmt.Fprintf(&b, "\n- **%s** (stream %d): %s", e.name, e.id, e.about)
	}
	return reply{text: b.String(), chips: []string{
		fmt.Sprintf("Tell me about stream %d", list[0].id), "Compare stream 1 and stream 2", "Suggest streams about phage therapy",
	}}
}

// asGiven quotes what tools said where it has no form that the rules know, such
// as an error.
func (s *scene) asGiven(tools ...string) reply {
	var b strings.Builder
	b.WriteString("This is what I was told:\n")
	for _, r := range s.of(tools...) {
		fmt.Fprintf(&b, "\n> **%s**: %s\n", r.name, quoted(r.text))
	}
	return reply{text: b.String(), chips: starters}
}

func showReport(s *scene, _ []string) reply {
	if !s.offered("get_report") {
		return missing("get_report", "the Reports page")
	}
	args := object{}
	if id := s.id("report"); id > 0 {
		args["report_id"] = id
	}
	if r, ok := s.look("Let me read the report.", call{"get_report", toJSON(args)}); !ok {
		return r
	}
	got := s.of("get_report")
	text := got[0].text
	summary := reportSummary(text)
	if summary == "" {
		return s.asGiven("get_report")
	}
	found := articlesIn(text)
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n\n", reportTitle(text), summary)
	if len(found) > 0 {
		shown := found[:min(len(found), maxShown)]
		fmt.Fprintf(&b, "It rests on %s, among them:\n\n%s", count(len(found), "article"), articleTable(shown))
	} else {
		b.WriteString("It names no articles.")
	}
	return reply{text: b.String(), chips: []string{"Categorize the articles", "Add a column for study design", "List the reports"}}
}

func showStream(s *scene, _ []string) reply {
	if !s.offered("get_stream") {
		return missing("get_stream", "the Streams page")
	}
	args := object{}
	if id := s.id("stream"); id > 0 {
		args["stream_id"] = id
	}
	if r, ok := s.look("Let me look at the stream.", call{"get_stream", toJSON(args)}); !ok {
		return r
	}
	m := streamHead.FindStringSubmatch(s.of("get_stream")[0].text)
	if m == nil {
		return s.asGiven("get_stream")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (stream %s): %s\n\nIts topics: %s.", m[2], m[1], m[3], or(strings.Join(s.list("topics"), ", "), "none given"))
	if list := reports(s.of("get_stream")); len(list) > 0 {
		b.WriteString("\n\n" + reportTable(list))
	}
	return reply{text: b.String(), chips: []string{"Propose a schema with long-term follow-up", "Compare stream 1 and stream 2"}}
}

// compareStreams gets two streams at the same time.
func compareStreams(s *scene, m []string) reply {
	if !s.offered("get_stream") {
		return missing("get_stream", "the Streams page")
	}
	if !s.called("get_stream") {
		return reply{text: "I get both at the same time.", calls: []call{
			{"get_stream", toJSON(object{"stream_id": number(m[1])})},
			{"get_stream", toJSON(object{"stream_id": number(m[2])})},
		}}
	}
	type column struct{ name, purpose, topics, reports string }
	var columns []column
	for _, r := range s.of("get_stream") {
		head := streamHead.FindStringSubmatch(r.text)
		if head == nil {
			return s.asGiven("get_stream")
		}
		columns = append(columns, column{
			fmt.Sprintf("%s (stream %s)", head[2], head[1]), head[3],
			strings.Join(listIn(r.text, "topics"), ", "), count(len(reports([]result{r})), "report"),
		})
	}
	if len(columns) < 2 {
		return s.asGiven("get_stream")
	}
	one, two := columns[0], columns[1]
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s | %s |\n|---|---|---|\n", cell(one.name), cell(two.name))
	for _, row := range [][3]string{
		{"Purpose", one.purpose, two.purpose}, {"Topics", one.topics, two.topics}, {"Reports", one.reports, two.reports},
	} {
		fmt.Fprintf(&b, "| **%s** | %s | %s |\n", row[0], cell(row[1]), cell(row[2]))
	}
	return reply{text: b.String(), chips: []string{"List the reports", "Suggest streams about phage therapy"}}
}

func searchPubmed(s *scene, _ []string) reply {
	topic := s.topic()
	switch {
	case topic == "":
		return reply{text: "What shall I search PubMed for? Try `Search PubMed for base editing`."}
	case !s.offered("search_pubmed"):
		return missing("search_pubmed", "a server that may reach PubMed")
	}
	if r, ok := s.look(fmt.Sprintf("I search PubMed for **%s**.", topic), call{"search_pubmed", toJSON(object{"query": topic, "max_results": 10})}); !ok {
		return r
	}
	found := articles(s.of("search_pubmed"))
	if len(found) == 0 {
		return s.asGiven("search_pubmed")
	}
	return reply{text: articleAnswer(found, topic), chips: []string{"PMID " + found[0].pmid, "Find articles about " + topic}}
}

func pubmedArticle(s *scene, m []string) reply {
	return s.relay("get_pubmed_article", "a server that may reach PubMed", "I get the article from PubMed.", object{"pmid": m[1]})
}

func searchWeb(s *scene, _ []string) reply {
	topic := topicOf(regexp.MustCompile(`\b(?:the|internet|online|web)\b`).ReplaceAllString(s.asked, " "))
	if topic == "" {
		return reply{text: "What shall I search the web for?"}
	}
	return s.relay("web_search", "a server with a search engine (setting `searxng_url`)", fmt.Sprintf("I search the web for **%s**.", topic), object{"query": topic})
}

func fetchPage(s *scene, _ []string) reply {
	url := strings.TrimRight(regexp.MustCompile(`https?://\S+`).FindString(s.ask), ".,;:!?)]}>\"'`")
	return s.relay("fetch_webpage", "another page", "I read the page.", object{"url": url})
}

func showPayload(s *scene, m []string) reply {
	return s.relay("get_payload", "another page", "I get it.", object{"payload_id": m[1]})
}

// openArticle has the page open one of its articles.
func openArticle(s *scene, m []string) reply {
	return s.relay("open_article", "a report's tab Articles", "I ask the page to open it.", object{"article_id": number(m[1])})
}

// relay calls one tool and quotes what it said.
func (s *scene) relay(tool, where, text string, args object) reply {
	if !s.offered(tool) {
		return missing(tool, where)
	}
	if r, ok := s.look(text, call{tool, toJSON(args)}); !ok {
		return r
	}
	return s.asGiven(tool)
}
