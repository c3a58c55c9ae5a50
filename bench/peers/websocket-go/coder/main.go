// coder: the server on coder/websocket that `./dev bench ws` compares with. /topic sends to all others, by a goroutine for each connection;
// every other path sends back.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/coder/websocket"
)

const (
	behind      = 1024
	messageSize = 1 << 20
)

// Each message stands alone; small ones are compressed, too.
var options = websocket.AcceptOptions{CompressionMode: websocket.CompressionNoContextTakeover, CompressionThreshold: 1}

type message struct {
	kind websocket.MessageType
	data []byte
}

var news = struct {
	sync.RWMutex
	queues map[*websocket.Conn]chan message
}{queues: map[*websocket.Conn]chan message{}}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "coder:", err)
		os.Exit(1)
	}
}

func accept(writer http.ResponseWriter, request *http.Request) *websocket.Conn {
	socket, err := websocket.Accept(writer, request, &options)
	if err != nil {
		return nil
	}
	socket.SetReadLimit(messageSize)
	return socket
}

func echo(writer http.ResponseWriter, request *http.Request) {
	socket := accept(writer, request)
	if socket == nil {
		return
	}
	defer socket.CloseNow()
	ctx := context.Background()
	for {
		kind, data, err := socket.Read(ctx)
		if err != nil || socket.Write(ctx, kind, data) != nil {
			return
		}
	}
}

func publish(from *websocket.Conn, kind websocket.MessageType, data []byte) {
	news.RLock()
	defer news.RUnlock()
	for socket, queue := range news.queues {
		if socket != from {
			queue <- message{kind, data}
		}
	}
}

func subscribe(writer http.ResponseWriter, request *http.Request) {
	socket := accept(writer, request)
	if socket == nil {
		return
	}
	ctx := context.Background()
	queue := make(chan message, behind)
	news.Lock()
	news.queues[socket] = queue
	news.Unlock()
	defer func() {
		news.Lock()
		delete(news.queues, socket)
		news.Unlock()
		close(queue)
	}()
	go func() {
		defer socket.CloseNow()
		for one := range queue {
			// After a failure the queue is emptied, so that nobody waits for room in it.
			if socket.Write(ctx, one.kind, one.data) != nil {
				socket.CloseNow()
			}
		}
	}()
	for {
		kind, data, err := socket.Read(ctx)
		if err != nil {
			return
		}
		publish(socket, kind, data)
	}
}

func main() {
	http.HandleFunc("/topic", subscribe)
	http.HandleFunc("/", echo)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Printf("listening on http://%s/\n", listener.Addr())
	fail(http.Serve(listener, nil))
}
