// Package stream runs git sluice and reads the archive that it writes: the files of a commit, or only those that changed
// since another commit, and the paths that an index has to forget.
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

// Document is a file of the archive.
type Document struct {
	Path string
	// Status is A for an added file, M for a modified one, and T for one with another type than in the base. It is empty in
	// a full archive.
	Status string
	// Mode is the type of the file as git writes it: 100644, 100755 or 120000.
	Mode string
	// Blob is the ID of the object that git stores for this file.
	Blob string
	// Reason is the reason why there is no content: too-large, binary or missing. It is empty if there is content.
	Reason string
	// Content holds the bytes of the file, or the target of a symbolic link.
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
	// Deleted are the paths that were files in the base and are none in the target. They arrive before all documents.
	Deleted []string

	process  *exec.Cmd
	archive  *tar.Reader
	output   io.ReadCloser
	manifest *manifest
	messages bytes.Buffer
	entries  int
	err      error
}

// Open starts git sluice and waits for the header of the manifest. The caller must call Close.
func Open(request Request) (*Stream, error) {
	process := request.command()
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	lines, manifestEnd, err := os.Pipe()
	if err != nil {
		output.Close()
		return nil, err
	}
	s := &Stream{process: process, output: output, archive: tar.NewReader(bufio.NewReaderSize(output, 128<<10))}
	process.ExtraFiles = []*os.File{manifestEnd}
	process.Stderr = &s.messages
	err = process.Start()
	manifestEnd.Close()
	if err != nil {
		lines.Close()
		return nil, err
	}
	if s.manifest, s.err = readManifest(lines); s.err != nil {
		return nil, s.Close()
	}
	s.Header = s.manifest.header
	return s, nil
}

// command returns the command line that asks for the archive, and for the manifest on descriptor 3.
func (r Request) command() *exec.Cmd {
	words := []string{"-C", r.Repository, "sluice", "archive", "--pax-notes", "--manifest=fd:3"}
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
	process := exec.Command("git", append(words, r.Target)...)
	process.Env = append(os.Environ(), "GIT_LITERAL_PATHSPECS=1")
	process.Stdin = strings.NewReader(strings.Join(r.Paths, "\x00"))
	return process
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
			s.noteDeletions(header)
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

// noteDeletions notes the deleted paths in a global header. The path of a directory ends in a slash, and an index has no
// directories.
func (s *Stream) noteDeletions(header *tar.Header) {
	for key, path := range header.PAXRecords {
		if strings.HasPrefix(key, "GITSLUICE.delete.") && !strings.HasSuffix(path, "/") {
			s.Deleted = append(s.Deleted, path)
		}
	}
}

// read returns the file of this header. The content of a placeholder stays unread, because it is not that of the file.
func (s *Stream) read(header *tar.Header) (Document, error) {
	document := Document{
		Path:   header.Name,
		Status: header.PAXRecords["GITSLUICE.status"],
		Mode:   mode(header),
		Blob:   header.PAXRecords["GITSLUICE.blob"],
		Reason: header.PAXRecords["GITSLUICE.reason"],
	}
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

func mode(header *tar.Header) string {
	switch {
	case header.Typeflag == tar.TypeSymlink:
		return "120000"
	case header.Mode&0o111 != 0:
		return "100755"
	default:
		return "100644"
	}
}

// Close ends git sluice. It returns an error unless the entire archive was read and is complete.
func (s *Stream) Close() error {
	isAtEnd := errors.Is(s.err, io.EOF)
	if isAtEnd {
		_, s.err = io.Copy(io.Discard, s.output)
	}
	s.output.Close()
	listed, manifestErr := s.manifest.finish(isAtEnd)
	if err := s.wait(); err != nil {
		return err
	}
	switch {
	case s.err != nil:
		return s.err
	case !isAtEnd:
		return errors.New("git sluice: the archive was not read to its end")
	case manifestErr != nil:
		return manifestErr
	case listed != s.entries:
		return fmt.Errorf("git sluice: the archive has %d entries, but the manifest lists %d", s.entries, listed)
	}
	return nil
}

// wait waits for git sluice, which ends soon because nobody reads its output any more. It passes warnings on.
func (s *Stream) wait() error {
	err := s.process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return &ExitError{Status: exit.ExitCode(), Messages: s.messages.String()}
	}
	if err == nil {
		_, err = s.messages.WriteTo(os.Stderr)
	}
	return err
}
