// What the theme leaves out for readers who use a keyboard or listen to the page.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("p.caption[role=heading]").forEach((caption) => caption.setAttribute("aria-level", "2"));
  document.querySelectorAll("aside.sidebar-drawer").forEach((side) => side.setAttribute("aria-label", "Pages"));
  document.querySelectorAll("aside.toc-drawer").forEach((side) => side.setAttribute("aria-label", "On this page"));
  document.querySelectorAll("dt.sig dl").forEach((list) => {
    list.outerHTML = list.outerHTML.replace(/<(\/?)dl/g, "<$1div").replace(/<dd/g, '<div class="parameter"').replace(/<\/dd/g, "</div");
  });
  document.querySelectorAll("pre, .table-wrapper, .formula, .output > div").forEach((box) => box.setAttribute("tabindex", "0"));
});
