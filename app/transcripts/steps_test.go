package transcripts

import (
	"fmt"
	"regexp"
	"strings"
)

// step is one thing that a transcript does.
type step struct {
	lines []string // as written in the transcript
	verb  string   // an HTTP method, or one of the verbs of parseSteps
	arg   string   // a path, a name
	name  string   // of a request in the background
	user  string
	roles []string
	head  [][2]string
	body  string
}

var (
	methodLine = regexp.MustCompile(`^(?:&([a-z]+) )?(GET|POST|PUT|PATCH|DELETE|SOCKET) (/\S*)$`)
	headLine   = regexp.MustCompile(`^([A-Z][A-Za-z-]*): (.*)$`)
	wordLine   = regexp.MustCompile(`^(read|send|model|close|pass|upstream|restart)(?: (\S+))?$`)
)

// parseSteps reads the lines that begin with ">". A step is
//
//	> POST /api/chat/stream    a request, with headers and body in the lines under
//	> &a POST …                the same in the background, under a name of letters
//	> &a SOCKET /api/ws        a websocket, under a name
//	> send a                   a frame over it, in the lines under
//	> read a                   what it has answered since the last read
//	> close a                  its client goes away
//	> pass 20s                 time passes
//	> model                    what the model's server answers besides, in the lines
//	                           under as in the part upstream
//	> upstream                 what the model was asked since the last time
//	> restart                  the service is stopped and started again
//
// and "> # …" is a comment. The user is una, without roles; a header "As: NAME
// ROLE…" names another user, "As: nobody" no user.
func parseSteps(transcript string) ([]step, error) {
	var steps []step
	for line := range strings.SplitSeq(transcript, "\n") {
		text, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		last := len(steps) - 1
		if m := methodLine.FindStringSubmatch(text); m != nil {
			steps = append(steps, step{verb: m[2], arg: m[3], name: m[1], user: "una", lines: []string{line}})
			continue
		}
		if m := wordLine.FindStringSubmatch(text); m != nil {
			steps = append(steps, step{verb: m[1], arg: m[2], lines: []string{line}})
			if m[1] == "send" || m[1] == "model" { // more lines follow
				steps[last+1].user = "una"
			}
			continue
		}
		if strings.HasPrefix(text, "# ") {
			steps = append(steps, step{verb: "#", lines: []string{line}})
			continue
		}
		if last < 0 || steps[last].user == "" {
			return nil, fmt.Errorf("the step %q is not known", line)
		}
		steps[last].more(line, text)
	}
	return steps, nil
}

// more adds a line that follows a request.
func (s *step) more(line, text string) {
	s.lines = append(s.lines, line)
	m := headLine.FindStringSubmatch(text)
	switch {
	case m == nil || s.body != "":
		s.body += text + "\n"
	case m[1] == "As":
		words := strings.Fields(m[2])
		s.user, s.roles = words[0], words[1:]
	default:
		s.head = append(s.head, [2]string{m[1], m[2]})
	}
}
