// A client in JavaScript for examples/websocket_echo.c: sends each line it reads, and prints the responses.
//
//     printf 'hello\n' | node --experimental-websocket examples/clients/echo.mjs ws://127.0.0.1:8080/echo
//
// It needs Node 20.10 (Debian 12 has 18). Since Node 22 WebSocket works without the option.
import readline from 'node:readline';

const socket = new WebSocket(process.argv[2] ?? 'ws://127.0.0.1:8080/echo');
let pending = 0, ended = false;

function closeWhenDone() {
  if (ended && pending === 0)
    socket.close(1000);
}

socket.onopen = () => {
  const lines = readline.createInterface({input: process.stdin});
  lines.on('line', line => {
    socket.send(line);
    pending++;
  });
  lines.on('close', () => {
    ended = true;
    closeWhenDone();
  });
};
socket.onmessage = event => {
  console.log(event.data);
  pending--;
  closeWhenDone();
};
socket.onclose = event => {
  process.exitCode = event.code === 1000 ? 0 : 1;
  process.stdin.destroy();  // otherwise the process waits for input
};
