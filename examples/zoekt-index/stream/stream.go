// Package stream runs git sluice, and reads the lists and the archives that it writes: the files of a commit, or only those
// that changed since another commit. A list also has the paths that an index has to forget.
//
// An index may store what it read only after Close has returned without an error. Only then did git sluice succeed, and
// the archive and its manifest are complete.
package stream

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Exit statuses of git sluice that ask the caller to send the request again without Base.
const (
	StatusBaseUnusable   = 3
	StatusTooMuchChanged = 5
)

// Request describes an archive.
type Request struct {
	// Repository is the directory of the repository.
	Repository string
	// Options are options of git sluice, such as --profile=zoekt.
	Options []string
	// Base is the commit that the index has, or empty for a full archive.
	Base string
	// Filters is the hash with which the base was sent. Unless it is empty, git sluice compares it.
	Filters string
	// Target is the commit that is archived.
	Target string
	// Paths are the only files to send, as far as they exist. Unless there are any, all files are sent.
	Paths []string
}

// Document is a file of the archive with its content.
type Document struct {
	File
	// Content holds the bytes of the file, or the target of a symbolic link. A file with a reason has none.
	Content []byte
}

// ExitError is an exit status of git sluice other than 0.
type ExitError struct {
	Status int
	// Messages is what git sluice wrote to its standard error.
	Messages string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("git sluice: exit status %d\n%s", e.Status, strings.TrimSpace(e.Messages))
}

// Stream is an answer of git sluice that is being read.
type Stream struct {
	// Header is the first line of the manifest.
	Header Header
	// Document is the file that the last call of Next has read.
	Document Document

	process  *exec.Cmd
	archive  *tar.Reader
	output   io.ReadCloser
	manifest *os.File
	listed   chan count
	messages bytes.Buffer
	entries  int
	err      error
}

// count is the number of entries that a manifest lists, or the reason why it is not known.
type count struct {
	entries int
	err     error
}

// Open starts git sluice and waits for the header of the manifest. The caller must call Close.
func Open(request Request) (*Stream, error) {
	process := request.command("archive", "--manifest=fd:3")
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	manifest, manifestEnd, err := os.Pipe()
	if err != nil {
		output.Close()
		return nil, err
	}
	s := &Stream{process: process, output: output, manifest: manifest, listed: make(chan count, 1)}
	s.archive = tar.NewReader(bufio.NewReaderSize(output, 128<<10))
	process.ExtraFiles = []*os.File{manifestEnd}
	process.Stderr = &s.messages
	err = process.Start()
	manifestEnd.Close()
	if err != nil {
		manifest.Close()
		return nil, err
	}
	lines := bufio.NewReaderSize(manifest, 64<<10)
	if s.Header, s.err = readHeader(lines); s.err != nil {
		s.listed <- count{}
		return nil, s.Close()
	}
	go s.countEntries(lines)
	return s, nil
}

// countEntries reads the manifest while the archive is read, because git sluice waits for a reader that reads one of
// the two later.
func (s *Stream) countEntries(lines *bufio.Reader) {
	var listed count
	listed.err = readLines(lines, func(line *line) {
		if line.isEntry() {
			listed.entries++
		}
	})
	s.listed <- listed
}

// command returns a command of git sluice for this request.
func (r Request) command(name string, options ...string) *exec.Cmd {
	// --pax-notes belongs to the filters, so a list needs it as well.
	words := append([]string{name, "--pax-notes"}, options...)
	words = append(words, r.Options...)
	if r.Base != "" {
		words = append(words, "--base="+r.Base, "--ignore-mode-changes")
	}
	if r.Filters != "" {
		words = append(words, "--base-filters="+r.Filters)
	}
	if len(r.Paths) > 0 {
		words = append(words, "--pathspec-from-file=-", "--pathspec-file-nul", "--ignore-unmatch")
	}
	process := sluice(append(words, r.Target)...)
	process.Dir = r.Repository
	process.Env = append(os.Environ(), "GIT_LITERAL_PATHSPECS=1")
	process.Stdin = strings.NewReader(strings.Join(r.Paths, "\x00"))
	return process
}

// sluice returns a command of git sluice. git also finds the program outside of PATH, but takes longer than the program.
func sluice(words ...string) *exec.Cmd {
	if program, err := exec.LookPath("git-sluice"); err == nil {
		return exec.Command(program, words...)
	}
	return exec.Command("git", append([]string{"sluice"}, words...)...)
}

// Next reads the next file into s.Document. It returns false at the end of the archive and after an error.
func (s *Stream) Next() bool {
	for s.err == nil {
		header, err := s.archive.Next()
		if err != nil {
			s.err = err
			break
		}
		if header.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		s.entries++
		if header.Typeflag != tar.TypeDir {
			s.Document, s.err = s.read(header)
			return s.err == nil
		}
	}
	return false
}

// read returns the file of this header. The content of a placeholder stays unread, because it is not that of the file.
func (s *Stream) read(header *tar.Header) (Document, error) {
	record := func(name string) string { return header.PAXRecords["GITSLUICE."+name] }
	document := Document{File: File{Path: header.Name, Status: record("status"), Blob: record("blob"), Reason: record("reason")}}
	switch {
	case document.Reason != "":
		return document, nil
	case header.Typeflag == tar.TypeSymlink:
		document.Content = []byte(header.Linkname)
		return document, nil
	}
	document.Content = make([]byte, header.Size)
	_, err := io.ReadFull(s.archive, document.Content)
	return document, err
}

// Close ends git sluice. It returns an error unless the entire archive was read and is complete.
func (s *Stream) Close() error {
	isAtEnd := errors.Is(s.err, io.EOF)
	if isAtEnd {
		_, s.err = io.Copy(io.Discard, s.output)
	}
	s.output.Close()
	if !isAtEnd {
		s.manifest.Close()
	}
	listed := <-s.listed
	s.manifest.Close()
	// It ends soon, because nobody reads its output any more.
	if err := wait(s.process, &s.messages); err != nil {
		return err
	}
	if _, err := s.messages.WriteTo(os.Stderr); err != nil {
		return err
	}
	switch {
	case s.err != nil:
		return s.err
	case !isAtEnd:
		return errors.New("git sluice: the archive was not read to its end")
	case listed.err == nil && listed.entries != s.entries:
		return fmt.Errorf("git sluice: the archive has %d entries, but the manifest lists %d", s.entries, listed.entries)
	}
	return listed.err
}

// wait waits for git sluice. Its messages are those of an error, or warnings.
func wait(process *exec.Cmd, messages *bytes.Buffer) error {
	err := process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return &ExitError{Status: exit.ExitCode(), Messages: messages.String()}
	}
	return err
}
