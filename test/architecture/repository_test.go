package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/openshift/cluster-cloud-controller-manager-operator"
)

// goPackage is the part of `go list -json` that these tests read.
type goPackage struct {
	Dir, ImportPath, Name string
	GoFiles, Imports      []string
}

// relative returns the package's directory relative to the repository, "." for the repository itself.
func (p goPackage) relative() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// packages lists the packages of the operator's module. Nested modules serve only tests and have other rules.
func packages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,ImportPath,Name,GoFiles,Imports", "./...")
	command.Dir = root
	output, err := command.Output()
	require.NoError(t, err)
	var all []goPackage
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}

// filesUnder returns the files below a directory whose name ends in suffix, relative to the repository. It returns
// none for a missing directory.
func filesUnder(t *testing.T, folder, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, suffix):
			relative, err := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return content
}

func TestEveryBuildOfTheOperatorHasTheSameTags(t *testing.T) {
	require.Contains(t, string(read(t, "Makefile")), "TAGS    := grpcnotrace\n")
	require.Contains(t, string(read(t, "test/devcluster/images.go")), "[]string{\"grpcnotrace\"},\n")
	require.Contains(t, string(read(t, "Dockerfile.rhel")), " make build\n")
}

// It runs in images of any content. With cgo it would need their C library.
func TestTheImagePullerIsBuiltWithoutCgo(t *testing.T) {
	require.Contains(t, string(read(t, "Makefile")),
		"\t@CGO_ENABLED=0 go build $(FLAGS) -ldflags '-s -w' -o _output/ ./cmd/image-puller\n")
	require.Contains(t, string(read(t, "Dockerfile.rhel")), "\nENV GO_COMPLIANCE_EXCLUDE=\"build.*cmd/image-puller\"\n")
	require.Contains(t, string(read(t, "test/devcluster/internal/build/build.go")), "\"CGO_ENABLED=0\"")
}

// It is exempt from the builder's FIPS settings because it uses no cryptography.
func TestTheImagePullerUsesNoCryptography(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/image-puller")
	command.Dir = root
	packages, err := command.Output()
	require.NoError(t, err)
	require.NotRegexp(t, `(?m)^(crypto|golang\.org/x/crypto|net/http)\b`, string(packages))
}

// A file that git ignores is not in a clone, and COPY fails without it.
func TestTheProductIsBuiltFromAClone(t *testing.T) {
	copies := regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(string(read(t, "Dockerfile.rhel")), -1)
	require.NotEmpty(t, copies)
	for _, match := range copies {
		for _, source := range strings.Fields(match[1]) {
			tracked := exec.CommandContext(t.Context(), "git", "ls-files", "--", source)
			tracked.Dir = root
			files, err := tracked.Output()
			require.NoError(t, err)
			require.NotEmptyf(t, files, "git has no %s", source)
		}
	}
}

// A binary in the history makes every clone larger for ever.
func TestNoBinaryIsTracked(t *testing.T) {
	command := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	command.Dir = root
	output, err := command.Output()
	require.NoError(t, err)
	files := strings.FieldsFunc(string(output), func(r rune) bool { return r == 0 })
	require.NotEmpty(t, files)
	for _, name := range files {
		info, err := os.Lstat(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(1<<20), "%s is larger than a source: remove it from the commit", name)
	}
}
