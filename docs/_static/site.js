// What the theme leaves out for readers who use a keyboard or listen to the page.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("p.caption[role=heading]").forEach((caption) => caption.setAttribute("aria-level", "2"));
  document.querySelectorAll("aside.sidebar-drawer").forEach((side) => side.setAttribute("aria-label", "Pages"));
  document.querySelectorAll("aside.toc-drawer").forEach((side) => side.setAttribute("aria-label", "On this page"));
  document.querySelectorAll("dt.sig dl").forEach((list) => {
    list.outerHTML = list.outerHTML.replace(/<(\/?)dl/g, "<$1div").replace(/<dd/g, '<div class="parameter"').replace(/<\/dd/g, "</div");
  });
  document.querySelectorAll("div.highlight > pre").forEach((code) => {
    const button = document.createElement("button");
    const text = code.textContent;
    button.className = "copy";
    button.textContent = "Copy";
    button.onclick = () => navigator.clipboard.writeText(text).then(
      () => { button.textContent = "Copied"; }, () => { button.textContent = "Copying is not allowed here"; });
    code.parentElement.append(button);
  });
  document.querySelectorAll("pre, .table-wrapper, .formula, .output > div").forEach((box) => box.setAttribute("tabindex", "0"));
});
