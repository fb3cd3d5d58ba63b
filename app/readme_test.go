package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func tempFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadmeBeginsWithTheTwoCommands(t *testing.T) {
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(readFile(t, "../README.md"))
	if block == nil || !strings.Contains(block[1], "make run") || !strings.Contains(block[1], "make test") {
		t.Errorf("the first shell block is %q", block)
	}
}

func TestReadmeNamesTheCommands(t *testing.T) {
	readme := readFile(t, "../README.md")
	var commands func(c *cobra.Command)
	commands = func(c *cobra.Command) {
		if c.Runnable() && c.HasParent() && !strings.Contains(readme, c.Name()) {
			t.Errorf("README.md does not name %q", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			commands(sub)
		}
	}
	commands(newRoot(&program{}))
}

func TestCompose(t *testing.T) {
	var file map[string]any
	if err := yaml.Unmarshal([]byte(readFile(t, "../docker-compose.yml")), &file); err != nil {
		t.Fatal(err)
	}
	services, volumes := file["services"].(map[string]any), file["volumes"].(map[string]any)
	for _, name := range []string{"chattray", "postgres", "searxng"} {
		service, ok := services[name].(map[string]any)
		if !ok || service["healthcheck"] == nil {
			t.Errorf("%s is missing or has no health check", name)
		}
	}
	for name, raw := range services {
		service := raw.(map[string]any)
		if profiles, _ := service["profiles"].([]any); slices.Contains(profiles, any("search")) != (name == "searxng") {
			t.Errorf("%s has profiles %v", name, profiles)
		}
		mounts, _ := service["volumes"].([]any)
		for _, mount := range mounts {
			if volume, _, _ := strings.Cut(mount.(string), ":"); !hasKey(volumes, volume) {
				t.Errorf("%s mounts %s, which is not declared", name, volume)
			}
		}
		needed, _ := service["depends_on"].(map[string]any)
		for other := range needed {
			if services[other] == nil {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
	}
	if data := services["postgres"].(map[string]any)["volumes"].([]any); len(data) != 2 {
		t.Errorf("postgres keeps its data in %v", data)
	}
}

func hasKey(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}
