module websocket-go

go 1.23

require (
	github.com/coder/websocket v1.8.15
	github.com/gorilla/websocket v1.5.3
)
