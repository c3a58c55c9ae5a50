// A client of wire_server with Node's http2. Usage: node http2.mjs URL, without a path; https: the
// authority is in NODE_EXTRA_CA_CERTS. Prints "ok" after success; throws otherwise.
import assert from 'node:assert/strict';
import http2 from 'node:http2';

const session = http2.connect(process.argv[2]);

function pattern(size) {
    return Buffer.alloc(size, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));
}

function send(headers, body) {
    return new Promise((resolve, reject) => {
        const stream = session.request(headers, { endStream: body === undefined });
        const result = { body: [] };
        stream.on('response', (fields) => { result.fields = fields; });
        stream.on('trailers', (fields) => { result.trailers = fields; });
        stream.on('headers', (fields) => { result.interim = fields; });
        stream.on('data', (chunk) => result.body.push(chunk));
        stream.on('end', () => resolve({ ...result, body: Buffer.concat(result.body) }));
        stream.on('error', reject);
        if (body !== undefined) stream.end(body);
    });
}

const users = await Promise.all(Array.from({ length: 90 }, (_, i) => send({ ':path': `/users/${i}` })));
users.forEach((response, i) => assert.equal(response.body.toString(), `user id=[${i}]`));

const big = await send({ ':path': '/large?size=5000000' });
assert.deepEqual(big.body, pattern(5000000));

const echo = await send({ ':method': 'POST', ':path': '/echo' }, pattern(300000));
assert.deepEqual(echo.body, pattern(300000));

const both = await Promise.all(Array.from({ length: 10 }, (_, i) => send({ ':method': 'PUT', ':path': '/echo' }, pattern(50000 + i))));
both.forEach((response, i) => assert.deepEqual(response.body, pattern(50000 + i)));

const head = await send({ ':method': 'HEAD', ':path': '/hello' });
assert.equal(head.fields['content-length'], '13');
assert.equal((await send({ ':path': '/none' })).fields[':status'], 404);
assert.deepEqual((await send({ ':path': '/cookies' })).fields['set-cookie'], ['a=1; Path=/', 'b=2; Path=/']);
assert.equal((await send({ ':path': '/early-hints' })).interim[':status'], 103);
assert.ok((await send({ ':path': '/trailers-out', te: 'trailers' })).trailers);
assert.equal(session.remoteSettings.enablePush, false);

await new Promise((resolve) => session.ping((error) => { assert.equal(error, null); resolve(); }));
session.close(() => { console.log('ok'); process.exit(0); });
