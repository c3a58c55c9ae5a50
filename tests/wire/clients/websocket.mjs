// A WebSocket client of wire_server with Node. Usage: node websocket.mjs PORT builtin|ws. Prints
// "ok" after success; throws otherwise. `builtin` is Node's own client, `ws` the package of that
// name, which is in WS_FOLDER.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { randomBytes } from 'node:crypto';

const [port, kind] = process.argv.slice(2);
const base = `ws://127.0.0.1:${port}/ws`;
const ws = kind === 'ws' ? createRequire(`${process.env.WS_FOLDER}/package.json`)('ws') : undefined;
const Client = ws ?? globalThis.WebSocket;

// A connection as promises: opened, the next message, and the close event.
class Connection {
    constructor(path, protocols = [], options = undefined) {
        this.socket = ws ? new Client(base + path, protocols, options) : new Client(base + path, protocols);
        this.socket.binaryType = 'arraybuffer';
        this.messages = [];
        this.waiters = [];
        this.socket.onmessage = (event) => {
            const waiter = this.waiters.shift();
            if (waiter) waiter.resolve(event.data);
            else this.messages.push(event.data);
        };
        this.opened = new Promise((resolve, reject) => {
            this.socket.onopen = () => resolve(this);
            this.socket.onerror = (event) => reject(new Error(event.message ?? 'the handshake failed'));
        });
        this.closed = new Promise((resolve) => {
            this.socket.onclose = (event) => {
                for (const waiter of this.waiters) waiter.reject(new Error(`closed with ${event.code} ${event.reason}`));
                resolve({ code: event.code, reason: event.reason, clean: event.wasClean });
            };
        });
    }

    next() {
        if (this.messages.length > 0) return Promise.resolve(this.messages.shift());
        return new Promise((resolve, reject) => this.waiters.push({ resolve, reject }));
    }

    async echo(data) {
        this.socket.send(data);
        const back = await this.next();
        if (typeof data === 'string') assert.equal(back, data);
        else assert.ok(Buffer.from(back).equals(Buffer.from(data)), `${data.length} bytes are echoed unchanged`);
    }

    async end(code = 1000, reason = 'done') {
        this.socket.close(code, reason);
        assert.deepEqual((await this.closed).code, code);
    }
}

async function messages(path, compressed, options) {
    const connection = await new Connection(path, [], options).opened;
    if (compressed !== undefined) assert.equal(connection.socket.extensions.includes('permessage-deflate'), compressed, connection.socket.extensions);
    for (const text of ['', 'a', 'größer 😀', 'x'.repeat(125), 'x'.repeat(126), 'words, '.repeat(20000)]) await connection.echo(text);
    // Node's own client accepts compressed messages of a few MiB only, and closes the connection otherwise.
    const largest = ws || path === '/echo' ? 16 << 20 : 2 << 20;
    for (const size of [0, 1, 65535, 65536, largest]) await connection.echo(new Uint8Array(size).map((_, i) => i % 251));
    await connection.echo(new Uint8Array(randomBytes(16 << 20)));
    await connection.echo('z'.repeat(largest));
    const many = Array.from({ length: 300 }, (_, i) => `message ${i} `.repeat(i));
    for (const text of many) connection.socket.send(text);
    for (const text of many) assert.equal(await connection.next(), text);
    await connection.end();
}

async function closing() {
    for (const code of [1000, 3000, 4999]) await (await new Connection('/echo').opened).end(code, 'größe');
    const closed = await new Connection('/echo').opened;
    closed.socket.send('!close 4321 goodbye from here');
    assert.deepEqual(await closed.closed, { code: 4321, reason: 'goodbye from here', clean: true });
    const silent = await new Connection('/echo').opened;
    silent.socket.send('!close 0');
    assert.equal((await silent.closed).code, 1005);
    const broken = await new Connection('/echo').opened;
    broken.socket.onerror = () => {};
    broken.socket.send('!abort');
    assert.equal((await broken.closed).code, 1006);
    const large = await new Connection('/small').opened;
    large.socket.onerror = () => {};
    large.socket.send('x'.repeat(2000));
    assert.equal((await large.closed).code, 1009);
}

async function protocols() {
    const connection = await new Connection('/protocols', ['chat.v1', 'chat.v2']).opened;
    assert.equal(connection.socket.protocol, 'chat.v2');
    await connection.end();
    await assert.rejects(new Connection('/protocol-required').opened);
    await assert.rejects(new Connection('/nowhere').opened);
}

// Features of the package only.
async function beyond() {
    const connection = await new Connection('/echo').opened;
    const pong = new Promise((resolve) => connection.socket.once('pong', resolve));
    connection.socket.ping('are you there?');
    assert.equal((await pong).toString(), 'are you there?');
    const ping = new Promise((resolve) => connection.socket.once('ping', resolve));
    connection.socket.send('!ping and you?');
    assert.equal((await ping).toString(), 'and you?');
    for (const [i, piece] of ['one ', 'two ', 'three'].entries()) connection.socket.send(piece, { fin: i === 2 });
    assert.equal(await connection.next(), 'one two three');
    connection.socket.send('!pieces');
    assert.equal(await connection.next(), 'one two three');
    await connection.end();
    const noTakeover = { serverNoContextTakeover: true, clientNoContextTakeover: true };
    const small = { serverMaxWindowBits: 10, clientMaxWindowBits: 11 };
    for (const path of ['/echo-deflate', '/echo-dedicated']) {
        await messages(path, false, { perMessageDeflate: false });
        for (const options of [noTakeover, small]) await messages(path, true, { perMessageDeflate: { threshold: 0, ...options } });
        const pieces = await new Connection(path, [], { perMessageDeflate: { threshold: 0 } }).opened;
        for (const [i, piece] of ['one '.repeat(500), 'two '.repeat(500), 'three'].entries()) pieces.socket.send(piece, { fin: i === 2 });
        assert.equal(await pieces.next(), `${'one '.repeat(500)}${'two '.repeat(500)}three`);
        await pieces.end();
    }
    const admitted = await new Connection('/admit', [], { headers: { 'X-User': 'anna' } }).opened;
    await admitted.echo('hello');
    await admitted.end();
}

await messages('/echo', false);
for (const path of ['/echo-deflate', '/echo-dedicated']) await messages(path, ws ? true : undefined);
await closing();
await protocols();
if (ws) await beyond();
console.log('ok');
