package drift

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// logTexts are the files with what is read in the log of a cloud-controller-manager, and the declarations there: all
// constants if none is named.
var logTexts = map[string][]string{
	"pkg/nodecause/attempts.go":                   nil,
	"pkg/nodecause/lookups.go":                    nil,
	"pkg/nodecause/start.go":                      nil,
	"pkg/operator/rollout/preflight/firstnode.go": {"asksForLease"},
	"pkg/operator/rollout/preflight/judge.go":     {"ofAPIServer"},
}

// declaredTexts adds the texts of a file's declarations with their places.
func declaredTexts(root, path string, names []string, texts map[string]string) error {
	file, files, err := parse(filepath.Join(root, path))
	if err != nil {
		return err
	}
	isWanted := func(of token.Token, value *ast.ValueSpec) bool {
		if names == nil {
			return of == token.CONST
		}
		return slices.Contains(names, value.Names[0].Name)
	}
	var kind token.Token
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GenDecl:
			kind = node.Tok
		case *ast.ValueSpec:
			return isWanted(kind, node)
		case *ast.FuncDecl:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING && kind != token.IMPORT {
				texts[text] = fmt.Sprintf("%s:%d", path, files.Position(node.Pos()).Line)
			}
		}
		return true
	})
	return nil
}

// quoted is what a format of klog quotes.
var quoted = regexp.MustCompile(`"[^"]*"`)

// messages looks for what is read in the log of a cloud-controller-manager. It reports whether a checkout has one at
// all.
func messages(root string, checkouts []string) ([]Row, bool, error) {
	missing := map[string]string{}
	for path, names := range logTexts {
		if err := declaredTexts(root, path, names, missing); err != nil {
			return nil, false, err
		}
	}
	contain := false
	for _, checkout := range checkouts {
		err := walk(checkout, func(_, content string) {
			contain = contain || strings.Contains(content, "k8s.io/cloud-provider/app")
			lower := strings.ToLower(content)
			for text := range missing {
				wanted := strings.ToLower(text)
				if strings.Contains(lower, wanted) || strings.Contains(lower, quoted.ReplaceAllString(wanted, "%q")) {
					delete(missing, text)
				}
			}
		})
		if err != nil {
			return nil, false, err
		}
	}
	if !contain {
		return nil, false, nil
	}
	var rows []Row
	for text, place := range missing {
		rows = append(rows, Row{"message", strconv.Quote(text), "in no checkout", place})
	}
	return rows, true, nil
}
