package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

const (
	// shortCommit is the length of a commit in a record.
	shortCommit = "12"
	// mark follows a commit that is older than the operator.
	mark = " †"
)

// commitCell is the last cell of a row.
var commitCell = regexp.MustCompile(`\| ([0-9a-f]{` + shortCommit + `})(?:` + mark + `)? \|\n`)

// product is the code that a record is about.
var product = []string{"--", "pkg", ":(exclude)pkg/**/*_test.go", ":(exclude)pkg/**/testdata/**"}

// ages are the commits of the repository, and those of them that have the operator as it is. Comments make no other
// operator.
type ages struct{ known, current map[string]bool }

func readAges(ctx context.Context, repository string) (ages, error) {
	last, err := lastChange(ctx, repository)
	if err != nil {
		return ages{}, err
	}
	var a ages
	var errs [2]error
	a.known, errs[0] = commits(ctx, repository, "HEAD")
	a.current, errs[1] = commits(ctx, repository, last+"^..HEAD")
	return a, errors.Join(errs[:]...)
}

// lastChange returns the last commit that changed more of the product than its comments.
func lastChange(ctx context.Context, repository string) (string, error) {
	candidates, err := git(ctx, repository, append([]string{"log", "--format=%H"}, product...)...)
	if err != nil {
		return "", err
	}
	for _, commit := range candidates {
		changed, err := git(ctx, repository, append([]string{"diff", "--numstat", "--ignore-blank-lines",
			"-I^[[:space:]]*//", commit + "^", commit}, product...)...)
		if err != nil || len(changed) > 0 {
			return commit, err
		}
	}
	return "", errors.New("no commit changed the product")
}

func commits(ctx context.Context, repository, which string) (map[string]bool, error) {
	list, err := git(ctx, repository, "rev-list", "--abbrev-commit", "--abbrev="+shortCommit, which)
	found := map[string]bool{}
	for _, commit := range list {
		found[commit] = true
	}
	return found, err
}

// git returns the lines that git writes.
func git(ctx context.Context, repository string, args ...string) ([]string, error) {
	output, err := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.Fields(string(output)), nil
}

// mark marks the rows whose commit has a former operator.
func (a ages) mark(text string) string {
	return commitCell.ReplaceAllStringFunc(text, func(cell string) string {
		commit := commitCell.FindStringSubmatch(cell)[1]
		if a.current[commit] {
			return "| " + commit + " |\n"
		}
		return "| " + commit + mark + " |\n"
	})
}

// check returns an error about each record that nobody else can repeat.
func (r records) check() error {
	var errs []error
	about := func(what, commit, ccm string) {
		if problem := r.ages.untraceable(commit, ccm); problem != "" {
			errs = append(errs, fmt.Errorf("record of %s: %s", what, problem))
		}
	}
	for _, s := range r.steps {
		about(s.Platform+", "+s.Name, s.Commit, s.CCM)
	}
	for _, l := range r.lies {
		about(l.Name, l.Commit, "")
	}
	for _, f := range r.faults {
		about(f.Name, f.Commit, "")
	}
	if r.rollout != nil {
		about("the rollout", r.rollout.Commit, "")
	}
	return errors.Join(errs...)
}

// untraceable says why a run cannot be repeated, empty if it can.
func (a ages) untraceable(commit, ccm string) string {
	if !a.known[commit] {
		return fmt.Sprintf("the repository has no commit %q: run it again from one that is merged", commit)
	}
	for _, part := range []string{"(devel)", "+dirty"} {
		if strings.Contains(ccm, part) {
			return fmt.Sprintf("the cloud-controller-manager's version has %q: build it from a clean clone", part)
		}
	}
	return ""
}
