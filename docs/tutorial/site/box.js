"use strict";

const at = (id) => document.getElementById(id);

async function show() {
    const response = await fetch("/files");
    at("login").hidden = response.ok;
    at("box").hidden = !response.ok;
    if (!response.ok) return;
    const { user, files } = await response.json();
    at("user").textContent = user;
    at("files").replaceChildren(...files.map(({ name, size }) => {
        const item = document.createElement("li"), link = document.createElement("a");
        link.href = "/files/" + encodeURIComponent(name);
        link.textContent = name;
        item.append(link, ` (${size} bytes)`);
        return item;
    }));
}

at("file").addEventListener("change", async () => {
    const [file] = at("file").files;
    at("progress").hidden = false;
    const response = await fetch("/files/" + encodeURIComponent(file.name), { method: "PUT", body: file });
    at("progress").hidden = true;
    at("result").textContent = await response.text();
    await show();
});

at("logout").addEventListener("click", async () => {
    await fetch("/logout", { method: "POST" });
    await show();
});

show();
