// The commands on the page get the address that the page has.
for (const code of document.querySelectorAll("pre code"))
  for (const node of code.childNodes)
    if (node.nodeType === Node.TEXT_NODE)
      node.data = node.data.replaceAll("http://127.0.0.1:8080", location.origin);
