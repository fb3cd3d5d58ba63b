package settings

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/tools"
)

// MCPServer is an MCP server whose tools are offered: a process that the
// service runs (Command) or a server that it calls (URL).
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	// Env is added to ChildEnv for the process. Headers are sent with each
	// request. Secrets are already filled in.
	Env     map[string]string
	URL     string
	Headers map[string]string
	// Pages offer the tools, or all of them do (Global). With neither, page
	// files name them.
	Pages  []string
	Global bool
	// Confirm lists the tools that need the user's approval. tools.GroupAll
	// means all, an empty list none, and nil means all except those that a
	// trusted hint calls harmless.
	Confirm []string
	// TrustHints makes the service trust the server's hints about its tools.
	TrustHints bool
	// Timeout bounds a call; 0 means Timeouts.Tool.
	Timeout  time.Duration
	Disabled bool
}

// childNames are the variables of our environment that a started process gets.
// Others may hold secrets.
var childNames = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM"}

func childEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !slices.Contains(childNames, name)
	})
}

// mcpServers parses the list of MCP servers. The secrets have been parsed before.
func mcpServers(c *Config, raw any) error {
	raw, err := structured(raw)
	if err != nil {
		return err
	}
	items, ok := raw.([]any)
	if !ok && orEmpty(raw) != "" {
		return errors.New("must be a list of objects")
	}
	var list []MCPServer
	var wrong []error
	for i, item := range items {
		server, err := mcpServer(item, c.Secrets)
		if err == nil && slices.ContainsFunc(list, func(o MCPServer) bool { return o.Name == server.Name }) {
			err = fmt.Errorf("%s is given twice", server.Name)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("entry %d: %s", i+1, strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
		list = append(list, server)
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	c.MCPServers = list
	return nil
}

// mcpServer parses one entry of the list.
func mcpServer(raw any, secrets map[string]string) (MCPServer, error) {
	var s MCPServer
	fields, ok := raw.(map[string]any)
	if !ok {
		return s, errors.New("must be an object with a name")
	}
	var wrong []error
	unread := map[string]bool{}
	for _, key := range sortedKeys(fields) {
		if err := s.set(key, fields[key], secrets); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", key, err))
			unread[key] = true
		}
	}
	if err := tools.CheckGroup(s.Name); err != nil && !unread["name"] {
		wrong = append(wrong, fmt.Errorf("name: %w", err))
	}
	switch {
	case unread["command"], unread["url"]: // what the entry is for is not known
	case (s.Command == "") == (s.URL == ""):
		wrong = append(wrong, errors.New("it needs either command or url"))
	case s.Command == "" && len(s.Args)+len(s.Env) > 0:
		wrong = append(wrong, errors.New("args and env are allowed only with command"))
	case s.URL == "" && len(s.Headers) > 0:
		wrong = append(wrong, errors.New("headers are allowed only with url"))
	case s.Global && len(s.Pages) > 0:
		wrong = append(wrong, errors.New("pages have no effect together with global"))
	}
	return s, errors.Join(wrong...)
}

// set parses one field of an entry.
func (s *MCPServer) set(key string, raw any, secrets map[string]string) (err error) {
	switch key {
	case "args":
		s.Args, err = plainTexts(raw)
		return err
	case "pages":
		s.Pages, err = texts(raw)
		return err
	case "confirm":
		s.Confirm, err = confirmations(raw)
		return err
	case "env":
		s.Env, err = secretMap(raw, secrets, envName)
		return err
	case "headers":
		s.Headers, err = secretMap(raw, secrets, headerName)
		return err
	}
	text, err := scalarText(raw)
	if err != nil {
		return err
	}
	switch key {
	case "name":
		s.Name = text
	case "command":
		s.Command = text
	case "url":
		s.URL, err = parseHTTPURL(text)
	case "global":
		s.Global, err = parseSwitch(text)
	case "trust_hints":
		s.TrustHints, err = parseSwitch(text)
	case "disabled":
		s.Disabled, err = parseSwitch(text)
	case "timeout":
		s.Timeout, err = parseSpan(text)
	default:
		err = errors.New("is not known")
	}
	return err
}

// confirmations parses true, false, or the names of tools.
func confirmations(raw any) ([]string, error) {
	if _, several := raw.([]any); several {
		return plainTexts(raw)
	}
	text, err := scalarText(raw)
	if err != nil {
		return nil, err
	}
	all, err := parseSwitch(text)
	switch {
	case err != nil:
		return nil, errors.New("must be true, false or a list of tools")
	case all:
		return []string{tools.GroupAll}, nil
	default:
		return []string{}, nil
	}
}

// plainTexts returns a list of YAML with unchanged items, including empty ones.
func plainTexts(raw any) ([]string, error) {
	items, ok := raw.([]any)
	if !ok {
		return nil, errors.New("must be a list")
	}
	list := make([]string, len(items))
	for i, item := range items {
		if s, ok := item.(string); ok {
			list[i] = s
			continue
		}
		s, err := scalarText(item)
		if err != nil {
			return nil, errors.New("must be a list of single values")
		}
		list[i] = s
	}
	return list, nil
}

var (
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^` + "`" + `|~_-]+$`)
	secretRef  = regexp.MustCompile(`\$\{([^{}]*)\}`)
)

// ownHeaders are the headers that the library sets.
var ownHeaders = []string{"Host", "Content-Length", "Content-Type", "Accept", "Transfer-Encoding", "Connection", "Last-Event-Id"}

// secretMap parses a map of names to values. ${NAME} in a value is replaced by
// that secret; NAME_file names a file with the value of NAME.
func secretMap(raw any, secrets map[string]string, rule *regexp.Regexp) (map[string]string, error) {
	fields, ok := raw.(map[string]any)
	if !ok {
		return nil, errors.New("must be a map of names to values")
	}
	found := map[string]string{}
	for _, key := range sortedKeys(fields) {
		value, err := scalarText(fields[key])
		name, fromFile := strings.CutSuffix(key, "_file")
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case err != nil:
		case !rule.MatchString(name) || rule == headerName && (slices.Contains(ownHeaders, canonical) || strings.HasPrefix(canonical, "Mcp-")):
			err = errors.New("is not a name that may be set")
		case found[name] != "":
			err = errors.New("is set together with a file for it")
		case fromFile:
			value, err = secretFile(value)
		default:
			value, err = fillSecrets(value, secrets)
		}
		if err == nil && strings.ContainsAny(value, "\r\n\x00") {
			err = errors.New("has a line break in its value")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		found[name] = value
	}
	return found, nil
}

// fillSecrets replaces each ${NAME} by that secret.
func fillSecrets(value string, secrets map[string]string) (string, error) {
	var missing []error
	filled := secretRef.ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		secret, ok := secrets[name]
		if !ok {
			missing = append(missing, fmt.Errorf("the settings have no secret %q", name))
		}
		return secret
	})
	return filled, errors.Join(missing...)
}
