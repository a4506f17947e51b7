package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Header is the first line of a manifest.
type Header struct {
	Version int `json:"manifest"`
	// Filters is a hash of all that decides which files are sent, except for the commits.
	Filters string `json:"filters"`
}

// File is a file that an archive has, or one that it deletes.
type File struct {
	Path string `json:"path"`
	// Status is A for an added file, M for a modified one, T for one with another type than in the base, and D for one that
	// the base had and the target lacks. It is empty in a full archive.
	Status string `json:"status"`
	// Blob is the ID of the object that git stores for this file. It is empty for a deleted file.
	Blob string `json:"id"`
	// Reason is the reason why there is no content: too-large, binary or missing. A list leaves binary to the content.
	Reason string `json:"reason"`
}

// List passes the files of a request to visit, without reading their content, and returns the header. The list is complete
// unless there is an error. Warnings are dropped, because the archive repeats them.
func List(request Request, visit func(File)) (Header, error) {
	process := request.command("ls", "--json")
	var messages bytes.Buffer
	process.Stderr = &messages
	output, err := process.StdoutPipe()
	if err != nil {
		return Header{}, err
	}
	if err := process.Start(); err != nil {
		return Header{}, err
	}
	lines := bufio.NewReaderSize(output, 64<<10)
	header, err := readHeader(lines)
	if err == nil {
		err = readLines(lines, func(line *line) {
			if line.isFile() {
				visit(line.File)
			}
		})
	}
	output.Close()
	if exit := wait(process, &messages); exit != nil {
		return header, exit
	}
	return header, err
}

func readHeader(lines *bufio.Reader) (header Header, err error) {
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return header, errors.New("git sluice: the manifest has no header")
	}
	err = json.Unmarshal(first, &header)
	if err == nil && header.Version != 1 {
		err = fmt.Errorf("git sluice: the manifest has version %d", header.Version)
	}
	return header, err
}

// line is any line of a manifest except for the first one.
type line struct {
	File
	// PathBytes is the path if it is not UTF-8.
	PathBytes   []byte `json:"path_base64"`
	Disposition string `json:"disposition"`
	End         bool   `json:"end"`
}

// isEntry reports whether the archive has an entry for the line. Deleted files have no disposition.
func (l *line) isEntry() bool { return l.Disposition != "" && l.Disposition != "omitted" }

// isFile reports whether the line is about a file. The paths of directories end in a slash. A file with another type than in
// the base has two lines, since the old one is deleted first.
func (l *line) isFile() bool {
	return (l.isEntry() || l.Status == "D") && !strings.HasSuffix(l.Path, "/")
}

// readLines passes all lines after the header to visit, and fails unless the last one says that it is the last one.
func readLines(lines *bufio.Reader, visit func(*line)) error {
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return errors.New("git sluice: the manifest has no end")
		}
		if err != nil {
			return err
		}
		var line line
		if err := json.Unmarshal(text, &line); err != nil || line.End {
			return err
		}
		if line.Path == "" {
			line.Path = string(line.PathBytes)
		}
		visit(&line)
	}
}
