package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	schematext "github.com/chattray/chattray/schemas/text"
)

// Error lists everything that is wrong with the settings, one sentence each.
type Error []string

// Error returns all sentences, one on each line.
func (e Error) Error() string {
	if len(e) == 1 {
		return "a setting is wrong: " + e[0]
	}
	return fmt.Sprintf("%d settings are wrong:\n  %s", len(e), strings.Join(e, "\n  "))
}

// layer is one source of settings.
type layer struct {
	values *koanf.Koanf
	// name describes a key of the layer, as in "environment CHATTRAY_ADDR".
	name func(key string) string
}

// Origin is a setting's raw value and where it comes from.
type Origin struct {
	setting setting
	raw     any
	from    string
}

// Load reads the settings from flags (declared by AddFlags; nil means none),
// from the environment and from the file at path (empty means none). Flags take
// precedence over the environment, then the file, then the defaults. The error
// is an Error with everything that is wrong; the origins are then the ones that
// could be found.
func Load(flags *pflag.FlagSet, environ []string, path string) (Config, []Origin, error) {
	var wrong Error
	layers := make([]layer, 0, 3)
	for _, read := range []func() (layer, []string){
		func() (layer, []string) { return flagLayer(flags) },
		func() (layer, []string) { return envLayer(environ) },
		func() (layer, []string) { return fileLayer(path) },
	} {
		l, problems := read()
		layers = append(layers, l)
		wrong = append(wrong, problems...)
	}

	config := Config{ChildEnv: childEnv(environ)}
	origins := make([]Origin, 0, len(table))
	for _, s := range table {
		o, err := find(s, layers)
		if err == nil {
			if err = s.bind(&config, o.raw); err != nil {
				err = fmt.Errorf("%w (%s)", err, o.from)
			}
		}
		if err != nil {
			wrong = append(wrong, s.key+": "+err.Error())
		}
		origins = append(origins, o)
	}
	wrong = append(wrong, config.settleModel(origins)...)
	if len(wrong) == 0 {
		wrong = config.problems()
	}
	if len(wrong) > 0 {
		return config, origins, wrong
	}
	return config, origins, nil
}

// find returns the value of the first layer that has one.
func find(s setting, layers []layer) (Origin, error) {
	for _, l := range layers {
		value, path := l.values.Get(s.key), ""
		if s.kind != plain {
			path = l.values.String(s.key + "_file")
		}
		switch {
		case value != nil && path != "":
			return Origin{s, nil, l.name(s.key)}, fmt.Errorf("is set together with the file for it (%s)", l.name(s.key))
		case value != nil:
			return Origin{s, value, l.name(s.key)}, nil
		case path != "":
			from := l.name(s.key + "_file")
			content, err := secretFile(path)
			if err != nil {
				err = fmt.Errorf("%w (%s)", err, from)
			}
			return Origin{s, content, from}, err
		}
	}
	return Origin{s, s.def, "default"}, nil
}

// settleModel completes model and allow-list: without a list, the list is only
// the model, and without a model, the model is the first of the list.
func (c *Config) settleModel(origins []Origin) []string {
	i := slices.IndexFunc(origins, func(o Origin) bool { return o.setting.key == "model" })
	switch given := origins[i].from != "default"; {
	case len(c.Models) == 0:
		if c.Model == "" {
			return []string{"model: is empty"}
		}
		c.Models = []Model{{Name: c.Model}}
	case !given:
		c.Model = c.Models[0].Name
		origins[i].raw, origins[i].from = c.Model, "the first of models"
	case !slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == c.Model }):
		return []string{fmt.Sprintf("model: %q is not in models (%s)", c.Model, origins[i].from)}
	}
	return nil
}

// flagLayer returns the flags that were given. AddFlags declares them.
func flagLayer(flags *pflag.FlagSet) (layer, []string) {
	if flags == nil {
		flags = new(pflag.FlagSet)
	}
	keys := map[string]string{}
	for _, s := range table {
		keys[s.flag()], keys[s.flag()+"-file"] = s.key, s.key+"_file"
	}
	k := koanf.New(".")
	err := k.Load(posflag.ProviderWithFlag(flags, ".", nil, func(f *pflag.Flag) (string, any) {
		return keys[f.Name], f.Value.String()
	}), nil)
	name := func(key string) string {
		return "flag --" + flagName(key)
	}
	return layer{k, name}, sentences("flags", err)
}

// envLayer returns the variables of the table, and an error for each other
// variable with our prefix. An empty variable counts as not set.
func envLayer(environ []string) (layer, []string) {
	set := map[string]bool{}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" {
			set[name] = true
		}
	}
	keys, names, known := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, s := range table {
		for _, name := range s.env {
			known[name], known[name+"_FILE"] = true, s.kind != plain
			if names[s.key] != "" || names[s.key+"_file"] != "" {
				continue // an earlier name has precedence
			}
			for key, name := range map[string]string{s.key: name, s.key + "_file": name + "_FILE"} {
				if set[name] && known[name] {
					keys[name], names[key] = key, name
				}
			}
		}
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if strings.HasPrefix(name, "CHATTRAY_") && !known[name] && !serviceLink(name, set) {
			wrong = append(wrong, "unknown environment variable "+name+variableMeant(name))
		}
	}
	k := koanf.New(".")
	err := k.Load(env.Provider(".", env.Opt{
		EnvironFunc:   func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) { return keys[name], value },
	}), nil)
	return layer{k, func(key string) string { return "environment " + names[key] }}, append(wrong, sentences("environment", err)...)
}

// serviceLink recognizes the variables that Kubernetes sets in every container for a service
// named chattray or chattray-NAME, of which one ends with _SERVICE_HOST. They are no settings.
func serviceLink(name string, set map[string]bool) bool {
	for at := range name {
		rest := name[at:]
		link := rest == "_SERVICE_HOST" || rest == "_PORT" || strings.HasPrefix(rest, "_PORT_") ||
			rest == "_SERVICE_PORT" || strings.HasPrefix(rest, "_SERVICE_PORT_")
		if link && set[name[:at]+"_SERVICE_HOST"] {
			return true
		}
	}
	return false
}

// fileLayer returns the keys of the YAML file, and an error for each unknown one.
func fileLayer(path string) (layer, []string) {
	k := koanf.New(".")
	l := layer{k, func(string) string { return path }}
	if path == "" {
		return l, nil
	}
	content, err := readLimited(path, maxConfigFile)
	if err != nil {
		return l, sentences("--config", err)
	}
	if err := k.Load(content, oneDocument{}); err != nil {
		return l, []string{path + ": " + err.Error() + schematext.YAMLHint(err.Error())}
	}
	known := map[string]bool{}
	var open, sections []string
	for _, s := range table {
		known[s.key], known[s.key+"_file"] = true, s.kind != plain
		if (s.kind == listed || s.kind == vault) && k.Get(s.key) != nil { // with dots alone the value would not be found
			open = append(open, s.key+".")
		}
		if section, _, nested := strings.Cut(s.key, "."); nested {
			sections = append(sections, section)
		}
	}
	lines := linesOf(content)
	var wrong []string
	for _, key := range k.Keys() {
		inOpen := slices.ContainsFunc(open, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		empty := slices.Contains(sections, key) && isEmpty(k.Get(key))
		switch {
		case known[key] || inOpen || empty:
		case slices.Contains(sections, key):
			wrong = append(wrong, fmt.Sprintf("%s: must be a section with keys (%s)", key, path))
		default:
			place := path
			if line := lines[key]; line > 0 { // an empty section and one that is copied have none
				place = fmt.Sprintf("%s:%d", path, line)
			}
			wrong = append(wrong, fmt.Sprintf("unknown key %s%s (%s)", key, meant(key), place))
		}
	}
	return l, wrong
}

// meant says which setting has the name of an unknown key in another section, if it is only one.
func meant(key string) string {
	name := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	var found []string
	for _, s := range table {
		if name(s.key) == name(key) {
			found = append(found, s.key)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return "; the setting is " + found[0]
}

// variableMeant says which variable has a setting, for one whose name is made from the key.
func variableMeant(name string) string {
	for _, s := range table {
		if name == "CHATTRAY_"+strings.ToUpper(strings.ReplaceAll(s.key, ".", "_")) {
			return "; the variable of " + s.key + " is " + s.env[0]
		}
	}
	return ""
}

// oneDocument is a parser of YAML that refuses a document without keys, a second document, of
// which others read nothing, and a key that is given twice, of which they read one or the other.
type oneDocument struct{}

// Unmarshal implements koanf.Parser.
func (oneDocument) Unmarshal(raw []byte) (values map[string]any, err error) {
	var first, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if err := d.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: there is a second document; a file is one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if top := first.Content[0]; top.Kind != yaml.MappingNode && top.Tag != "!!null" {
		return nil, fmt.Errorf("line %d: a settings file has keys with values, such as addr: 127.0.0.1:8080", top.Line)
	}
	if err := unambiguous(&first); err != nil {
		return nil, err
	}
	keepText(&first)
	err = first.Decode(&values)
	return values, err
}

// Marshal implements koanf.Parser.
func (oneDocument) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.New("settings are not written")
}

// keepText makes texts of the values below n that YAML takes for numbers, dates or switches
// and that would be written in another way: a key 0123 is not 83, a version 1.10 not 1.1.
func keepText(n *yaml.Node) {
	for _, child := range n.Content {
		keepText(child)
	}
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		var value any
		if n.Decode(&value) != nil || fmt.Sprint(value) != n.Value {
			n.Tag = "!!str"
		}
	}
}

// unambiguous returns an error if a key is given both in a section and with dots, as
// limits.body, or if it has a value and is a section too.
func unambiguous(document *yaml.Node) error {
	lines := lastLines(document)
	given := map[string]int{}
	for _, n := range document.Content {
		leaves(n, "", func(key string, _ int) {
			given[key]++
			for at, c := range key {
				if c == '.' && lines[key[:at]] > 0 {
					given[key[:at]]++
				}
			}
		})
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] > 1 {
			return fmt.Errorf("line %d: %s is given twice", lines[key], key)
		}
	}
	return nil
}

// linesOf returns the lines of the keys of a document that can be read.
func linesOf(content []byte) map[string]int {
	var document yaml.Node
	_ = yaml.Unmarshal(content, &document) // it has been read before
	return lastLines(&document)
}

// lastLines returns the last line on which each key of a document is given.
func lastLines(document *yaml.Node) map[string]int {
	lines := map[string]int{}
	for _, n := range document.Content {
		leaves(n, "", func(key string, line int) { lines[key] = max(lines[key], line) })
	}
	return lines
}

// leaves calls do with the keys below n that have a value, joined with dots.
func leaves(n *yaml.Node, prefix string, do func(key string, line int)) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if value.Kind == yaml.MappingNode {
			leaves(value, prefix+name.Value+".", do)
		} else if name.Tag != "!!merge" {
			do(prefix+name.Value, name.Line)
		}
	}
}

// isEmpty reports whether a section of the file is empty.
func isEmpty(raw any) bool {
	m, ok := raw.(map[string]any)
	return raw == nil || ok && len(m) == 0
}

func sentences(where string, err error) []string {
	if err == nil {
		return nil
	}
	return []string{where + ": " + err.Error()}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
