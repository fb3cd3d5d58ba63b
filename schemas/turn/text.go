package turn

import (
	"iter"
	"strings"
)

// TextOf runs a loop to its end and returns the text that the model has
// written. The error is the loop's error, or the cause of its cancellation.
func TextOf(events iter.Seq2[Event, error]) (string, error) {
	var text strings.Builder
	for event, err := range events {
		if err != nil {
			return "", err
		}
		switch e := event.(type) {
		case TextDelta:
			text.WriteString(e.Text)
		case FullText:
			text.WriteString(e.Text)
		case Cancelled:
			return "", e.Cause
		default: // other events have no text of the answer
		}
	}
	return text.String(), nil
}
