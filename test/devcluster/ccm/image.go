package ccm

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// unpack extracts the program and the libraries of an image into a directory of the two, once. It returns the directory
// and the path of the program in it.
func unpack(image, command, unpacked string) (root, program string, err error) {
	opened, done, err := openImage(image)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	digest, err := opened.Digest()
	if err != nil {
		return "", "", fmt.Errorf("has no readable image: %w", err)
	}
	root = filepath.Join(unpacked, digest.Hex+"-"+path.Base(command))
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if err := extractTo(root, opened, path.Base(command)); err != nil {
			return "", "", err
		}
	}
	program, err = filepath.EvalSymlinks(filepath.Join(root, command))
	if err == nil && !strings.HasPrefix(program, root+"/") {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("has no %s: it is not the image of the platform's cloud-controller-manager", command)
	}
	return root, program, err
}

// openImage opens an OCI layout, or an archive of one, and returns what closes it.
func openImage(file string) (image v1.Image, done func() error, err error) {
	done = func() error { return nil }
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.New("does not exist: write the path of an OCI archive or layout")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be read: %w", err)
	}
	dir := file
	if !info.IsDir() {
		if dir, err = os.MkdirTemp("", "ccm-image-"); err != nil {
			return nil, nil, fmt.Errorf("cannot be unpacked: %w", err)
		}
		done = func() error { return os.RemoveAll(dir) }
		if err := untar(file, dir); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("is neither an OCI archive nor a layout: %w", err), done())
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("is neither an OCI archive nor a layout: %w", err), done())
	}
	image, err = ofThisMachine(index)
	if err == nil && image == nil {
		err = fmt.Errorf("has no image for linux/%s", runtime.GOARCH)
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return image, done, nil
}

// ofThisMachine returns the index's image for this machine, nil if it has none.
func ofThisMachine(index v1.ImageIndex) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("has no readable index: %w", err)
	}
	for _, entry := range manifest.Manifests {
		if p := entry.Platform; p != nil && (p.OS != "linux" || p.Architecture != runtime.GOARCH) {
			continue
		}
		if entry.MediaType.IsImage() {
			return index.Image(entry.Digest)
		}
		if !entry.MediaType.IsIndex() {
			continue
		}
		inner, err := index.ImageIndex(entry.Digest)
		if err != nil {
			return nil, fmt.Errorf("has no readable index: %w", err)
		}
		if found, err := ofThisMachine(inner); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// extractTo extracts the program with a name, and all shared libraries, and puts the directory in place in one step.
func extractTo(root string, image v1.Image, program string) (err error) {
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(root), ".new-")
	if err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	content := mutate.Extract(image)
	defer content.Close()
	if err := extract(content, temporary, func(name string) bool {
		return path.Base(name) == program || strings.Contains(path.Base(name), ".so")
	}); err != nil {
		return fmt.Errorf("cannot be unpacked: %w", err)
	}
	return os.Rename(temporary, root)
}

func untar(file, dir string) error {
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	return extract(archive, dir, func(string) bool { return true })
}

// extract writes the wanted files, and all links, of an archive into a directory and nowhere else.
func extract(archive io.Reader, dir string, wanted func(name string) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if name == "" {
			continue
		}
		if err := write(root, name, header, reader, wanted(name)); err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, header *tar.Header, content io.Reader, wanted bool) error {
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if header.Typeflag != tar.TypeSymlink && !wanted {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		err := root.Link(strings.TrimPrefix(path.Clean("/"+header.Linkname), "/"), name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to a file that is not wanted
		}
		return err
	case tar.TypeReg:
		mode := fs.FileMode(0o644)
		if header.Mode&0o111 != 0 {
			mode = 0o755
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	}
	return nil
}
