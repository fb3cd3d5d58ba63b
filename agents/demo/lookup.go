package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/chattray/chattray/schemas"
)

// maxShown is how many articles an answer names.
const maxShown = 8

// relay is a script that calls one tool with what the rule's expression found,
// and quotes what the tool said.
func relay(tool, argument, text string) script {
	return func(s *scene, m []string) reply {
		value := any(m[1])
		if strings.HasSuffix(argument, "article_id") {
			value = number(m[1])
		}
		return s.relay(text, tool, object{argument: value})
	}
}

func (s *scene) relay(text, tool string, args object) reply {
	if r, ok := s.look(text, call{tool, toJSON(args)}); !ok {
		return r
	}
	return s.asGiven(tool)
}

// asGiven quotes what tools said, such as an error.
func (s *scene) asGiven(tool string) reply {
	return reply{text: toolSaid("This is what I was told:", s.of(tool)), chips: starters}
}

func fetchPage(s *scene, m []string) reply {
	return s.relay("I read the page.", "fetch_webpage", object{"url": m[1]})
}

func searchWeb(s *scene, _ []string) reply {
	topic := s.topic("internet", "online", "web")
	if topic == "" {
		return reply{text: "What shall I search the web for?"}
	}
	return s.relay(fmt.Sprintf("I search the web for **%s**.", topic), "web_search", object{"query": topic})
}

// orderPrint asks for something that the user has to approve.
func orderPrint(s *scene, m []string) reply {
	args := object{"report_id": max(s.id("report"), 1), "copies": max(number(m[1]), 1)}
	if r, ok := s.look("I place the order as soon as you approve it.", call{"order_print", toJSON(args)}); !ok {
		return r
	}
	return reply{text: toolSaid("This is how it went:", s.of("order_print")), chips: starters}
}

// research hands the question to the tool of that name and shows what it gave.
func research(s *scene, m []string) reply {
	if r, ok := s.look("I split that up and search for its parts side by side.", call{"research", toJSON(object{"question": m[1]})}); !ok {
		return r
	}
	return reply{text: s.got("research").text, chips: starters}
}

// maxParts is into how many sub-questions a topic is split.
const maxParts = 4

// planParts asks for articles about the whole topic and about each word of it.
func planParts(s *scene) reply {
	parts := []string{s.topic()}
	if words := strings.Fields(parts[0]); len(words) > 1 {
		parts = append(parts, words[:min(len(words), maxParts-1)]...)
	}
	return reply{text: "Find articles about " + strings.Join(parts, "\nFind articles about "), bare: true}
}

// mergeParts puts the first line of each finding into one list, with its sources.
func mergeParts(s *scene) reply {
	var b strings.Builder
	fmt.Fprintf(&b, "I put %s together:\n", count(len(s.facts.Findings), "finding"))
	for _, f := range s.facts.Findings {
		fmt.Fprintf(&b, "\n- **%s**: %s", f.Question, strings.TrimRight(firstLine(f.Answer), ":"))
		for _, n := range f.Sources {
			fmt.Fprintf(&b, " [%d]", n)
		}
	}
	return reply{text: b.String(), bare: true}
}

func nothing(topic string) string {
	return fmt.Sprintf("I found nothing about **%s**. The sample data is small: gene editing in sickle cell disease, gold, GLP-1 agonists, antibiotic resistance.", topic)
}

// searchArticles searches, and once more and wider when that found nothing.
func searchArticles(s *scene, _ []string) reply {
	topic := s.topic()
	if topic == "" {
		return reply{text: "I did not find a topic in that. Try `Find articles about BCL11A`; `help` says what else I know.", chips: starters}
	}
	calls := []call{{"search_articles", toJSON(object{"query": topic})}}
	if strings.Contains(s.asked, "reports") {
		calls = append(calls, call{"list_reports", "{}"})
	}
	if r, ok := s.look(fmt.Sprintf("Let me search the articles for **%s**.", topic), calls...); !ok {
		return r
	}
	found, said := s.got("search_articles").Articles, ""
	if len(found) == 0 && s.rounds == 1 {
		return reply{
			text:  "Nothing yet; I search everywhere, for the word that says most.",
			calls: []call{{"search_articles", toJSON(object{"query": telling(topic), "stream_id": 0, "report_id": 0})}},
		}
	}
	if len(found) > 0 && s.rounds > 1 && topic != telling(topic) {
		said = fmt.Sprintf("No article has all of **%s**. ", topic)
		topic = telling(topic)
	}
	if said += nothing(topic); len(found) > 0 {
		said = strings.TrimSuffix(said, nothing(topic)) + articleAnswer(found, topic)
	}
	if list := s.got("list_reports").Reports; len(list) > 0 {
		said += "\n\nAnd these are the reports:\n\n" + reportTable(list)
	}
	var chips []string
	for _, a := range found {
		chips = append(chips, fmt.Sprintf("Summarize report %d", a.ReportID))
	}
	chips = unique(chips)
	return reply{text: said, chips: append(chips[:min(len(chips), 2)], starters...)}
}

// telling returns the topic's word that says most: one with a digit or a capital
// inside, as names of genes and drugs have, else the longest.
func telling(topic string) string {
	weight := func(w string) int {
		if strings.ContainsFunc(w[1:], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			return len(w) + maxTopicWord
		}
		return len(w)
	}
	return slices.MaxFunc(strings.Fields(topic), func(a, b string) int { return weight(a) - weight(b) })
}

func articleAnswer(found []schemas.Article, topic string) string {
	shown := found[:min(len(found), maxShown)]
	text := fmt.Sprintf("I found %s about **%s**", count(len(found), "article"), topic)
	if len(shown) < len(found) {
		text += fmt.Sprintf("; these are the first %d", len(shown))
	}
	text += ":\n\n" + articleTable(shown)
	if first := shown[0]; first.Abstract != "" && csvIn(first.Abstract) == "" {
		text += fmt.Sprintf("\n\nThe best match is *%s*: %s", cite(first), quoted(firstLine(first.Abstract)))
	}
	return text
}

func searchPubmed(s *scene, _ []string) reply {
	topic := s.topic()
	if topic == "" {
		return reply{text: "What shall I search PubMed for? Try `Search PubMed for base editing`."}
	}
	if r, ok := s.look(fmt.Sprintf("I search PubMed for **%s**.", topic), call{"search_pubmed", toJSON(object{"query": topic, "max_results": 10})}); !ok {
		return r
	}
	found := s.got("search_pubmed").Articles
	if len(found) == 0 {
		return s.asGiven("search_pubmed")
	}
	return reply{text: articleAnswer(found, topic), chips: []string{"PMID " + found[0].PMID, "Find articles about " + topic}}
}

func listReports(s *scene, _ []string) reply {
	if r, ok := s.look("Let me look.", call{"list_reports", "{}"}); !ok {
		return r
	}
	list, which := s.got("list_reports").Reports, ""
	if len(list) == 0 {
		return s.asGiven("list_reports")
	}
	if topic := s.topic(); topic != "" {
		list = slices.DeleteFunc(list, func(r schemas.Report) bool { return !mentions(r.Title+r.Summary, topic) })
		if which = " about **" + topic + "**"; len(list) == 0 {
			return reply{text: nothing(topic), chips: starters}
		}
	}
	return reply{
		text:  fmt.Sprintf("I know %s%s, newest first:\n\n%s", count(len(list), "report"), which, reportTable(list)),
		chips: []string{fmt.Sprintf("Summarize report %d", list[0].ReportID), "List the research streams"},
	}
}

func showReport(s *scene, _ []string) reply {
	if r, ok := s.look("Let me read the report.", call{"get_report", s.args("report")}); !ok {
		return r
	}
	report := s.got("get_report").Report
	if report.ReportID == 0 {
		return s.asGiven("get_report")
	}
	text := fmt.Sprintf("### %s\n\n%s\n\nIt rests on %s", report.Title, report.Summary, count(len(report.Articles), "article"))
	if shown := report.Articles[:min(len(report.Articles), maxShown)]; len(shown) > 0 {
		text += ", among them:\n\n" + articleTable(shown)
	}
	return reply{text: text, chips: []string{"Categorize the articles", "Add a column for study design", fmt.Sprintf("Order 2 printed copies of report %d", report.ReportID), "List the reports"}}
}

func listStreams(s *scene, _ []string) reply {
	if r, ok := s.look("Let me look.", call{"list_streams", "{}"}); !ok {
		return r
	}
	list := s.got("list_streams").Streams
	if len(list) == 0 {
		return s.asGiven("list_streams")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "There are %s:\n", count(len(list), "research stream"))
	for _, e := range list {
		fmt.Fprintf(&b, "\n- **%s** (stream %d): %s", e.Name, e.StreamID, e.Purpose)
	}
	return reply{text: b.String(), chips: []string{
		fmt.Sprintf("Tell me about stream %d", list[0].StreamID), "Compare stream 1 and stream 2", "Suggest streams about phage therapy",
	}}
}

func showStream(s *scene, _ []string) reply {
	if r, ok := s.look("Let me look at the stream.", call{"get_stream", s.args("stream")}); !ok {
		return r
	}
	got := s.got("get_stream")
	if got.Stream.StreamID == 0 {
		return s.asGiven("get_stream")
	}
	text := fmt.Sprintf("**%s** (stream %d): %s\n\nIts topics: %s.", got.Stream.Name, got.Stream.StreamID, got.Stream.Purpose,
		cmp.Or(strings.Join(schemaOf(got.Stream).Semantic.Topics, ", "), "none given"))
	if len(got.Reports) > 0 {
		text += "\n\n" + reportTable(got.Reports)
	}
	return reply{text: text, chips: []string{"Propose a schema with long-term follow-up", "Compare stream 1 and stream 2"}}
}

// compareStreams gets two streams at the same time.
func compareStreams(s *scene, m []string) reply {
	if r, ok := s.look("I get both at the same time.",
		call{"get_stream", toJSON(object{"stream_id": number(m[1])})}, call{"get_stream", toJSON(object{"stream_id": number(m[2])})}); !ok {
		return r
	}
	got := s.of("get_stream")
	if len(got) < 2 || got[0].Stream.StreamID == 0 || got[1].Stream.StreamID == 0 {
		return s.asGiven("get_stream")
	}
	rows := [][]string{{""}, {"---"}, {"**Purpose**"}, {"**Topics**"}, {"**Reports**"}}
	for _, r := range got[:2] {
		for i, text := range []string{
			fmt.Sprintf("%s (stream %d)", r.Stream.Name, r.Stream.StreamID), "---", r.Stream.Purpose,
			strings.Join(schemaOf(r.Stream).Semantic.Topics, ", "), count(len(r.Reports), "report"),
		} {
			rows[i] = append(rows[i], text)
		}
	}
	return reply{text: table(rows), chips: []string{"List the reports", "Suggest streams about phage therapy"}}
}

// streamSchema is what the rules know of a stream's schema.
type streamSchema struct {
	Semantic  struct{ Topics, Inclusion, Exclusion []string }
	Retrieval struct{ Query string }
}

func schemaOf(s schemas.Stream) (known streamSchema) {
	if json.Unmarshal(s.Schema, &known) != nil {
		return streamSchema{} // of the user's own shape
	}
	return known
}

// table is a Markdown table; the second row is its line.
func table(rows [][]string) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		for j, text := range row {
			row[j] = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
		}
		lines[i] = "| " + strings.Join(row, " | ") + " |"
	}
	return strings.Join(lines, "\n")
}

func reportTable(list []schemas.Report) string {
	rows := [][]string{{"Report", "Title"}, {"---:", "---"}}
	for _, r := range list {
		rows = append(rows, []string{strconv.FormatInt(r.ReportID, 10), r.Title})
	}
	return table(rows)
}

func articleTable(found []schemas.Article) string {
	rows := [][]string{{"Article", "Year", "PMID"}, {"---", "---:", "---"}}
	for _, a := range found {
		year, link := "–", "–"
		if a.Year > 0 {
			year = strconv.Itoa(a.Year)
		}
		if a.PMID != "" {
			link = fmt.Sprintf("[%s](https://pubmed.ncbi.nlm.nih.gov/%s/)", a.PMID, a.PMID)
		}
		rows = append(rows, []string{a.Title, year, link})
	}
	return table(rows)
}

// cite names an article in a line.
func cite(a schemas.Article) string {
	text := strings.TrimSuffix(a.Title, ".")
	if a.Year > 0 {
		text += fmt.Sprintf(" (%d)", a.Year)
	}
	if a.PMID != "" {
		text += ", PMID " + a.PMID
	}
	return text
}

var fencedCSV = regexp.MustCompile("(?s)```csv\\s+(.+?)\\s*```")

// csvIn returns the first CSV table in text, "" for none. A table that was put
// on one line gets its lines back.
func csvIn(text string) string {
	m := fencedCSV.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	rows := strings.Split(m[1], "\n")
	if len(rows) == 1 {
		rows = strings.Fields(m[1])
	}
	return strings.Join(rows, "\n") + "\n"
}
