package main

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

func coderDial(path string, mode websocket.CompressionMode) *websocket.Conn {
	connection, _, err := websocket.Dial(background(), base+path, &websocket.DialOptions{
		CompressionMode: mode, CompressionThreshold: 1, Subprotocols: []string{"chat.v1", "chat.v2"},
		HTTPHeader: http.Header{"X-User": {"bert"}}})
	check(err)
	connection.SetReadLimit(2 * big)
	return connection
}

// Ends a test that hangs.
func background() context.Context {
	waiting, _ := context.WithTimeout(context.Background(), 2*time.Minute)
	return waiting
}

func coderEcho(connection *websocket.Conn, kind websocket.MessageType, data []byte) {
	check(connection.Write(background(), kind, data))
	coderExpect(connection, kind, data)
}

func coderExpect(connection *websocket.Conn, kind websocket.MessageType, data []byte) {
	gotKind, got, err := connection.Read(background())
	check(err)
	expect("kind", gotKind, kind)
	expectBytes("message", got, data)
}

func coderMessages(path string, mode websocket.CompressionMode) {
	connection := coderDial(path, mode)
	for _, data := range samples() {
		coderEcho(connection, websocket.MessageBinary, data)
		if utf8.Valid(data) {
			coderEcho(connection, websocket.MessageText, data)
		}
	}
	writer, err := connection.Writer(background(), websocket.MessageText)
	check(err)
	for i := 0; i < 300; i++ {
		_, err = writer.Write([]byte(strings.Repeat("a piece of it, ", 100)))
		check(err)
	}
	check(writer.Close())
	coderExpect(connection, websocket.MessageText, []byte(strings.Repeat("a piece of it, ", 30000)))
	check(connection.Close(websocket.StatusNormalClosure, "done"))
}

func withCoder() {
	for _, path := range []string{"/echo", "/echo-deflate", "/echo-dedicated"} {
		for _, mode := range []websocket.CompressionMode{websocket.CompressionDisabled, websocket.CompressionContextTakeover,
			websocket.CompressionNoContextTakeover} {
			coderMessages(path, mode)
		}
	}
	connection := coderDial("/protocols", websocket.CompressionDisabled)
	expect("subprotocol", connection.Subprotocol(), "chat.v2")
	// Pongs are seen by whoever reads.
	reading := connection.CloseRead(background())
	for i := 0; i < 10; i++ {
		check(connection.Ping(reading))
	}
	check(connection.Close(3001, "größe"))

	connection = coderDial("/admit", websocket.CompressionDisabled)
	coderEcho(connection, websocket.MessageText, []byte("hello"))
	check(connection.Write(background(), websocket.MessageText, []byte("!close 4000 from the server")))
	_, _, err := connection.Read(background())
	expect("code", int(websocket.CloseStatus(err)), 4000)
	connection = coderDial("/small", websocket.CompressionDisabled)
	check(connection.Write(background(), websocket.MessageText, make([]byte, 2000)))
	_, _, err = connection.Read(background())
	expect("too big", websocket.CloseStatus(err), websocket.StatusMessageTooBig)
}
