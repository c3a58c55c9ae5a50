/* Scrolls the navigation to the page that is shown. */
addEventListener("DOMContentLoaded", () => {
    const sidebar = document.querySelector(".sidebar-scroll");
    const current = sidebar && sidebar.querySelector(".current-page");
    if (current) sidebar.scrollTop += current.getBoundingClientRect().top - sidebar.clientHeight / 2;
});
