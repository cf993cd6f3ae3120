// A page that is a local file may not fetch others. There the search takes its excerpts from a script.
if (location.protocol === "file:" && location.pathname.endsWith("/search.html")) {
  const texts = new Promise((found) => {
    const script = document.createElement("script");
    script.src = "_static/excerpts.js";
    script.onload = () => found(window.excerpts);
    document.head.append(script);
  });
  window.fetch = (url) => texts.then((all) => ({ text: () => all[url.replace(/^\.\//, "")] }));
}
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
  // The smallest letters of pictures have 11 px, of moving ones 13 px. They are shrunk to 9 px, and moved sideways beyond.
  document.querySelectorAll("article img").forEach((picture) => {
    const least = picture.src.includes("/_animations/") ? 0.7 : 0.85;
    const fit = () => { picture.style.minWidth = `${Math.round(least * picture.naturalWidth)}px`; };
    if (picture.complete) fit(); else picture.addEventListener("load", fit);
    picture.parentElement.classList.add("picture");
  });
  document.querySelectorAll("pre, .picture, .table-wrapper, .formula, .output > div").forEach((box) => box.setAttribute("tabindex", "0"));
});
