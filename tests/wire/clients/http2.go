// A client of wire_server with net/http and HTTP/2 over TLS: concurrent requests, uploads,
// trailers, expectations, early hints. Usage: http2 URL, without a path; the authority is in
// SSL_CERT_FILE. Prints "ok" after success. Standard library only.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"time"
)

func pattern(size int) []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(i % 251)
	}
	return bytes
}

func expect(what string, got, want interface{}) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		log.Fatalf("%s: got %.200v, want %.200v", what, got, want)
	}
}

func fetch(client *http.Client, request *http.Request) (*http.Response, []byte) {
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	expect("protocol", response.Proto, "HTTP/2.0")
	return response, body
}

func main() {
	log.SetFlags(log.Lshortfile)
	base := os.Args[1]
	transport := &http.Transport{ForceAttemptHTTP2: true, ExpectContinueTimeout: time.Minute}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	request := func(method, path string, body io.Reader) *http.Request {
		made, err := http.NewRequest(method, base+path, body)
		if err != nil {
			log.Fatal(err)
		}
		return made
	}

	var all sync.WaitGroup
	for worker := 0; worker < 20; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for i := 0; i < 50; i++ {
				size := (worker*50 + i) * 37
				_, body := fetch(client, request("POST", "/echo", bytes.NewReader(pattern(size))))
				expect("echo", bytes.Equal(body, pattern(size)), true)
			}
		}(worker)
	}
	all.Wait()

	_, body := fetch(client, request("GET", "/large?size=9000000", nil))
	expect("large body", bytes.Equal(body, pattern(9000000)), true)

	// With such reads the client sends two WINDOW_UPDATE frames for each 4096 bytes.
	response, err := client.Do(request("GET", "/large?size=20000000", nil))
	if err != nil {
		log.Fatal(err)
	}
	count, part := 0, make([]byte, 100)
	for err == nil {
		var size int
		size, err = response.Body.Read(part)
		count += size
	}
	response.Body.Close()
	expect("end of small reads", err, io.EOF)
	expect("bytes in small reads", count, 20000000)

	// A reader of unknown length has no Content-Length.
	_, body = fetch(client, request("POST", "/echo", io.MultiReader(bytes.NewReader(pattern(70000)), strings.NewReader("end"))))
	expect("streamed body", bytes.Equal(body, append(pattern(70000), "end"...)), true)

	withTrailer := request("POST", "/trailer", io.MultiReader(strings.NewReader("abc")))
	withTrailer.Trailer = http.Header{"X-Check": {"after"}}
	_, body = fetch(client, withTrailer)
	expect("trailer", string(body), "header=- trailer=after body=3\n")

	response, body = fetch(client, request("HEAD", "/large?size=1234", nil))
	expect("length of HEAD", response.ContentLength, 1234)
	expect("body of HEAD", len(body), 0)
	response, _ = fetch(client, request("GET", "/trailers-out", nil))
	expect("trailers", len(response.Trailer) > 0, true)

	hints := 0
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		hints++
		return nil
	}}
	fetch(client, request("GET", "/early-hints", nil).WithContext(httptrace.WithClientTrace(context.Background(), trace)))
	expect("early hints", hints > 0, true)

	waiting := request("POST", "/echo", bytes.NewReader(pattern(100000)))
	waiting.Header.Set("Expect", "100-continue")
	_, body = fetch(client, waiting)
	expect("body after 100", bytes.Equal(body, pattern(100000)), true)
	transport.CloseIdleConnections()
	fmt.Println("ok")
}
