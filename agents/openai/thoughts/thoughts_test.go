package thoughts_test

import (
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/openai/thoughts"
)

// A reply shows whether the next one of its model begins within reasoning. The result does
// not depend on how the text is split.
func TestReasoningThatThePromptBegins(t *testing.T) {
	for _, tt := range []struct {
		name, text     string
		within, cut    bool
		thought, words string
		next           bool
	}{
		{"words", "Use a < b.", false, false, "", "Use a < b.", false},
		{"both tags", "<think>hm</think>Yes </think>.", false, false, "hm", "Yes </think>.", false},
		{"only the end", "hm\n</think>\n\nYes.", false, false, "", "hm\n</think>\n\nYes.", true},
		{"only the end, in a line", "hm.</think>Yes.", false, false, "", "hm.</think>Yes.", true},
		{"the end at once", "</think>Yes.", false, false, "", "</think>Yes.", true},
		{"about the end", "The tag `</think>` ends it.", false, false, "", "The tag `</think>` ends it.", false},
		{"about both", "Write <think>a</think>.", false, false, "", "Write <think>a</think>.", false},
		{"known", "hm\n</think>\n\nYes, `</think>`.", true, false, "hm\n", "Yes, `</think>`.", true},
		{"known, and cut", "hm</thi", true, true, "hm</thi", "", true},
		{"known, and both tags", "\n<think>hm</think>Yes.", true, false, "hm", "Yes.", false},
		{"known, but words", "Yes </th", true, false, "Yes ", "Yes </th", false},
	} {
		for size := 1; size <= len(tt.text); size++ {
			s := thoughts.Splitter{Within: tt.within}
			var words, thought strings.Builder
			add := func(w, th string) {
				words.WriteString(w)
				thought.WriteString(th)
			}
			for rest := tt.text; rest != ""; rest = rest[min(size, len(rest)):] {
				add(s.Split(rest[:min(size, len(rest))]))
			}
			add(s.End(tt.cut))
			if words.String() != tt.words || thought.String() != tt.thought || s.Within != tt.next {
				t.Errorf("%s, in pieces of %d: words %q, reasoning %q, next %t; want %q, %q, %t",
					tt.name, size, words.String(), thought.String(), s.Within, tt.words, tt.thought, tt.next)
			}
		}
	}
}
