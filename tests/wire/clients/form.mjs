// Sends a form with files with Node's fetch and FormData. Usage: node form.mjs URL JSON, where JSON
// is a list of [name, content in base64, file name or null, type or null].
const form = new FormData();
for (const [name, content, filename, type] of JSON.parse(process.argv[3])) {
    const bytes = Buffer.from(content, 'base64');
    if (filename === null) form.append(name, bytes.toString('utf8'));
    else form.append(name, new Blob([bytes], { type: type ?? '' }), filename);
}
const response = await fetch(process.argv[2], { method: 'POST', body: form });
if (response.status !== 200) throw new Error(`status ${response.status}`);
