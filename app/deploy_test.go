package app

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/services/runs"
)

// yamlDocuments reads a file of YAML documents.
func yamlDocuments(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(readFile(t, name))); ; {
		var one map[string]any
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, one)
	}
}

// at returns what is in a tree of maps under these keys, nil for nothing.
func at(tree any, keys ...string) any {
	for _, key := range keys {
		m, _ := tree.(map[string]any)
		tree = m[key]
	}
	return tree
}

// The files for several processes name settings that exist.
func TestDeploymentsNameSettings(t *testing.T) {
	page := readFile(t, "../docs/settings.md")
	for _, name := range []string{"../docker-compose.yml", "../docker-compose.replicas.yml", "../deploy/kubernetes.yaml"} {
		yamlDocuments(t, name)
		found := regexp.MustCompile(`CHATTRAY_\w+`).FindAllString(readFile(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s names no setting", name)
		}
		for _, variable := range found {
			if !strings.Contains(page, "`"+strings.TrimSuffix(variable, "_FILE")+"`") && !strings.Contains(page, "`"+variable+"`") {
				t.Errorf("%s sets %s, which is no setting", name, variable)
			}
		}
	}
}

// afterDrain is how long a process that stops may take after its delay and the time to drain.
const afterDrain = runs.DefaultStopWait + shutdownGrace

// parsed returns the duration that a file has.
func parsed(t *testing.T, written any) time.Duration {
	t.Helper()
	text, _ := written.(string)
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The second process of docker-compose.replicas.yml is as the first one, whose rest is in
// docker-compose.yml, and Caddy takes its file.
func TestComposeOfReplicas(t *testing.T) {
	base, more := yamlDocuments(t, "../docker-compose.yml")[0], yamlDocuments(t, "../docker-compose.replicas.yml")[0]
	want := maps.Clone(at(base, "services", "chattray", "environment").(map[string]any))
	maps.Copy(want, at(more, "services", "chattray", "environment").(map[string]any))
	got := at(more, "services", "chattray-b", "environment").(map[string]any)
	for name := range want {
		if name != "CHATTRAY_REPLICA_NAME" && want[name] != got[name] {
			t.Errorf("%s is %v in chattray and %v in chattray-b, want the same", name, want[name], got[name])
		}
	}
	want["hosts"], got["hosts"] = at(base, "services", "chattray", "extra_hosts"), at(more, "services", "chattray-b", "extra_hosts")
	if want["hosts"] == nil || !reflect.DeepEqual(want["hosts"], got["hosts"]) {
		t.Errorf("chattray has the hosts %v and chattray-b %v, want the machine's address in both", want["hosts"], got["hosts"])
	}
	if len(got) != len(want) {
		t.Errorf("chattray-b has %d variables, want %d", len(got), len(want))
	}
	stops := 0
	for _, file := range []map[string]any{base, more} {
		for name, service := range at(file, "services").(map[string]any) {
			if !strings.HasPrefix(name, "chattray") {
				continue
			}
			stops++
			drain, delay := parsed(t, cmp.Or(at(service, "environment", "CHATTRAY_DRAIN"), any("30s"))), parsed(t, cmp.Or(at(service, "environment", "CHATTRAY_SHUTDOWN_DELAY"), any("0s")))
			if grace := parsed(t, at(service, "stop_grace_period")); grace <= drain+delay+afterDrain {
				t.Errorf("%s has %v to end, want more than %v", name, grace, drain+delay+afterDrain)
			}
		}
	}
	if stops != 3 {
		t.Errorf("%d services of the two files stop, want 3", stops)
	}
	config := at(more, "configs", "caddy", "content").(string)
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("no Caddy to check its file")
	}
	out, err := exec.CommandContext(t.Context(), caddy, "adapt", "--adapter", "caddyfile", "--config", tempFile(t, "Caddyfile", config)).CombinedOutput()
	if err != nil {
		t.Errorf("Caddy refuses its file: %v\n%s", err, out)
	}
}

// The proxies of docs/operating.md wait for an answer that is not streamed.
func TestProxiesWaitForWholeAnswers(t *testing.T) {
	c, _, err := settings.Load(nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?:proxy_read_timeout|timeout server) (\w+)|\btimeout=(\d+)`).FindAllStringSubmatch(readFile(t, "../docs/operating.md"), -1)
	for _, m := range found {
		if waits := parsed(t, any(cmp.Or(m[1], m[2]+"s"))); waits <= c.Timeouts.Run {
			t.Errorf("%s waits %v, want more than timeouts.run, %v", m[0], waits, c.Timeouts.Run)
		}
	}
	if len(found) != 3 {
		t.Errorf("%d proxies have a time to wait, want nginx, HAProxy and Apache", len(found))
	}
}

// Kubernetes sets variables for each service in all containers of its namespace, and the
// program starts with those of deploy/kubernetes.yaml.
func TestKubernetesServicesAreNoSettings(t *testing.T) {
	var environ []string
	for _, object := range yamlDocuments(t, "../deploy/kubernetes.yaml") {
		if object["kind"] == "Service" {
			name := strings.ToUpper(strings.ReplaceAll(at(object, "metadata", "name").(string), "-", "_"))
			environ = append(environ, name+"_SERVICE_HOST=10.0.0.1", name+"_SERVICE_PORT=80", name+"_PORT=tcp://10.0.0.1:80", name+"_PORT_80_TCP_ADDR=10.0.0.1")
		}
	}
	if _, _, err := settings.Load(nil, environ, ""); err != nil || len(environ) == 0 {
		t.Errorf("with the variables %v: %v", environ, err)
	}
}

// The objects of deploy/kubernetes.yaml fit together.
func TestKubernetes(t *testing.T) {
	pods := map[string]map[string]any{} // templates by label
	var selectors []string
	for _, object := range yamlDocuments(t, "../deploy/kubernetes.yaml") {
		if at(object, "apiVersion") == nil || at(object, "metadata", "name") == nil {
			t.Errorf("%v has no version or no name", object["kind"])
		}
		switch object["kind"] {
		case "Deployment":
			label, _ := at(object, "spec", "template", "metadata", "labels", "app").(string)
			pods[label] = at(object, "spec", "template", "spec").(map[string]any)
			selectors = append(selectors, at(object, "spec", "selector", "matchLabels", "app").(string))
		case "Service":
			selectors = append(selectors, at(object, "spec", "selector", "app").(string))
		case "PodDisruptionBudget":
			selectors = append(selectors, at(object, "spec", "selector", "matchLabels", "app").(string))
		case "NetworkPolicy":
			selectors = append(selectors, at(object, "spec", "podSelector", "matchLabels", "app").(string))
		default:
			t.Errorf("unexpected object %v", object["kind"])
		}
	}
	for _, label := range selectors {
		if pods[label] == nil {
			t.Errorf("something selects %s, which no pod has", label)
		}
	}
	pod := pods["chattray"]
	container := pod["containers"].([]any)[0].(map[string]any)
	var lasts time.Duration
	for _, v := range container["env"].([]any) {
		variable := v.(map[string]any)
		if name := variable["name"].(string); slices.Contains([]string{"CHATTRAY_DRAIN", "CHATTRAY_SHUTDOWN_DELAY"}, name) {
			lasts += parsed(t, variable["value"])
		}
	}
	if grace := time.Duration(pod["terminationGracePeriodSeconds"].(int)) * time.Second; lasts == 0 || grace <= lasts+afterDrain {
		t.Errorf("the pod has %v to end, want more than %v", grace, lasts+afterDrain)
	}
	for probe, path := range map[string]string{"startupProbe": "/healthz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"} {
		if got := at(container, probe, "httpGet", "path"); got != path {
			t.Errorf("the %s asks %v, want %s", probe, got, path)
		}
	}
	period, _ := at(container, "startupProbe", "periodSeconds").(int)
	tries, _ := at(container, "startupProbe", "failureThreshold").(int)
	if starts := time.Duration(period*tries) * time.Second; starts < time.Hour {
		t.Errorf("the pod has %v to migrate the database, want an hour", starts)
	}
}
