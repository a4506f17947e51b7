package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Header is the first line of a manifest.
type Header struct {
	Version int    `json:"manifest"`
	Commit  string `json:"commit"`
	Base    string `json:"base"`
	// CommitTime is the time of the commit in seconds since 1970.
	CommitTime int64 `json:"commit_time"`
	// Filters is a hash of all that decides which files are sent, except for the commits.
	Filters string `json:"filters"`
}

// manifest counts the lines of a manifest while the archive is read. It reads at the same time, because git sluice waits
// for a reader that reads one of the two later.
type manifest struct {
	header Header
	source *os.File
	done   chan struct{}

	// The rest belongs to the goroutine until done is closed.
	entries  int
	hasEnded bool
	err      error
}

// readManifest reads the header and starts to read the other lines. It never returns nil.
func readManifest(source *os.File) (*manifest, error) {
	m := &manifest{source: source, done: make(chan struct{})}
	lines := bufio.NewReaderSize(source, 64<<10)
	first, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, &m.header)
	}
	if err == nil && m.header.Version != 1 {
		err = fmt.Errorf("git sluice: the manifest has version %d", m.header.Version)
	}
	if err != nil {
		close(m.done)
		return m, err
	}
	go m.count(lines)
	return m, nil
}

// count reads all lines after the header.
func (m *manifest) count(lines *bufio.Reader) {
	defer close(m.done)
	for m.err == nil {
		var line []byte
		if line, m.err = lines.ReadBytes('\n'); m.err == nil {
			m.add(line)
		}
	}
	if m.err == io.EOF {
		m.err = nil
	}
}

// add counts a line if the archive has an entry for it. A path cannot look like these fields, because its quotes are
// escaped.
func (m *manifest) add(line []byte) {
	m.hasEnded = bytes.HasPrefix(line, []byte(`{"end":true`))
	isEntry := bytes.Contains(line, []byte(`,"disposition":"`))
	isOmitted := bytes.Contains(line, []byte(`,"disposition":"omitted"`))
	if isEntry && !isOmitted {
		m.entries++
	}
}

// finish waits for the last line, or stops at once if the caller does not want to wait. It returns the number of entries
// that the archive must have.
func (m *manifest) finish(wait bool) (int, error) {
	if !wait {
		m.source.Close()
	}
	<-m.done
	m.source.Close()
	if m.err == nil && !m.hasEnded {
		m.err = errors.New("git sluice: the manifest has no end")
	}
	return m.entries, m.err
}
