"use strict";

/* Texts of clients are never HTML. */
function element(name, text) {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
}

async function show() {
    const response = await fetch("api/notes");
    const items = (await response.json()).map((note) => {
        const item = document.createElement("li");
        item.append(element("h2", note.title), element("p", note.text));
        return item;
    });
    document.getElementById("notes").replaceChildren(...items);
}

const events = new EventSource("api/events");
for (const name of ["open", "created", "changed", "deleted"]) {
    events.addEventListener(name, show); /* "open" also after a lost connection */
}
