// A client in JavaScript for examples/websocket_echo.c: sends each line it reads, and prints what comes back.
//
//     printf 'hello\n' | node --experimental-websocket examples/clients/echo.mjs ws://127.0.0.1:8080/echo
//
// Needs Node 20.10 (Debian 12 has 18), where from 22 on WebSocket is there without the option, and nothing else.
import readline from 'node:readline';

const socket = new WebSocket(process.argv[2] ?? 'ws://127.0.0.1:8080/echo');
let waiting = 0, ended = false;

function leave() {
  if (ended && waiting === 0)
    socket.close(1000);
}

socket.onopen = () => {
  const lines = readline.createInterface({input: process.stdin});
  lines.on('line', line => {
    socket.send(line);
    waiting++;
  });
  lines.on('close', () => {
    ended = true;
    leave();
  });
};
socket.onmessage = event => {
  console.log(event.data);
  waiting--;
  leave();
};
socket.onclose = event => {
  process.exitCode = event.code === 1000 ? 0 : 1;
  process.stdin.destroy();  // nothing is waited for any more
};
