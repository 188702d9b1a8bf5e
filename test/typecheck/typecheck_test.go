// Package typecheck checks the types of the programs on the architectures where no test runs.
package typecheck

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/openshift/cluster-cloud-controller-manager-operator"
)

// listed is a package as the go command lists it for an architecture.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
}

// checker checks the types of packages in the order of their dependencies. Compiling them would take minutes for each
// architecture.
type checker struct {
	files   *token.FileSet
	arch    string
	checked map[string]*types.Package
}

func (c *checker) check(p listed) error {
	if p.ImportPath == "unsafe" {
		c.checked["unsafe"] = types.Unsafe
		return nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer:         imports{p.ImportMap, c.checked},
		Sizes:            types.SizesFor("gc", c.arch),
		IgnoreFuncBodies: !strings.HasPrefix(p.ImportPath, module),
		FakeImportC:      true,
	}
	var err error
	c.checked[p.ImportPath], err = config.Check(p.ImportPath, c.files, files, nil)
	return err
}

// imports are the packages that a package sees. The standard library has vendored ones, with other paths.
type imports struct {
	names   map[string]string
	checked map[string]*types.Package
}

func (i imports) Import(name string) (*types.Package, error) {
	if actual, is := i.names[name]; is {
		name = actual
	}
	if p := i.checked[name]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed: " + name)
}

func TestTheProgramsTypeCheckOnTheOtherArchitecturesOfARelease(t *testing.T) {
	for _, arch := range []string{"arm64", "ppc64le", "s390x"} {
		t.Run(arch, func(t *testing.T) {
			list := exec.CommandContext(t.Context(), "go", "list", "-tags=grpcnotrace", "-deps",
				"-json=ImportPath,Dir,GoFiles,ImportMap", "./cmd/...")
			list.Dir, list.Stderr = root, os.Stderr
			list.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
			output, err := list.Output()
			require.NoError(t, err)
			c := checker{token.NewFileSet(), arch, map[string]*types.Package{}}
			decoder := json.NewDecoder(strings.NewReader(string(output)))
			for {
				var p listed
				err := decoder.Decode(&p)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				require.NoError(t, c.check(p))
			}
			require.NotEmpty(t, c.checked)
		})
	}
}
