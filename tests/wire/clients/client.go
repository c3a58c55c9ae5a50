// A client of wire_server with net/http: connection pool, streamed uploads, trailers and
// Expect: 100-continue. Usage: client URL, without a path. Prints "ok" after success. Standard
// library only.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"
)

var base string

func pattern(size int) []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(i % 251)
	}
	return bytes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// fetch sends one request. It returns the response, its body, and whether the connection was reused.
func fetch(client *http.Client, request *http.Request) (*http.Response, []byte, bool) {
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	response, err := client.Do(request.WithContext(httptrace.WithClientTrace(context.Background(), trace)))
	check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err)
	return response, body, reused
}

func newRequest(method, path string, body io.Reader) *http.Request {
	request, err := http.NewRequest(method, base+path, body)
	check(err)
	return request
}

func expect(what string, got, want interface{}) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		log.Fatalf("%s: got %.200v, want %.200v", what, got, want)
	}
}

func keepAlive(client *http.Client) {
	fetch(client, newRequest("GET", "/hello", nil))
	for i := 0; i < 100; i++ {
		_, body, reused := fetch(client, newRequest("GET", fmt.Sprintf("/users/%d", i), nil))
		expect("body", string(body), fmt.Sprintf("user id=[%d]", i))
		expect("connection used again", reused, true)
	}
	_, _, _ = fetch(client, newRequest("GET", "/close-after", nil))
	_, _, reused := fetch(client, newRequest("GET", "/hello", nil))
	expect("connection used after it was closed", reused, false)
}

func pool(client *http.Client) {
	var all sync.WaitGroup
	for worker := 0; worker < 20; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for i := 0; i < 50; i++ {
				size := (worker*50 + i) * 37
				_, body, _ := fetch(client, newRequest("POST", "/echo", bytes.NewReader(pattern(size))))
				if !bytes.Equal(body, pattern(size)) {
					log.Fatalf("worker %d: %d bytes came back as %d", worker, size, len(body))
				}
			}
		}(worker)
	}
	all.Wait()
}

func bodies(client *http.Client) {
	_, body, _ := fetch(client, newRequest("GET", "/large?size=9000000", nil))
	expect("large body is right", bytes.Equal(body, pattern(9000000)), true)

	// A reader of unknown length is sent in chunked coding.
	_, body, _ = fetch(client, newRequest("POST", "/echo", io.MultiReader(bytes.NewReader(pattern(70000)), strings.NewReader("end"))))
	expect("streamed body is right", bytes.Equal(body, append(pattern(70000), "end"...)), true)

	request := newRequest("POST", "/trailer", io.MultiReader(strings.NewReader("abc")))
	request.Trailer = http.Header{"X-Check": {"behind"}}
	_, body, _ = fetch(client, request)
	expect("trailer", string(body), "header=- trailer=behind body=3\n")

	response, body, _ := fetch(client, newRequest("HEAD", "/large?size=1234", nil))
	expect("length of HEAD", response.ContentLength, 1234)
	expect("body of HEAD", len(body), 0)
	response, _, _ = fetch(client, newRequest("GET", "/redirect", nil))
	expect("redirect", response.Request.URL.Path, "/hello")
}

func expectations(client *http.Client) {
	request := newRequest("POST", "/echo", bytes.NewReader(pattern(100000)))
	request.Header.Set("Expect", "100-continue")
	_, body, _ := fetch(client, request)
	expect("body after 100", bytes.Equal(body, pattern(100000)), true)

	// Rejected before the body, which must not be sent.
	sent := &counter{reader: bytes.NewReader(pattern(1000))}
	request = newRequest("POST", "/small-body", sent)
	request.ContentLength = 1000
	request.Header.Set("Expect", "100-continue")
	response, _, _ := fetch(client, request)
	expect("status of a refused body", response.StatusCode, 413)
	expect("bytes sent of a refused body", sent.count, 0)
}

type counter struct {
	reader io.Reader
	count  int
}

func (c *counter) Read(into []byte) (int, error) {
	n, err := c.reader.Read(into)
	c.count += n
	return n, err
}

func main() {
	log.SetFlags(log.Lshortfile)
	base = os.Args[1]
	transport := &http.Transport{MaxIdleConnsPerHost: 50, ExpectContinueTimeout: time.Minute}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	keepAlive(client)
	pool(client)
	bodies(client)
	expectations(client)
	transport.CloseIdleConnections()
	fmt.Println("ok")
}
