// server.mjs SITE WORKERS: the server on Node's http module that `./dev bench http` compares with. With several workers the cluster
// module shares the port between as many processes. Files are streamed, as the module's documentation shows it.
import cluster from "node:cluster";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";

const [site, workers] = [process.argv[2], Number(process.argv[3])];
const text = Buffer.from("Hello, world\n");

function send(response, type, body) {
  response.writeHead(200, { "Content-Type": type, "Content-Length": body.length });
  response.end(body);
}

function echo(request, response) {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => send(response, "application/octet-stream", Buffer.concat(pieces)));
}

async function sendFile(path, response) {
  const name = join(site, normalize(path));
  try {
    const status = await stat(name);
    if (!status.isFile()) throw new Error("not a file");
    response.writeHead(200, { "Content-Type": "text/plain", "Content-Length": status.size });
    createReadStream(name).on("error", () => response.destroy()).pipe(response);
  } catch {
    response.writeHead(404, { "Content-Length": 0 });
    response.end();
  }
}

function answer(request, response) {
  if (request.method === "POST") echo(request, response);
  else if (request.url === "/memory") send(response, "text/plain", text);
  else if (request.url === "/json")
    send(response, "application/json", Buffer.from(JSON.stringify({ message: "Hello, world" })));
  else sendFile(request.url, response);
}

if (workers > 1 && cluster.isPrimary) {
  let listening = 0;
  cluster.on("listening", (_, { port }) => {
    listening += 1;
    if (listening === workers) console.log(`listening on http://127.0.0.1:${port}/`);
  });
  for (let i = 0; i < workers; i++) cluster.fork();
} else {
  const server = createServer(answer);
  server.keepAliveTimeout = 75_000;
  server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => {
    if (workers === 1) console.log(`listening on http://127.0.0.1:${server.address().port}/`);
  });
}
