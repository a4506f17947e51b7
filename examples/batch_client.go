// Writes what has changed in repositories since a revision, or all of it: one process answers for all repositories.
//
//	go run batch_client.go <base> <revision> <repository>...
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const noBase, tooManyChanges = 3, 5

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
	process := exec.Command("git-sluice", "--batch")
	requests, answers := must(process.StdinPipe()), must(process.StdoutPipe())
	must(0, process.Start())
	return &batch{requests, bufio.NewReader(answers)}
}

// ask writes the answer to output and returns the exit status.
func (b *batch) ask(output io.Writer, words ...string) (status int) {
	request := ""
	for _, word := range words {
		request += fmt.Sprintf("%04xargument %s", len(word)+13, word)
	}
	must(io.WriteString(b.requests, request+"0000"))
	if agreement := string(b.packet()); agreement != "ACK\n" || b.packet() != nil {
		panic(agreement)
	}
	for packet := b.packet(); packet != nil; packet = b.packet() {
		switch text := packet[1:]; packet[0] {
		case 1:
			must(output.Write(text))
		case 2:
			must(os.Stderr.Write(text))
		default:
			must(fmt.Sscanf(string(text), "status %d", &status))
		}
	}
	return status
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

func main() {
	base, revision, batch := os.Args[1], os.Args[2], start()
	for _, repository := range os.Args[3:] {
		archive := must(os.Create(filepath.Base(repository) + ".tar"))
		status := batch.ask(archive, "-C", repository, "--base="+base, revision)
		if status == noBase || status == tooManyChanges {
			status = batch.ask(archive, "-C", repository, revision)
		}
		must(0, archive.Close())
		fmt.Println(repository, status)
	}
}
