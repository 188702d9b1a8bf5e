package liveview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Screen writes progress lines and, below them, a block that is redrawn when it changes. If the output is not a
// terminal the block is not drawn; a summary line is written whenever it changes.
type Screen struct {
	out io.Writer
	// size returns the terminal's width and height; nil where the output is not a terminal.
	size func() (width, height int)

	mutex   sync.Mutex
	block   []string
	summary string
}

// NewScreen returns a screen. size returns the terminal's width and height in characters and is nil if out is not one.
func NewScreen(out io.Writer, size func() (width, height int)) *Screen {
	return &Screen{out: out, size: size}
}

// Write writes lines above the block.
func (s *Screen) Write(lines []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text := s.erase() + string(lines) + s.drawn()
	if _, err := io.WriteString(s.out, text); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// Show replaces the block. Without a terminal it writes the summary if it has changed.
func (s *Screen) Show(lines []string, summary string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.size == nil {
		if summary == s.summary {
			return nil
		}
		s.summary = summary
		_, err := fmt.Fprintln(s.out, summary)
		return err
	}
	lines = s.fit(lines)
	if slices.Equal(lines, s.block) {
		return nil
	}
	text := s.erase()
	s.block = lines
	_, err := io.WriteString(s.out, text+s.drawn())
	return err
}

// Close removes the block.
func (s *Screen) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text := s.erase()
	s.block = nil
	_, err := io.WriteString(s.out, text)
	return err
}

// fit limits each line to one row and the block to the screen, because scrolled lines cannot be erased.
func (s *Screen) fit(lines []string) []string {
	width, height := s.size()
	lines = slices.Clone(lines[:min(len(lines), max(height-1, 1))])
	for i, line := range lines {
		if runes := []rune(line); len(runes) >= width && width > 1 {
			lines[i] = string(runes[:width-2]) + "…"
		}
	}
	return lines
}

func (s *Screen) erase() string {
	if len(s.block) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", len(s.block))
}

func (s *Screen) drawn() string {
	if len(s.block) == 0 {
		return ""
	}
	return strings.Join(s.block, "\n") + "\n"
}
