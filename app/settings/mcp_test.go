package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMCPSettings(t *testing.T) {
	file := tempFile(t, "key", "from-a-file\n")
	c, _, err := sources{environ: []string{"PATH=/bin", "OPENAI_API_KEY=k"}, file: `
secrets: {KEY: k1}
mcp_servers:
  - name: files
    command: npx
    args: [-y, some server, '', 7]
    env: {TOKEN: "x-${KEY}", OTHER_file: ` + file + `}
    global: true
    confirm: true
    trust_hints: true
    timeout: 2m
  - name: remote-2
    url: https://mcp.example/mcp
    headers: {Authorization: "Bearer ${KEY}", X-Team_file: ` + file + `}
    pages: [reports, streams]
    confirm: [erase, close]
    disabled: true
  - {name: third, command: x, confirm: false}
`}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []MCPServer{
		{
			Name: "files", Command: "npx", Args: []string{"-y", "some server", "", "7"}, Env: map[string]string{"TOKEN": "x-k1", "OTHER": "from-a-file"},
			Global: true, Confirm: []string{"*"}, TrustHints: true, Timeout: 2 * time.Minute,
		},
		{
			Name: "remote-2", URL: "https://mcp.example/mcp", Headers: map[string]string{"Authorization": "Bearer k1", "X-Team": "from-a-file"},
			Pages: []string{"reports", "streams"}, Confirm: []string{"erase", "close"}, Disabled: true,
		},
		{Name: "third", Command: "x", Confirm: []string{}},
	}
	if d := cmp.Diff(want, c.MCPServers); d != "" {
		t.Errorf("servers (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"PATH=/bin"}, c.ChildEnv); d != "" {
		t.Errorf("environment of processes (-want +got):\n%s", d)
	}
}

func TestInvalidMCPSettings(t *testing.T) {
	_, _, err := sources{file: `
mcp_servers:
  - {name: Bad__name, command: x}
  - {name: a}
  - {name: b, command: x, url: "http://h"}
  - {name: c, command: x, headers: {A: b}, colour: red}
  - {name: d, url: "http://h", args: [x], env: {A: b}}
  - {name: e, url: "ftp://me:hunter2@h"}
  - {name: f, url: "http://h", headers: {Authorization: "Bearer ${NO}"}}
  - {name: g, url: "http://h", headers: {Mcp-Session-Id: x}}
  - {name: h, command: x, env: {"A B": c}}
  - {name: i, command: x, global: true, pages: [p], timeout: soon}
  - {name: j, command: x, args: x}
  - x
  - {name: k, command: x, confirm: erase}
  - {name: l, command: x, trust_hints: perhaps}
`}.load(t)
	reportsAll(t, err,
		"entry 1: name: must be 1 to 24", "entry 2: it needs either command or url", "entry 3: it needs either command or url",
		"entry 4: colour: is not known; headers are allowed only with url", "entry 5: args and env are allowed only with command", "entry 6: url: must be a URL",
		`entry 7: headers: Authorization: the settings have no secret "NO"`, "entry 8: headers: Mcp-Session-Id: is not a name that may be set",
		"entry 9: env: A B: is not a name", "entry 10: timeout: must be a time", "pages have no effect together with global", "entry 11: args: must be a list",
		"entry 12: must be an object", "entry 13: confirm: must be true, false or a list of tools", "entry 14: trust_hints: must be",
	)
}

// What cannot be read is not reported a second time as missing.
func TestMCPErrorsAreReportedOnce(t *testing.T) {
	_, _, err := sources{file: "mcp_servers: [{name: a, command: [npx, x], args: [y]}, {name: [b], command: x}, {name: c, url: 'ftp://h', headers: {A: b}}]"}.load(t)
	reportsAll(t, err, "entry 1: command: must be a single value", "entry 2: name: must be a single value", "entry 3: url: must be a URL")
	if strings.Contains(err.Error(), ";") {
		t.Errorf("got %v, want one error for each entry", err)
	}
}

func TestMCPSettingsArePrintedWithoutSecrets(t *testing.T) {
	_, origins, err := sources{file: "mcp_servers: [{name: a, command: x, env: {K: hunter2}}, {name: b, url: 'http://me:hunter2@h', headers: {K: hunter2}}]"}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Print(&out, origins); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), `"command":"x"`) {
		t.Errorf("printed:\n%s", out.String())
	}
}

// TestMCPArgumentsArePrinted shows arguments as the process gets them, without the secrets
// that their names tell.
func TestMCPArgumentsArePrinted(t *testing.T) {
	for args, want := range map[string]string{
		`[-y, "@scope/server", /srv/a b, "a&b <c>", ""]`:                                         `["-y","@scope/server","/srv/a b","a&b <c>",""]`,
		`[--api-key, hunter2, --level, 3]`:                                                       `["--api-key","********","--level",3]`,
		`[--pin-token, 1234]`:                                                                    `["--pin-token","********"]`,
		`[--token, --verbose, x]`:                                                                `["--token","--verbose","x"]`,
		`[--token=hunter2, "PASSWORD=hunter2", --level=3]`:                                       `["--token=********","PASSWORD=********","--level=3"]`,
		`[--header, "Authorization: Bearer hunter2", -H, "X-Team: a"]`:                           `["--header","Authorization:********","-H","X-Team: a"]`,
		`["postgres://me:hunter2@db/x", "--db=postgres://me:hunter2@db/x", "http://h/?a=1&b=2"]`: `["postgres://me:xxxxx@db/x","--db=postgres://me:xxxxx@db/x","http://h/?a=1&b=2"]`,
		`["auth://h", "C:\\data", "host:80"]`:                                                    `["auth://h","C:\\data","host:80"]`,
	} {
		_, origins, err := sources{file: "mcp_servers: [{name: a, command: x, args: " + args + "}]"}.load(t)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Print(&out, origins); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"args":`+want+`,"command"`) {
			i := strings.Index(out.String(), `"args"`)
			t.Errorf("%s is printed as %.200s, want %s", args, out.String()[max(i, 0):], want)
		}
	}
}
