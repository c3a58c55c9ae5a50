// An independent implementation of ranges and conditional requests: serves the files of a directory
// by http.ServeContent, with given entity tags. Usage: oracle DIRECTORY; standard input has a line
// "NAME TAG" for each file, and its end ends the program. Prints its port. Standard library only.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	tags := map[string]string{}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			log.Fatal(err)
		}
		name, tag, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !found { // an empty line ends the table
			break
		}
		tags[name] = tag
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		file, err := os.Open(filepath.Join(os.Args[1], name))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer file.Close()
		facts, err := file.Stat()
		if err != nil {
			log.Fatal(err)
		}
		w.Header().Set("Etag", tags[name])
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, name, facts.ModTime(), file)
	}))
	io.Copy(io.Discard, input)
}
