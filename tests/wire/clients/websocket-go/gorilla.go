package main

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

func gorillaDial(path string, compression bool, header http.Header) *websocket.Conn {
	dialer := websocket.Dialer{EnableCompression: compression, Subprotocols: []string{"chat.v1", "chat.v2"}}
	connection, _, err := dialer.Dial(base+path, header)
	check(err)
	return connection
}

func gorillaEcho(connection *websocket.Conn, kind int, data []byte) {
	check(connection.WriteMessage(kind, data))
	gorillaExpect(connection, kind, data)
}

func gorillaExpect(connection *websocket.Conn, kind int, data []byte) {
	gotKind, got, err := connection.ReadMessage()
	check(err)
	expect("kind", gotKind, kind)
	expectBytes("message", got, data)
}

func gorillaEnd(connection *websocket.Conn, code int, text string) {
	check(connection.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, text)))
	gorillaClosed(connection, code, "")
}

func gorillaClosed(connection *websocket.Conn, code int, text string) {
	_, _, err := connection.ReadMessage()
	closed, ok := err.(*websocket.CloseError)
	expect("closed in order", ok, true)
	expect("code", closed.Code, code)
	expect("reason", closed.Text, text)
	connection.Close()
}

func gorillaMessages(path string, compression bool) {
	connection := gorillaDial(path, compression, nil)
	for _, data := range samples() {
		gorillaEcho(connection, websocket.BinaryMessage, data)
		if utf8.Valid(data) {
			gorillaEcho(connection, websocket.TextMessage, data)
		}
	}
	for i := 0; i < 300; i++ {
		check(connection.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("again ", i))))
	}
	for i := 0; i < 300; i++ {
		gorillaExpect(connection, websocket.TextMessage, []byte(strings.Repeat("again ", i)))
	}
	// A message in fragments: the writer sends one whenever its buffer is full.
	writer, err := connection.NextWriter(websocket.TextMessage)
	check(err)
	for i := 0; i < 3000; i++ {
		_, err = writer.Write([]byte("a piece of it, "))
		check(err)
	}
	check(writer.Close())
	gorillaExpect(connection, websocket.TextMessage, []byte(strings.Repeat("a piece of it, ", 3000)))
	gorillaEnd(connection, websocket.CloseNormalClosure, "done")
}

func withGorilla() {
	for _, path := range []string{"/echo", "/echo-deflate", "/echo-dedicated"} {
		gorillaMessages(path, true)
		gorillaMessages(path, false)
	}
	connection := gorillaDial("/protocols", false, nil)
	expect("subprotocol", connection.Subprotocol(), "chat.v2")
	pongs, pings := "", ""
	connection.SetPongHandler(func(text string) error { pongs += text; return nil })
	connection.SetPingHandler(func(text string) error {
		pings += text
		return connection.WriteMessage(websocket.PongMessage, []byte(text))
	})
	check(connection.WriteMessage(websocket.PingMessage, []byte("there?")))
	check(connection.WriteMessage(websocket.TextMessage, []byte("!ping and you?")))
	gorillaEcho(connection, websocket.TextMessage, []byte("behind both"))
	expect("pong", pongs, "there?")
	expect("ping", pings, "and you?")
	gorillaEnd(connection, 3001, "größe")

	connection = gorillaDial("/echo", false, nil)
	check(connection.WriteMessage(websocket.TextMessage, []byte("!close 4000 from the server")))
	gorillaClosed(connection, 4000, "from the server")
	connection = gorillaDial("/small", false, nil)
	check(connection.WriteMessage(websocket.TextMessage, make([]byte, 2000)))
	_, _, err := connection.ReadMessage()
	expect("too big", websocket.IsCloseError(err, websocket.CloseMessageTooBig), true)
	connection.Close()
	connection = gorillaDial("/admit", false, http.Header{"X-User": {"anna"}})
	gorillaEnd(connection, 1000, "")
	_, response, err := websocket.DefaultDialer.Dial(base+"/admit", nil)
	expect("refused", err, websocket.ErrBadHandshake)
	expect("status", response.StatusCode, 403)
}
