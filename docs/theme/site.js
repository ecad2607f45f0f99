// Make what scrolls reachable by keyboard, and name the parts of the page for screen readers.
function name() {
  for (const each of document.querySelectorAll("pre, .table-wrapper")) {
    each.tabIndex = each.scrollWidth > each.clientWidth ? 0 : -1;
  }
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelectorAll(".caption[role=heading]").forEach((each) => each.setAttribute("aria-level", "2"));
}
addEventListener("DOMContentLoaded", () => {
  name();
  document.querySelector("#search-results")?.insertAdjacentHTML("beforebegin", "<h1>Search</h1>");
});
addEventListener("resize", name);
