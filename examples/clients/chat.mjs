// A client in JavaScript for examples/websocket_chat.c: says the lines it reads, and prints what is said. It leaves at the end of its input.
//
//     node --experimental-websocket examples/clients/chat.mjs ws://127.0.0.1:8080/chat/kitchen ada
//
// Needs Node 20.10 (Debian 12 has 18), where from 22 on WebSocket is there without the option, and nothing else.
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
  process.stdin.destroy();  // nothing is waited for any more
};
