package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/internal/environment"
	"github.com/git-sluice/git-sluice/examples/zoekt-index/stream"
)

func TestMain(m *testing.M) {
	environment.Run(m)
}

// newRepository returns a repository with two commits, which are tagged old and new.
func newRepository(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	script := `
		git init -q .
		mkdir dir old && echo one >dir/file && echo two >changed && echo three >old/file && ln -s dir link
		printf 'binary\0' >binary && echo run >run && chmod +x run
		git add . && git commit -qm old && git tag old
		echo more >>changed && rm -r old && echo new >new && rm link && echo file >link
		git add -A . && git commit -qm new && git tag new
	`
	command := exec.Command("sh", "-ec", script)
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return directory
}

// read reads an answer, and returns a line for each document.
func read(request stream.Request) ([]string, error) {
	answer, err := stream.Open(request)
	if err != nil {
		return nil, err
	}
	var lines []string
	for answer.Next() {
		lines = append(lines, describe(answer.Document.File)+fmt.Sprintf(" %q", answer.Document.Content))
	}
	slices.Sort(lines)
	return lines, answer.Close()
}

// list returns a line for each file of a list.
func list(request stream.Request) ([]string, error) {
	var lines []string
	header, err := stream.List(request, func(file stream.File) { lines = append(lines, describe(file)) })
	slices.Sort(lines)
	if err == nil && len(header.Filters) != 64 {
		err = fmt.Errorf("the header is %v", header)
	}
	return lines, err
}

func describe(file stream.File) string {
	if len(file.Blob) != 40 && file.Status != "D" {
		return "no blob"
	}
	return strings.TrimSpace(file.Status + " " + file.Path + file.Reason)
}

type reader func(stream.Request) ([]string, error)

func (r reader) expect(t *testing.T, request stream.Request, expected ...string) {
	t.Helper()
	if lines, err := r(request); err != nil || !slices.Equal(lines, expected) {
		t.Errorf("%v: %v\n%q\nexpected:\n%q", request, err, lines, expected)
	}
}

func TestArchives(t *testing.T) {
	request := stream.Request{Repository: newRepository(t), Options: []string{"--binary=placeholder"}, Target: "old"}
	reader(read).expect(t, request, `binarybinary ""`, `changed "two\n"`, `dir/file "one\n"`, `link "dir"`, `old/file "three\n"`, `run "run\n"`)
	request.Paths = []string{"changed", "dir", "missing", "*"}
	reader(read).expect(t, request, `changed "two\n"`, `dir/file "one\n"`)
	request.Paths = nil
	request.Base, request.Target = "old", "new"
	reader(read).expect(t, request, `A new "new\n"`, `M changed "two\nmore\n"`, `T link "file\n"`)
	request.Base = "new"
	reader(read).expect(t, request)
}

func TestLists(t *testing.T) {
	request := stream.Request{Repository: newRepository(t), Options: []string{"--max-size=4", "--large=placeholder"}, Target: "old"}
	reader(list).expect(t, request, "binarytoo-large", "changed", "dir/file", "link", "old/filetoo-large", "run")
	request.Paths = []string{"changed", "dir", "missing", "*"}
	reader(list).expect(t, request, "changed", "dir/file")
	request.Paths = nil
	request.Base, request.Target = "old", "new"
	reader(list).expect(t, request, "A new", "D old/file", "M changedtoo-large", "T linktoo-large")
	request.Base = "new"
	reader(list).expect(t, request)
}

func TestRefusals(t *testing.T) {
	request := stream.Request{Repository: newRepository(t), Target: "new", Base: strings.Repeat("1", 40)}
	expectStatus(t, request, stream.StatusBaseUnusable)
	request.Base, request.Filters = "old", strings.Repeat("2", 64)
	expectStatus(t, request, stream.StatusBaseUnusable)
	request.Filters, request.Options = "", []string{"--max-changed-paths=1"}
	expectStatus(t, request, stream.StatusTooMuchChanged)
	request.Target = "missing"
	expectStatus(t, request, 128)
}

func expectStatus(t *testing.T, request stream.Request, status int) {
	t.Helper()
	for _, read := range []reader{read, list} {
		_, err := read(request)
		var exit *stream.ExitError
		if !errors.As(err, &exit) || exit.Status != status {
			t.Errorf("%v: %v, expected exit status %d", request, err, status)
		}
	}
}

// TestEarlyClose checks that a reader can stop at any document.
func TestEarlyClose(t *testing.T) {
	request := stream.Request{Repository: newRepository(t), Target: "new"}
	for documents := range 4 {
		answer, err := stream.Open(request)
		if err != nil {
			t.Fatal(err)
		}
		for range documents {
			answer.Next()
		}
		if err := answer.Close(); err == nil {
			t.Errorf("an archive that was read up to document %d is complete", documents)
		}
	}
}

// fakeProgram is a git-sluice that passes its archive and its manifest through two commands.
const fakeProgram = `#!/bin/sh
exec 5>&1
{ "%s" "$@" 3>&4 | %s >&5; } 4>&1 | %s >&3
exit %d
`

// TestCuts checks that no answer that is cut anywhere counts as complete, whatever git sluice says about itself.
func TestCuts(t *testing.T) {
	request := stream.Request{Repository: newRepository(t), Target: "new"}
	real, err := exec.LookPath("git-sluice")
	if err != nil {
		t.Skip("git-sluice is not on PATH by itself")
	}
	complete, err := exec.Command("git", "-C", request.Repository, "sluice", "archive", "--pax-notes", "new").Output()
	if err != nil {
		t.Fatal(err)
	}
	fake := t.TempDir()
	t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
	cut := func(archive, manifest string, status int) {
		t.Helper()
		script := fmt.Sprintf(fakeProgram, real, archive, manifest, status)
		if err := os.WriteFile(filepath.Join(fake, "git-sluice"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		lines, err := read(request)
		isWhole := archive == "cat" && manifest == "cat" && status == 0
		if isWhole != (err == nil) {
			t.Errorf("cut by %s and %s with exit status %d: %v, %q", archive, manifest, status, err, lines)
		}
	}
	cut("cat", "cat", 0)
	cut("cat", "cat", 1)
	cut("cat", "head -n 1", 0)
	cut("cat", "head -n -1", 0)
	cut("cat", "head -c 100", 0)
	cut("cat", "head -c 0", 0)
	end := len(bytes.TrimRight(complete, "\x00"))
	for length := 0; length+100 < end; length += 512 {
		cut(fmt.Sprintf("head -c %d", length), "cat", 0)
		cut(fmt.Sprintf("head -c %d", length+100), "cat", length%1024/512)
	}
}
