package monitoring

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// dashboard has the fields of the payload's dashboard that the page draws.
type dashboard struct {
	Title string
	Rows  []struct {
		Title  string
		Panels []panel
	}
}

// panel is drawn by one query. Its Type is graph, table or singlestat.
type panel struct {
	Title, Type, Format string
	Span                int
	Stack               bool
	Targets             []struct{ Expr, LegendFormat string }
	// Styles are the columns of a table.
	Styles []struct{ Alias, Pattern, Type, Unit string }
	YAxes  []struct{ Format string }
}

func readDashboard(repository string) (*dashboard, error) {
	var object corev1.ConfigMap
	content, err := os.ReadFile(filepath.Join(repository, manifests+"04_dashboard.configmap.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, &object)
	}
	board := &dashboard{}
	if err == nil {
		err = json.Unmarshal([]byte(object.Data["cloud-controller-manager.json"]), board)
	}
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	return board, nil
}

//go:embed dashboard.html.tmpl
var pageTemplate string

var legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)

// page returns a console template of Prometheus with the panels. The graphs are those of Prometheus' own library; it
// fills tables and numbers when it serves the page.
func (d *dashboard) page() ([]byte, error) {
	functions := template.FuncMap{
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		// legend returns a legend in the form of Prometheus' library.
		"legend": func(format string) string { return legendLabel.ReplaceAllString(format, "[[ $1 ]]") },
	}
	// Prometheus' own templates have the usual delimiters.
	parsed, err := template.New(consoleFile).Delims("<%", "%>").Funcs(functions).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("the dashboard's page: %w", err)
	}
	var page bytes.Buffer
	if err := parsed.Execute(&page, d); err != nil {
		return nil, fmt.Errorf("the dashboard's page: %w", err)
	}
	return page.Bytes(), nil
}
