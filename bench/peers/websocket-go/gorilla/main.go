// gorilla: the server on gorilla/websocket that `./dev bench ws` compares with. /topic sends to all others, as prepared messages and by a
// goroutine for each connection; every other path sends back.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/gorilla/websocket"
)

const behind = 1024

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
	queue := make(chan *websocket.PreparedMessage, behind)
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
			// After a failure the queue is emptied, so that nobody waits for room in it.
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
