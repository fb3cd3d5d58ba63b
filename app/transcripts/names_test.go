package transcripts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// aliases gives stable names to values that differ from run to run.
type aliases struct {
	of     map[string]string // value → name
	values map[string]string // name → value
	counts map[string]int
}

func newAliases() *aliases {
	return &aliases{of: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
}

const uuidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	idField     = regexp.MustCompile(`"(\w+)": ?"(` + uuidPattern + `|[0-9a-f]{8}|[0-9a-f]{24}|[A-Z2-7]{26})"`)
	partField   = regexp.MustCompile(`"(?:id|messageId|parentMessageId)": ?"(` + uuidPattern + `)-[rs]?\d+"`) // a part of a message
	convText    = regexp.MustCompile(`"conv_(` + uuidPattern + `)"`)
	blockField  = regexp.MustCompile(`"(?:block_ids?|ref)": ?"([^"]+)"`)
	generated   = regexp.MustCompile(`^(?:` + uuidPattern + `|[0-9a-f]{24})$`)
	runHead     = regexp.MustCompile(`(?m)^X-Run-Id: (` + uuidPattern + `)$`)
	timeText    = regexp.MustCompile(`2000-01-0\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z`)
	secondsText = regexp.MustCompile(`("(?:created|created_at|completed_at)": ?)9466\d{5}\b`)
	rowTime     = regexp.MustCompile(`("(?:created|updated)_at": ?)"[^"]*"`)
	estimate    = regexp.MustCompile(`("(?:input|total)_tokens": ?)\d{4,}`)
	promptField = regexp.MustCompile(`("system_prompt": ?)("(?:[^"\\]|\\.)*")`)
	nameText    = regexp.MustCompile(`\b(RUN|MSG|CHAT|PAY|REQ|ASK|BLOCK|DOC|TICKET)\d+\b`)
	digitsText  = regexp.MustCompile(`_(RUN\d+)_`)
	section     = regexp.MustCompile(`(?m)^## ([A-Z ]+)$`)
)

// kinds has the name of an id by the field that holds it.
var kinds = map[string]string{
	"run_id": "RUN", "active_run_id": "RUN", "id": "MSG", "message_id": "MSG", "messageId": "MSG", "user_message_id": "MSG",
	"chat_id": "CHAT", "payload_id": "PAY", "request_id": "REQ", "approval_id": "ASK", "document_id": "DOC", "ticket": "TICKET",
}

// named returns text with names instead of ids.
func (n *aliases) named(text string) string {
	for _, m := range runHead.FindAllStringSubmatch(text, -1) {
		n.name("RUN", m[1])
	}
	for _, m := range convText.FindAllStringSubmatch(text, -1) {
		n.name("CHAT", m[1])
	}
	for _, m := range idField.FindAllStringSubmatch(text, -1) {
		if kind := kinds[m[1]]; kind != "" {
			n.name(kind, m[2])
		}
	}
	for _, m := range partField.FindAllStringSubmatch(text, -1) {
		n.name("MSG", m[1])
	}
	for _, m := range blockField.FindAllStringSubmatch(text, -1) {
		for id := range strings.SplitSeq(m[1], ",") {
			if generated.MatchString(id) {
				n.name("BLOCK", id)
			}
		}
	}
	pairs := make([]string, 0, 2*len(n.of))
	for value, name := range n.of {
		pairs = append(pairs, value, name)
		if strings.HasPrefix(name, "RUN") { // in ids of the wire responses
			pairs = append(pairs, "_"+strings.ReplaceAll(value, "-", "")+"_", "_"+name+"_")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// plain returns text with names instead of all values that differ from run to
// run.
func (n *aliases) plain(text string) string {
	text = promptField.ReplaceAllStringFunc(n.named(text), func(field string) string {
		m := promptField.FindStringSubmatch(field)
		var prompt string
		if json.Unmarshal([]byte(m[2]), &prompt) != nil || prompt == "" {
			return field
		}
		return m[1] + `"` + promptSections(prompt) + `"`
	})
	text = estimate.ReplaceAllString(text, "${1}ESTIMATE") // of a call without usage; it depends on the prompt's length
	text = secondsText.ReplaceAllString(text, "${1}SECONDS")
	return rowTime.ReplaceAllString(timeText.ReplaceAllString(text, "TIME"), `$1"TIME"`)
}

func (n *aliases) name(kind, value string) {
	if n.of[value] != "" {
		return
	}
	n.counts[kind]++
	name := fmt.Sprint(kind, n.counts[kind])
	n.of[value], n.values[name] = name, value
}

// real returns text with the values instead of their names.
func (n *aliases) real(text string) string {
	text = digitsText.ReplaceAllStringFunc(text, func(name string) string {
		if value := n.values[strings.Trim(name, "_")]; value != "" {
			return "_" + strings.ReplaceAll(value, "-", "") + "_"
		}
		return name
	})
	return nameText.ReplaceAllStringFunc(text, func(name string) string {
		if value := n.values[name]; value != "" {
			return value
		}
		return name
	})
}

// promptSections names the sections of a system prompt.
func promptSections(prompt string) string {
	var found []string
	for _, m := range section.FindAllStringSubmatch(prompt, -1) {
		found = append(found, m[1])
	}
	if len(found) == 0 {
		return "(" + prompt[:min(len(prompt), 60)] + "…)"
	}
	return "(" + strings.Join(found, ", ") + ")"
}
