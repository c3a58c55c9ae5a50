// A client of wire_server with Node's fetch (connection pool), and with http.Agent and keep-alive.
// Usage: node fetch.mjs URL, without a path. Prints "ok" after success; throws otherwise.
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';

const base = process.argv[2];
const { Agent, request: open } = base.startsWith('https:') ? https : http;

function pattern(size) {
    return Buffer.alloc(size, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));
}

function send(agent, method, path, headers = {}, parts = []) {
    return new Promise((resolve, reject) => {
        const request = open(base + path, { agent, method, headers }, (response) => {
            const chunks = [];
            response.on('data', (chunk) => chunks.push(chunk));
            response.on('end', () => resolve({ status: response.statusCode, headers: response.headers,
                body: Buffer.concat(chunks), reused: request.reusedSocket }));
            response.on('error', reject);
        });
        request.on('error', reject);
        if (headers.Expect) {
            request.on('continue', () => request.end(Buffer.concat(parts)));
            request.flushHeaders();
            return;
        }
        for (const part of parts) request.write(part);
        request.end();
    });
}

async function withFetch() {
    const responses = await Promise.all(Array.from({ length: 200 }, async (_, i) => (await fetch(`${base}/users/${i}`)).text()));
    responses.forEach((response, i) => assert.equal(response, `user id=[${i}]`));

    const big = await fetch(`${base}/large?size=5000000`);
    assert.deepEqual(Buffer.from(await big.arrayBuffer()), pattern(5000000));

    const echo = await fetch(`${base}/echo`, { method: 'POST', body: pattern(300000) });
    assert.deepEqual(Buffer.from(await echo.arrayBuffer()), pattern(300000));

    const stream = new ReadableStream({
        start(controller) {
            for (let i = 0; i < 20; i++) controller.enqueue(new Uint8Array(pattern(10000)));
            controller.close();
        },
    });
    const streamed = await fetch(`${base}/digest`, { method: 'PUT', body: stream, duplex: 'half' });
    assert.match(await streamed.text(), /^200000 /);

    const redirected = await fetch(`${base}/redirect`);
    assert.equal(redirected.status, 200);
    assert.equal(redirected.redirected, true);
    assert.equal((await fetch(`${base}/none`)).status, 404);
    assert.equal((await fetch(`${base}/hello`, { method: 'HEAD' })).headers.get('content-length'), '13');
    assert.equal((await fetch(`${base}/status/204`)).status, 204);
}

async function withAgent() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal((await send(agent, 'GET', '/hello')).reused, false);
    for (let i = 0; i < 50; i++) {
        const response = await send(agent, 'GET', `/users/${i}`);
        assert.equal(response.body.toString(), `user id=[${i}]`);
        assert.equal(response.reused, true, 'the connection should be reused');
    }
    const chunked = await send(agent, 'POST', '/echo', {}, [pattern(1000), pattern(70000)]);
    assert.deepEqual(chunked.body, Buffer.concat([pattern(1000), pattern(70000)]));
    const waited = await send(agent, 'POST', '/echo', { Expect: '100-continue', 'Content-Length': 1000 }, [pattern(1000)]);
    assert.deepEqual(waited.body, pattern(1000));
    const cookies = await send(agent, 'GET', '/cookies');
    assert.deepEqual(cookies.headers['set-cookie'], ['a=1; Path=/', 'b=2; Path=/']);
    const last = await send(agent, 'GET', '/close-after');
    assert.equal(last.headers.connection, 'close');
    assert.equal((await send(agent, 'GET', '/hello')).reused, false);
    agent.destroy();
}

await withFetch();
await withAgent();
console.log('ok');
process.exit(0);
