package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/zoekt"
)

// findBranches fills zoekt's description of the repository with the branches, their commits, and the time of the latest one.
func (o *Options) findBranches() error {
	names, err := o.expandBranches()
	if err != nil {
		return err
	}
	description := &o.Build.RepositoryDescription
	description.Branches, description.LatestCommitDate, err = o.resolve(names)
	return err
}

// git returns the output of a command in the repository.
func (o *Options) git(input string, words ...string) ([]byte, error) {
	command := exec.Command("git", append([]string{"-C", o.Repository}, words...)...)
	command.Stdin = strings.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return output, fmt.Errorf("git %s: %w", words[0], err)
	}
	return output, nil
}

// settings reads the configuration: all keys of zoekt, and the URL of the remote origin.
func (o *Options) settings() (map[string]string, error) {
	output, err := o.git("", "config", "-z", "--get-regexp", `^(zoekt\.|remote\.origin\.url$)`)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // No key matches.
	}
	settings := map[string]string{}
	for _, item := range strings.Split(string(output), "\x00") {
		key, value, _ := strings.Cut(item, "\n")
		settings[spelling(key)] = value
	}
	delete(settings, "")
	return settings, err
}

// spelling returns the key as zoekt stores it. git prints keys in lower case, but zoekt reads two of them in mixed case.
func spelling(key string) string {
	key = strings.TrimPrefix(key, "zoekt.")
	switch key {
	case "latestcommitdate":
		return "latestCommitDate"
	case "tenantid":
		return "tenantID"
	default:
		return key
	}
}

// expandBranches replaces each pattern by the branches that match it.
func (o *Options) expandBranches() ([]string, error) {
	var names []string
	for _, pattern := range o.Branches {
		if !strings.Contains(pattern, "*") {
			names = append(names, pattern)
			continue
		}
		output, err := o.git("", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(string(output)) {
			isMatch, err := path.Match(pattern, name)
			if err != nil {
				return nil, err
			}
			if isMatch {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// resolve returns the commit of each branch, and the time of the latest one.
func (o *Options) resolve(names []string) ([]zoekt.RepositoryBranch, time.Time, error) {
	var input strings.Builder
	for _, name := range names {
		fmt.Fprintf(&input, "%s^{commit}\n%s^{commit}\n", name, path.Join(o.BranchPrefix, name))
	}
	output, err := o.git(input.String(), "cat-file", "--batch")
	if err != nil {
		return nil, time.Time{}, err
	}
	var branches []zoekt.RepositoryBranch
	var newest time.Time
	for _, name := range names {
		commit, when := nextCommit(&output)
		prefixed, prefixedWhen := nextCommit(&output)
		if commit == "" {
			commit, when = prefixed, prefixedWhen
		}
		if commit == "" && o.AllowMissing {
			continue
		}
		if commit == "" {
			return nil, newest, fmt.Errorf("branch %q does not exist", name)
		}
		branches = append(branches, zoekt.RepositoryBranch{Name: name, Version: commit})
		if when.After(newest) {
			newest = when
		}
	}
	if len(branches) == 0 {
		return nil, newest, errors.New("no branch exists")
	}
	return branches, newest, nil
}

// nextCommit takes an answer of `git cat-file --batch` off the output: the ID of a commit and its time, or nothing if
// there is no such commit.
func nextCommit(output *[]byte) (string, time.Time) {
	line, rest, _ := bytes.Cut(*output, []byte("\n"))
	*output = rest
	words := strings.Fields(string(line))
	if len(words) != 3 || words[1] != "commit" {
		return "", time.Time{}
	}
	size, err := strconv.Atoi(words[2])
	if err != nil || size >= len(rest) {
		return "", time.Time{}
	}
	*output = rest[size+1:]
	return words[0], commitTime(rest[:size])
}

// commitTime returns the committer's time: the last but one word of its line.
func commitTime(commit []byte) time.Time {
	_, rest, _ := bytes.Cut(commit, []byte("\ncommitter "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) < 2 {
		return time.Time{}
	}
	seconds, _ := strconv.ParseInt(words[len(words)-2], 10, 64)
	return time.Unix(seconds, 0).UTC()
}
