/* Scrolls the navigation to the page that is shown; its height is known when the styles are. */
addEventListener("load", () => {
    const sidebar = document.querySelector(".sidebar-scroll");
    const current = sidebar && sidebar.querySelector(".current-page");
    if (!current) return;
    const top = current.getBoundingClientRect().top - sidebar.clientHeight / 2;
    sidebar.scrollTo({ top: top, behavior: "instant" });
});
