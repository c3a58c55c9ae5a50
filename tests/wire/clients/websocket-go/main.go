// Talks to wire_server by WebSocket as Go programs do: with gorilla/websocket and coder/websocket. Usage: client PORT. Prints "ok" when
// everything was as it should be.
package main

import (
	"bytes"
	"fmt"
	"log"
	"math/rand"
	"os"
	"strings"
)

var base string

const big = 16 << 20

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func expect(what string, got, want interface{}) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		log.Output(2, fmt.Sprintf("%s: got %.200v, want %.200v", what, got, want))
		os.Exit(1)
	}
}

// samples are the messages that everybody sends: of every form of length, compressible and not.
func samples() [][]byte {
	random := make([]byte, big)
	rand.New(rand.NewSource(1)).Read(random)
	all := [][]byte{{}, []byte("a"), []byte("größer 😀"), random}
	for _, size := range []int{125, 126, 65535, 65536, big} {
		all = append(all, []byte(strings.Repeat("words, ", size/7+1))[:size])
	}
	return all
}

func expectBytes(what string, got, want []byte) {
	if !bytes.Equal(got, want) {
		log.Output(2, fmt.Sprintf("%s: %d bytes, %d of %d are the same", what, len(got), len(want), len(want)))
		os.Exit(1)
	}
}

func main() {
	log.SetFlags(log.Lshortfile)
	base = "ws://127.0.0.1:" + os.Args[1] + "/ws"
	withGorilla()
	withCoder()
	fmt.Println("ok")
}
