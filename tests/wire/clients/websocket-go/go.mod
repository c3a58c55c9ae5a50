module websocket-clients

go 1.19

require (
	github.com/coder/websocket v1.8.12
	github.com/gorilla/websocket v1.5.3
)
