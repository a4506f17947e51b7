// Extracts a tar or a zip into the working directory by Go's standard library.
package main

import (
	"archive/tar"
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func must(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func writeFile(name string, mode os.FileMode, content io.Reader) {
	must(os.MkdirAll(filepath.Dir(name), 0o755))
	_ = os.Remove(name)
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm())
	must(err)
	_, err = io.Copy(file, content)
	must(err)
	must(file.Close())
}

func writeLink(name string, create func() error) {
	must(os.MkdirAll(filepath.Dir(name), 0o755))
	_ = os.Remove(name)
	must(create())
}

func extractTar(archive string) {
	file, err := os.Open(archive)
	must(err)
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return
		}
		must(err)
		switch header.Typeflag {
		case tar.TypeDir:
			must(os.MkdirAll(header.Name, 0o755))
		case tar.TypeSymlink:
			writeLink(header.Name, func() error { return os.Symlink(header.Linkname, header.Name) })
		case tar.TypeLink:
			writeLink(header.Name, func() error { return os.Link(header.Linkname, header.Name) })
		case tar.TypeReg, tar.TypeGNUSparse:
			writeFile(header.Name, header.FileInfo().Mode(), reader)
		}
	}
}

func extractZip(archive string) {
	reader, err := zip.OpenReader(archive)
	must(err)
	for _, entry := range reader.File {
		content, err := entry.Open()
		must(err)
		switch mode := entry.Mode(); {
		case mode.IsDir():
			must(os.MkdirAll(entry.Name, 0o755))
		case mode&os.ModeSymlink != 0:
			target, err := io.ReadAll(content)
			must(err)
			writeLink(entry.Name, func() error { return os.Symlink(string(target), entry.Name) })
		default:
			writeFile(entry.Name, mode, content)
		}
		must(content.Close())
	}
}

func main() {
	if archive := os.Args[1]; strings.HasSuffix(archive, ".zip") {
		extractZip(archive)
	} else {
		extractTar(archive)
	}
}
