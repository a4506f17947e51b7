// Writes what has changed in repositories since a revision, or all of it, and a manifest: one process answers for all.
//
//	go run batch_client.go <base> <revision> <repository>...
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const noBase, tooManyChanges = 3, 5
const archive, messages, status, manifest = 1, 2, 3, 4

type batch struct {
	requests io.Writer
	answers  *bufio.Reader
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func start() *batch {
	process := exec.Command("git-sluice", "batch")
	requests, answers := must(process.StdinPipe()), must(process.StdoutPipe())
	must(0, process.Start())
	return &batch{requests, bufio.NewReader(answers)}
}

// ask writes each band of the answer to its output and returns the exit status.
func (b *batch) ask(outputs map[byte]io.Writer, words ...string) (code int, err error) {
	request := ""
	for _, word := range words {
		request += fmt.Sprintf("%04xargument %s\n", len(word)+14, word)
	}
	must(io.WriteString(b.requests, request+"0000"))
	agreement, _ := string(b.packet()), b.packet() // A flush.
	if agreement != "ACK\n" {
		return 0, errors.New(agreement)
	}
	for packet := b.packet(); packet != nil; packet = b.packet() {
		switch band, content := packet[0], packet[1:]; band {
		case status:
			must(fmt.Sscanf(string(content), "status %d", &code))
		default:
			must(outputs[band].Write(content))
		}
	}
	return code, nil
}

// packet returns the next packet, nil for a flush.
func (b *batch) packet() []byte {
	digits := make([]byte, 4)
	must(io.ReadFull(b.answers, digits))
	size := must(strconv.ParseUint(string(digits), 16, 16))
	if size == 0 {
		return nil
	}
	packet := make([]byte, size-4)
	must(io.ReadFull(b.answers, packet))
	return packet
}

// write writes archive and manifest of a repository to files that get their names when both are complete, and returns
// the exit status.
func (b *batch) write(repository string, words ...string) int {
	name := filepath.Base(repository)
	tar, lines := must(os.Create(name+".tar.part")), must(os.Create(name+".jsonl.part"))
	outputs := map[byte]io.Writer{archive: tar, messages: os.Stderr, manifest: lines}
	code := must(b.ask(outputs, append([]string{"-C", repository, "archive", "--manifest=band:4"}, words...)...))
	must(0, errors.Join(tar.Close(), lines.Close()))
	for _, file := range []string{name + ".tar", name + ".jsonl"} {
		if code == 0 {
			must(0, os.Rename(file+".part", file))
		} else {
			must(0, os.Remove(file+".part"))
		}
	}
	return code
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: batch_client <base> <revision> <repository>...")
		os.Exit(2)
	}
	base, revision, batch := os.Args[1], os.Args[2], start()
	failed := 0
	for _, repository := range os.Args[3:] {
		code := batch.write(repository, "--base="+base, "--max-changed-ratio=0.5", revision)
		if code == noBase || code == tooManyChanges {
			code = batch.write(repository, revision)
		}
		fmt.Println(repository, code)
		if code != 0 {
			failed = 1
		}
	}
	os.Exit(failed)
}
