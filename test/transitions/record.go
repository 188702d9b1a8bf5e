package transitions

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"
)

// Record has the stories that were played on a development cluster.
type Record struct {
	// Date is the time of the run, and Commit the sources.
	Date    time.Time `json:"date"`
	Commit  string    `json:"commit"`
	Stories []Story   `json:"stories"`
}

// Read reads a record.
func Read(path string) (*Record, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	record := &Record{}
	if err := json.Unmarshal(content, record); err != nil {
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	return record, nil
}

// Write writes a record, with times in tenths of a second.
func (r *Record) Write(path string) error {
	for _, story := range r.Stories {
		for i, t := range story.Transitions {
			story.Transitions[i].Seconds = math.Round(10*t.Seconds) / 10
		}
	}
	content, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Of returns the runs of a story.
func (r *Record) Of(name string) []Story {
	var runs []Story
	for _, story := range r.Stories {
		if story.Name == name {
			runs = append(runs, story)
		}
	}
	return runs
}
