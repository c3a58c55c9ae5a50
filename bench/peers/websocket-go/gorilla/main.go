// gorilla: a server on gorilla/websocket, for `./dev bench ws`. /topic sends each message to all
// other connections, as a prepared message and by one goroutine for each connection. Other paths
// echo.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/gorilla/websocket"
)

const queueSize = 1024

var upgrader = websocket.Upgrader{EnableCompression: true}

var news = struct {
	sync.RWMutex
	queues map[*websocket.Conn]chan *websocket.PreparedMessage
}{queues: map[*websocket.Conn]chan *websocket.PreparedMessage{}}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gorilla:", err)
		os.Exit(1)
	}
}

func echo(writer http.ResponseWriter, request *http.Request) {
	socket, err := upgrader.Upgrade(writer, request, nil)
	if err != nil {
		return
	}
	defer socket.Close()
	for {
		kind, data, err := socket.ReadMessage()
		if err != nil || socket.WriteMessage(kind, data) != nil {
			return
		}
	}
}

func publish(from *websocket.Conn, kind int, data []byte) {
	message, err := websocket.NewPreparedMessage(kind, data)
	if err != nil {
		return
	}
	news.RLock()
	defer news.RUnlock()
	for socket, queue := range news.queues {
		if socket != from {
			queue <- message
		}
	}
}

func subscribe(writer http.ResponseWriter, request *http.Request) {
	socket, err := upgrader.Upgrade(writer, request, nil)
	if err != nil {
		return
	}
	queue := make(chan *websocket.PreparedMessage, queueSize)
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
		defer socket.Close()
		for message := range queue {
			// After a failure the queue is drained, so that publishers do not block.
			if socket.WritePreparedMessage(message) != nil {
				socket.Close()
			}
		}
	}()
	for {
		kind, data, err := socket.ReadMessage()
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
