package node

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// ImageSpec describes an image of one layer, built from nothing.
type ImageSpec struct {
	// Ref is the full name that pods use, with registry and tag, such as "localhost/devcluster/operator:dev".
	Ref string
	// Files maps absolute paths in the image to files on the host. A program must be linked statically.
	Files map[string]string
	// Entrypoint, Env ("NAME=value") and WorkingDir go into the image's configuration as they are.
	Entrypoint []string
	Env        []string
	WorkingDir string
}

// WriteImage writes the image as a docker-archive, the form that LoadImages takes. The bytes depend on the
// specification and on the content and the executable bit of the files alone. Besides the files and their parent
// directories the image has an empty /tmp that everybody may write to. When it fails, it leaves no file.
func WriteImage(tarPath string, spec ImageSpec) (err error) {
	fail := func(err error) error { return fmt.Errorf("image %s: %w", spec.Ref, err) }
	if err := spec.validate(); err != nil {
		return fail(err)
	}
	layer, err := os.CreateTemp("", "image-layer-")
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, layer.Close(), os.Remove(layer.Name())) }()
	digest := sha256.New()
	if err := writeLayer(io.MultiWriter(layer, digest), spec.Files); err != nil {
		return fail(err)
	}
	out, err := os.Create(tarPath)
	if err != nil {
		return fail(err)
	}
	err = writeArchive(out, layer, hex.EncodeToString(digest.Sum(nil)), spec)
	if err = errors.Join(err, out.Close()); err != nil {
		return fail(errors.Join(err, os.Remove(tarPath)))
	}
	return nil
}

func (s ImageSpec) validate() error {
	name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	if !strings.Contains(s.Ref, "/") || !strings.Contains(name, ":") || strings.Contains(s.Ref, "@") {
		return errors.New("the name must have a registry and a tag, such as localhost/name:tag")
	}
	for file := range s.Files {
		if !path.IsAbs(file) || path.Clean(file) != file || file == "/" {
			return fmt.Errorf("%q is not a clean absolute path in the image", file)
		}
	}
	return nil
}

func writeLayer(w io.Writer, files map[string]string) error {
	archive := tar.NewWriter(w)
	folders := map[string]bool{"/": true}
	if err := addFolder(archive, folders, "/tmp", 0o1777); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := addFolder(archive, folders, path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := addFile(archive, name, files[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

// addFolder adds a directory after its parents, each once.
func addFolder(archive *tar.Writer, done map[string]bool, name string, mode int64) error {
	if done[name] {
		return nil
	}
	if err := addFolder(archive, done, path.Dir(name), 0o755); err != nil {
		return err
	}
	done[name] = true
	return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[1:] + "/", Mode: mode})
}

func addFile(archive *tar.Writer, name, hostPath string) (err error) {
	file, err := os.Open(hostPath)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", hostPath)
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name[1:], Mode: mode, Size: info.Size()}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(archive, file); err != nil {
		return fmt.Errorf("%s: %w", hostPath, err)
	}
	return nil
}

// imageConfig is the part of the Docker image specification v1.2 that a container runtime reads.
type imageConfig struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		Entrypoint []string `json:"Entrypoint,omitempty"`
		Env        []string `json:"Env,omitempty"`
		WorkingDir string   `json:"WorkingDir,omitempty"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// imageManifest is an entry of a docker-archive's manifest.json.
type imageManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func writeArchive(w io.Writer, layer io.ReadSeeker, digest string, spec ImageSpec) error {
	config := imageConfig{Architecture: runtime.GOARCH, OS: "linux"}
	config.Config.Entrypoint, config.Config.Env, config.Config.WorkingDir = spec.Entrypoint, spec.Env, spec.WorkingDir
	config.RootFS.Type, config.RootFS.DiffIDs = "layers", []string{"sha256:" + digest}
	configJSON, err := json.Marshal(config)
	if err != nil {
		return err
	}
	configSum := sha256.Sum256(configJSON)
	manifest := imageManifest{
		Config:   hex.EncodeToString(configSum[:]) + ".json",
		RepoTags: []string{spec.Ref},
		Layers:   []string{digest + "/layer.tar"},
	}
	manifestJSON, err := json.Marshal([]imageManifest{manifest})
	if err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	entries := []struct {
		name    string
		size    int64
		content io.Reader
	}{
		{manifest.Config, int64(len(configJSON)), strings.NewReader(string(configJSON))},
		{manifest.Layers[0], size, layer},
		{"manifest.json", int64(len(manifestJSON)), strings.NewReader(string(manifestJSON))},
	}
	for _, entry := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: entry.name, Mode: 0o644, Size: entry.size}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(archive, entry.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
