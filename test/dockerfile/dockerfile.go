// Package dockerfile reads from the product's Dockerfile how its image runs, so that tests run the same as podman.
package dockerfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
)

// Name is the Dockerfile of the product, relative to the repository.
const Name = "Dockerfile.rhel"

// Image has the last stage's settings for running the image. It ignores those of the base image, which are unknown.
type Image struct {
	// Entrypoint and Cmd are argument vectors; the shell form is one of /bin/sh.
	Entrypoint, Cmd []string
	// Files are the paths of the files that COPY puts into a directory, as far as COPY names them.
	Files []string
}

// Read returns the image of the Dockerfile at path.
func Read(path string) (Image, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Image{}, fmt.Errorf("reading the Dockerfile: %w", err)
	}
	return Parse(string(content))
}

// Parse returns the image of a Dockerfile's content.
func Parse(content string) (Image, error) {
	var image Image
	for _, line := range instructions(content) {
		name, rest, _ := strings.Cut(line, " ")
		var err error
		switch strings.ToUpper(name) {
		case "FROM":
			image = Image{}
		case "ENTRYPOINT":
			image.Entrypoint, err = vector(rest)
		case "CMD":
			image.Cmd, err = vector(rest)
		case "COPY":
			image.Files = append(image.Files, copied(rest)...)
		}
		if err != nil {
			return Image{}, fmt.Errorf("%s: %w", line, err)
		}
	}
	return image, nil
}

// Command returns what podman executes for `podman run IMAGE arguments`: ENTRYPOINT, followed by the arguments or,
// without any, by CMD.
func (i Image) Command(arguments ...string) []string {
	if len(arguments) == 0 {
		arguments = i.Cmd
	}
	return append(append([]string{}, i.Entrypoint...), arguments...)
}

// Shell returns a function podman_run_image for bash. Its arguments are those of `podman run` after the image. It
// passes what Command makes of them to the function run_program, without the program's path, which has to be the one
// given here.
func (i Image) Shell(program string) string {
	return fmt.Sprintf(`
podman_run_image() {
	[ $# -gt 0 ] || set -- %s
	set -- %s "$@"
	if [ "$1" != %s ]; then
		echo "podman: executable file $1 not found in the image" >&2
		return 127
	fi
	run_program "${@:2}"
}
`, quote(i.Cmd), quote(i.Entrypoint), quote([]string{program}))
}

// instructions joins continued lines and drops comments.
func instructions(content string) []string {
	var found []string
	joined := ""
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if head, continued := strings.CutSuffix(line, `\`); continued {
			joined += head
			continue
		}
		found = append(found, joined+line)
		joined = ""
	}
	return found
}

// vector is the argument vector of the exec form, which is JSON, or of the shell form.
func vector(rest string) ([]string, error) {
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(rest, "[") {
		return []string{"/bin/sh", "-c", rest}, nil
	}
	var arguments []string
	if err := json.Unmarshal([]byte(rest), &arguments); err != nil {
		return nil, fmt.Errorf("the exec form is a JSON array of strings: %w", err)
	}
	return arguments, nil
}

func copied(rest string) []string {
	var paths []string
	for _, field := range strings.Fields(rest) {
		if !strings.HasPrefix(field, "--") {
			paths = append(paths, field)
		}
	}
	if len(paths) < 2 {
		return nil
	}
	target := paths[len(paths)-1]
	if !strings.HasSuffix(target, "/") {
		return []string{target}
	}
	var files []string
	for _, source := range paths[:len(paths)-1] {
		files = append(files, path.Join(target, path.Base(source)))
	}
	return files
}

func quote(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	return strings.Join(quoted, " ")
}
