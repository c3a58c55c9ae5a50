// A client in JavaScript for examples/websocket_chat.c: sends the lines it reads, and prints the messages of the room. It disconnects at the end of its input.
//
//     node --experimental-websocket examples/clients/chat.mjs ws://127.0.0.1:8080/chat/kitchen ada
//
// It needs Node 20.10 (Debian 12 has 18). Since Node 22 WebSocket works without the option.
import readline from 'node:readline';

const [room, nick] = process.argv.slice(2);
const socket = new WebSocket(`${room}?nick=${encodeURIComponent(nick)}`);

socket.onopen = () => {
  const lines = readline.createInterface({input: process.stdin});
  lines.on('line', line => socket.send(line));
  lines.on('close', () => socket.close(1000));
};
socket.onmessage = event => {
  const [verb, name] = event.data.split(' ', 2), rest = event.data.slice(verb.length + name.length + 2);
  console.log(verb === 'said' ? `${name}: ${rest}` : `* ${name} ${verb}, ${rest} here`);
};
socket.onclose = event => {
  if (event.code !== 1000) {
    console.error(`closed with ${event.code} ${event.reason}`);
    process.exitCode = 1;
  }
  process.stdin.destroy();  // otherwise the process waits for input
};
