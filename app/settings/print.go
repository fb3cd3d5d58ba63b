package settings

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// mask is printed instead of a secret.
const mask = "********"

// AddFlags declares a flag for every setting, and one for its file if it may
// come from one. The help shows only the few flags that a newcomer needs.
func AddFlags(flags *pflag.FlagSet) {
	shown := map[string]bool{"addr": true, "database_url": true, "openai.base_url": true, "model": true, "log_level": true}
	for _, s := range table {
		if !s.secret() {
			flags.String(s.flag(), "", unquoted(s.help)+defaultNote(s))
		}
		if s.kind != plain {
			flags.String(s.flag()+"-file", "", unquoted(s.help)+", from a file")
			flags.Lookup(s.flag() + "-file").Hidden = true
		}
		if f := flags.Lookup(s.flag()); f != nil {
			f.Hidden = !shown[s.key]
		}
	}
}

// unquoted removes the back quotes of Markdown from a help text; pflag would
// take them for the name of the flag's value.
func unquoted(help string) string { return strings.ReplaceAll(help, "`", "") }

func defaultNote(s setting) string {
	if s.def == "" {
		return ""
	}
	return fmt.Sprintf(" (default %s)", s.def)
}

// Print writes every setting with its value, secrets masked, and where the
// value comes from.
func Print(w io.Writer, origins []Origin) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, o := range origins {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", o.setting.key, o.shown(), o.from); err != nil {
			return err
		}
	}
	return table.Flush()
}

// shown returns the value in the form that may be shown.
func (o Origin) shown() string {
	if o.raw == nil || o.raw == "" {
		return "-"
	}
	switch o.setting.kind {
	case hidden:
		return mask
	case dsn:
		return redactURL(fmt.Sprint(o.raw))
	case dsns:
		list, err := texts(o.raw)
		if err != nil {
			return mask
		}
		for i := range list {
			list[i] = redactURL(list[i])
		}
		return strings.Join(list, ",")
	case listed, vault:
		raw, err := structured(o.raw)
		if s, ok := raw.(string); ok && o.setting.kind == listed {
			return s
		} else if ok || err != nil {
			return mask
		}
		var shown strings.Builder
		encoder := json.NewEncoder(&shown)
		encoder.SetEscapeHTML(false) // it is read by people
		if encoder.Encode(redact(raw, o.setting.kind == vault)) != nil {
			return mask
		}
		return strings.TrimSpace(shown.String())
	case plain:
	}
	if list, err := texts(o.raw); err == nil {
		for i := range list {
			list[i] = redactURLs(list[i])
		}
		return strings.Join(list, ",")
	}
	return fmt.Sprint(o.raw)
}

// shownKeys are the keys of structured values under which there are no secrets. An unknown key
// may be a wrong spelling of one that has them.
var shownKeys = []string{
	"name", "base_url", "url", "api_key_file", "context_window", "price", "input", "output", "fallback",
	"command", "args", "pages", "global", "confirm", "trust_hints", "timeout", "disabled",
}

// redact masks the secrets in a structured value: all values, or those that are not under
// shownKeys.
func redact(raw any, all bool) any {
	switch v := raw.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for key, value := range v {
			switch s, isText := value.(string); {
			case all:
				shown[key] = mask
			case isText && (key == "base_url" || key == "url"):
				shown[key] = redactURL(s)
			case key == "args":
				shown[key] = redactArgs(value)
			default:
				shown[key] = redact(value, !slices.Contains(shownKeys, key))
			}
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i, value := range v {
			shown[i] = redact(value, all)
		}
		return shown
	default:
		if all {
			return mask
		}
		return raw
	}
}

// redactArgs masks the secrets in the arguments of a command: the value of an option or a
// header that is named like a secret, and those in URLs. Nobody can tell that another argument
// is a secret.
func redactArgs(raw any) any {
	list, ok := raw.([]any)
	if !ok { // it is refused, and may have everything in one text
		return mask
	}
	shown := make([]any, len(list))
	named := false // the argument before is an option with such a name
	for i, arg := range list {
		s, isText := arg.(string)
		at := strings.IndexAny(s, "=:")
		switch {
		case named && !strings.HasPrefix(s, "-"):
			shown[i] = mask
		case !isText:
			shown[i] = arg
		case at > 0 && secretName.MatchString(s[:at]) && !strings.HasPrefix(s[at:], "://"):
			shown[i] = s[:at+1] + mask
		case at > 0 && s[at] == '=':
			shown[i] = s[:at+1] + redactURLs(s[at+1:])
		default:
			shown[i] = redactURLs(s)
		}
		named = strings.HasPrefix(s, "-") && at < 0 && secretName.MatchString(s)
	}
	return shown
}

// redactURLs is redactURL for a value that may be a URL. Another value is unchanged.
func redactURLs(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host == "" || !strings.Contains(s, "://") {
		return s
	}
	return redactURL(s)
}

// redactURL hides the password of a URL, a user name without a password, and
// the values of query parameters that are named like secrets or as long as keys are.
func redactURL(s string) string {
	if strings.HasPrefix(s, "sqlite:") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return mask
	}
	if _, both := u.User.Password(); u.User != nil && !both {
		u.User = url.User(urlMask)
	}
	query := u.Query()
	for name, values := range query {
		if secretName.MatchString(name) || slices.ContainsFunc(values, func(v string) bool { return len(v) >= keyLength }) {
			query.Set(name, urlMask)
		}
	}
	if u.RawQuery != "" {
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// urlMask replaces a secret in a URL.
const urlMask = "xxxxx"

// keyLength is how many bytes of a URL's query may be a key, whatever their name, as in
// ?sig= and ?code=.
const keyLength = 20

var secretName = regexp.MustCompile(`(?i)pass|pwd|secret|token|key|user|auth|cookie|credential`)

// Help returns the table of settings for a terminal.
func Help() string {
	var b strings.Builder
	b.WriteString("A flag takes precedence over the environment, then the file (--config), then the default. Values marked * may come from a file:\n" +
		"add _FILE to the variable, _file to the key, -file to the flag. Secrets have no other flag.\n\n")
	for _, s := range table {
		star := ""
		if s.kind != plain {
			star = " *"
		}
		flag := "--" + s.flag()
		if s.secret() {
			flag += "-file"
		}
		fmt.Fprintf(&b, "%s%s\n    %s%s\n    %s, %s\n", s.key, star, unquoted(s.help), defaultNote(s), flag, strings.Join(s.env, ", else "))
	}
	return b.String()
}
