// main SITE: a server on Go's net/http, for `./dev bench http`. It uses the server, mux and file
// server of the package. GOMAXPROCS sets the number of threads.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

type message struct {
	Message string `json:"message"`
}

var text = []byte("Hello, world\n")

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "net/http:", err)
		os.Exit(1)
	}
}

func sendMemory(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("Content-Type", "text/plain")
	writer.Write(text)
}

func sendJSON(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("Content-Type", "application/json")
	body, _ := json.Marshal(message{"Hello, world"})
	writer.Write(body)
}

func sendEcho(writer http.ResponseWriter, request *http.Request) {
	body := make([]byte, request.ContentLength)
	if _, err := io.ReadFull(request.Body, body); err != nil {
		writer.WriteHeader(http.StatusBadRequest)
		return
	}
	writer.Header().Set("Content-Type", "application/octet-stream")
	writer.Header().Set("Content-Length", fmt.Sprint(len(body)))
	writer.Write(body)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: main SITE")
		os.Exit(2)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/memory", sendMemory)
	mux.HandleFunc("/json", sendJSON)
	mux.HandleFunc("/echo", sendEcho)
	mux.Handle("/", http.FileServer(http.Dir(os.Args[1])))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Printf("listening on http://%s/\n", listener.Addr())
	fail(http.Serve(listener, mux))
}
