package settings

import (
	"errors"
	"fmt"
	"slices"
)

// models parses the allow-list: names with commas, or a list of names and objects.
func models(c *Config, raw any) error {
	raw, err := structured(raw)
	if err != nil {
		return err
	}
	items, ok := raw.([]any)
	if !ok {
		names, err := texts(orEmpty(raw))
		if err != nil {
			return errors.New("must be a list of names or of objects")
		}
		for _, name := range names {
			items = append(items, name)
		}
	}
	var list []Model
	for i, item := range items {
		m, err := model(item)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if slices.ContainsFunc(list, func(o Model) bool { return o.Name == m.Name }) {
			return fmt.Errorf("entry %d: %s is given twice", i+1, m.Name)
		}
		list = append(list, m)
	}
	c.Models = list
	return nil
}

func orEmpty(raw any) any {
	if raw == nil {
		return ""
	}
	return raw
}

// model parses one entry of the allow-list.
func model(raw any) (Model, error) {
	var m Model
	fields, ok := raw.(map[string]any)
	if !ok {
		name, err := scalarText(raw)
		if err != nil || name == "" {
			return m, errors.New("must be a name or an object with a name")
		}
		m.Name = name
		return m, nil
	}
	for _, key := range sortedKeys(fields) {
		if err := m.set(key, fields[key]); err != nil {
			return m, fmt.Errorf("%s: %w", key, err)
		}
	}
	if m.Name == "" {
		return m, errors.New("name: is missing")
	}
	if _, file := fields["api_key_file"]; file && fields["api_key"] != nil {
		return m, errors.New("api_key: is set together with api_key_file")
	}
	return m, nil
}

// set parses one field of an entry of the allow-list.
func (m *Model) set(key string, raw any) error {
	switch key {
	case "price":
		return m.Price.set(raw)
	case "fallback":
		names, err := texts(orEmpty(raw))
		m.Fallback = append([]string{}, names...)
		return err
	}
	s, err := scalarText(raw)
	if err != nil {
		return err
	}
	switch key {
	case "name":
		m.Name = s
	case "base_url":
		m.BaseURL, err = parseHTTPURL(s)
	case "api_key":
		m.APIKey, err = parseHeaderText(s)
	case "api_key_file":
		if s, err = secretFile(s); err == nil {
			m.APIKey, err = parseHeaderText(s)
		}
	case "context_window":
		m.ContextWindow, err = wholeNumber(s, 0, 100_000_000)
	default:
		err = errors.New("is not known")
	}
	return err
}

// set parses the price of a model.
func (p *Price) set(raw any) error {
	fields, ok := raw.(map[string]any)
	if !ok {
		return errors.New("must be an object {input, output}")
	}
	for _, key := range sortedKeys(fields) {
		s, err := scalarText(fields[key])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		dollars, err := number(s, 0, 1_000_000)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", key, err)
		case key == "input":
			p.Input = dollars
		case key == "output":
			p.Output = dollars
		default:
			return fmt.Errorf("%s: is not known", key)
		}
	}
	return nil
}
