package tools_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

func echoTool(name string, opts ...tools.Option) turn.Tool {
	return tools.New(name, "Does.", find, opts...)
}

// resolved returns the names of what a page that names the tools offers.
func resolved(t *testing.T, r *tools.Registry, names ...string) string {
	t.Helper()
	found, err := r.Resolve(names, schemas.User{})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(found))
	for i, f := range found {
		list[i] = f.Name
	}
	return strings.Join(list, " ")
}

func TestGroupsComeAndGo(t *testing.T) {
	r, err := tools.NewRegistry(echoTool("one"), echoTool("all", tools.Global()))
	if err != nil {
		t.Fatal(err)
	}
	if r.Has("srv__a") {
		t.Error("Has reports a tool of an unknown group, want false")
	}
	if err := r.Reserve("srv", "web-2"); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name  string
		tools []turn.Tool
		want  string
	}{
		{"empty", nil, "all one"},
		{"two tools", []turn.Tool{echoTool("srv__a"), echoTool("srv__b", tools.Global())}, "all srv__b one srv__a"},
		{"others", []turn.Tool{echoTool("srv__c"), echoTool("srv__a")}, "all one srv__a srv__c"},
		{"gone again", nil, "all one"},
	}
	for _, tt := range steps {
		t.Run(tt.name, func(t *testing.T) {
			if err := r.Replace("srv", tt.tools); err != nil {
				t.Fatal(err)
			}
			if got := resolved(t, r, "one", "srv__a", "srv__*", "web-2__*"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got, want := len(r.Names()), 2+len(tt.tools); got != want {
				t.Errorf("there are %d names, want %d", got, want)
			}
			if !r.Has("srv__a") || !r.Has("srv__*") || r.Has("srv__") || r.Has("srv__a b") || r.Has("other__a") {
				t.Error("Has differs from the names that pages may use, want the same")
			}
		})
	}
}

func TestInvalidGroups(t *testing.T) {
	r, err := tools.NewRegistry(echoTool("taken__a"))
	if err != nil {
		t.Fatal(err)
	}
	err = r.Reserve("good", "good", "taken", "Bad", "a__b", "_a", "", strings.Repeat("x", tools.MaxGroupName+1))
	want := `group of tools "good": there is already a group of this name
group of tools "taken": there is already a tool of this name`
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "must be 1 to 24") != 5 {
		t.Errorf("got %v", err)
	}
	if err := r.Replace("nobody", nil); err == nil {
		t.Error("Replace of an unknown group returned no error, want one")
	}
	err = r.Replace("good", []turn.Tool{echoTool("good__a"), echoTool("good__a"), echoTool("bad__b"), {Name: "good__c"}})
	if err == nil || strings.Count(err.Error(), "has this name") != 2 || !strings.Contains(err.Error(), "it has no function") {
		t.Errorf("got %v", err)
	}
	if got := resolved(t, r, "good__*"); got != "" {
		t.Errorf("of a wrong set %q was taken", got)
	}
	if err := r.Add(echoTool("good__z")); err == nil {
		t.Error("Add of a tool with a group's name returned no error, want one")
	}
}

func TestOffered(t *testing.T) {
	r, err := tools.NewRegistry(
		echoTool("page"), echoTool("all", tools.Global()), echoTool("ask", tools.Global(), tools.Confirm()), echoTool("change", tools.Global(), tools.Effects()),
		echoTool("chat", tools.Global(), tools.InChat()), echoTool("boss", tools.Global(), tools.Roles("admin")),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Reserve("srv"); err != nil {
		t.Fatal(err)
	}
	if err := r.Replace("srv", []turn.Tool{echoTool("srv__a", tools.Global())}); err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string][]string{"user": {"all"}, "admin": {"all", "boss"}} {
		var got []string
		for _, f := range r.Offered(schemas.User{Roles: []string{role}}) {
			got = append(got, f.Name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", role, d)
		}
	}
}

func TestGroupsAreReplacedWhileTheyAreRead(t *testing.T) {
	r, err := tools.NewRegistry(echoTool("one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Reserve("srv"); err != nil {
		t.Fatal(err)
	}
	sets := [][]turn.Tool{{echoTool("srv__a"), echoTool("srv__b")}, {echoTool("srv__c")}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				if err := r.Replace("srv", sets[i%2]); err != nil {
					t.Error(err)
				}
				found, err := r.Resolve([]string{"srv__*"}, schemas.User{})
				if n := len(found); err != nil || n != 1 && n != 2 {
					t.Errorf("resolved %d tools, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}
