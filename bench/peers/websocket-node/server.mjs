// server.mjs: the server on ws that `./dev bench ws` compares with, with the native masking that its documentation recommends. /topic sends
// to all others, every other path sends back. WEBSOCKET_PEERS is the folder that has ws installed.
import { createRequire } from 'node:module';

const { WebSocketServer, WebSocket } = createRequire(`${process.env.WEBSOCKET_PEERS}/package.json`)('ws');
const subscribers = new Set();
const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    backlog: 4096,
    clientTracking: false,
    // Each message stands alone, as with the example of its documentation; small ones are compressed, too.
    perMessageDeflate: { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 0 },
});

function publish(from, data, isBinary) {
    for (const socket of subscribers) {
        if (socket !== from && socket.readyState === WebSocket.OPEN) {
            socket.send(data, { binary: isBinary });
        }
    }
}

server.on('connection', (socket, request) => {
    socket.on('error', () => {});
    if (request.url === '/topic') {
        subscribers.add(socket);
        socket.on('close', () => subscribers.delete(socket));
        socket.on('message', (data, isBinary) => publish(socket, data, isBinary));
    } else {
        socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    }
});
server.on('listening', () => console.log(`listening on http://127.0.0.1:${server.address().port}/`));
