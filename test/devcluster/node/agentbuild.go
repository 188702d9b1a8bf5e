package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sync"
)

// agentSources are compiled when a node starts, so that every program that imports this package, a test too, can
// start nodes from any working directory and module. They need nothing but the standard library.
//
//go:embed agent/*.go
var agentSources embed.FS

// agentBuild keeps the nodes of one process from compiling the agent at once.
var agentBuild sync.Mutex

// buildAgent compiles the agent into the directory unless it is there, and returns its path. The name carries a hash of
// the sources and of the Go version.
func buildAgent(ctx context.Context, folder string) (_ string, err error) {
	agentBuild.Lock()
	defer agentBuild.Unlock()
	sources, err := readAgentSources()
	if err != nil {
		return "", fmt.Errorf("reading the sources of the node agent: %w", err)
	}
	target := filepath.Join(folder, "node-agent-"+sources.hash)
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	work, err := os.MkdirTemp(folder, "node-agent-build-")
	if err != nil {
		return "", fmt.Errorf("compiling the node agent: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for name, content := range sources.files {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o600); err != nil {
			return "", fmt.Errorf("compiling the node agent: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", "agent", ".")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the node agent: %w: %s", err, bytes.TrimSpace(output))
	}
	if err := os.Rename(filepath.Join(work, "agent"), target); err != nil {
		return "", fmt.Errorf("compiling the node agent: %w", err)
	}
	return target, nil
}

type agentFiles struct {
	files map[string][]byte
	hash  string
}

func readAgentSources() (*agentFiles, error) {
	entries, err := agentSources.ReadDir("agent")
	if err != nil {
		return nil, err
	}
	sources := &agentFiles{files: map[string][]byte{"go.mod": []byte("module agent\n\ngo 1.26.0\n")}}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version())
	for _, entry := range entries {
		content, err := agentSources.ReadFile(path.Join("agent", entry.Name()))
		if err != nil {
			return nil, err
		}
		sources.files[entry.Name()] = content
		fmt.Fprintf(hash, "%s %d\n%s", entry.Name(), len(content), content)
	}
	sources.hash = hex.EncodeToString(hash.Sum(nil))[:12]
	return sources, nil
}
