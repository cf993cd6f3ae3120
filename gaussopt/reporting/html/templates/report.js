// What a report can do where scripts run; everything is readable without it. No request is made, nothing is stored.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const button = (text, label) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    if (label) made.setAttribute("aria-label", label);
    return made;
  };

  const status = document.getElementById("status");
  let silence = 0;
  const say = (text) => {
    status.textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => { status.textContent = ""; }, 4000);
  };

  // -- sorting: numbers first, then words, then what is missing; the third press restores the order of the report

  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const missing = (text) => text === "" || text === "–" || text === "NaN";
  const keyOf = (item, column) => {
    const rows = item.rows ? [...item.rows] : [item];
    const cells = rows.map((row) => row.cells[column]).filter((cell) => cell && cell.textContent.trim() !== "");
    if (!cells.length) return { rank: 2 };
    const [cell] = cells;
    if (missing(cell.dataset.value ?? cell.textContent.trim())) return { rank: 2 };
    if (cell.dataset.value !== undefined) return { rank: 0, value: Number(cell.dataset.value) };
    return { rank: 1, value: cell.dataset.text ?? cell.textContent.trim() };
  };
  const compare = (a, b, sign) => {
    if (a.rank !== b.rank) return a.rank - b.rank;
    if (a.rank === 0) return sign * (a.value === b.value ? 0 : a.value < b.value ? -1 : 1);
    return a.rank === 1 ? sign * words.compare(a.value, b.value) : 0;
  };
  const makeSortable = (table) => {
    // Rows that belong together have a body of their own.
    const grouped = table.tBodies.length > 1;
    const parent = grouped ? table : table.tBodies[0];
    const original = grouped ? [...table.tBodies] : parent ? [...parent.rows] : [];
    if (original.length < 2) return;
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      // Prose has no order that says anything, nor have equal cells.
      if (!head.textContent.trim() || head.classList.contains("p")) return;
      if (new Set(rows.map((row) => row.cells[column]?.textContent.trim())).size < 2) return;
      const sorter = button("");
      sorter.append(...head.childNodes);
      head.append(sorter);
      sorter.addEventListener("click", () => {
        const now = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (now) head.setAttribute("aria-sort", now);
        const sign = now === "descending" ? -1 : 1;
        const keyed = original.map((item) => [item, now ? keyOf(item, column) : { rank: 2 }]);
        keyed.sort((a, b) => compare(a[1], b[1], sign)); // stable
        parent.append(...keyed.map(([item]) => item));
        say(now ? `Sorted by ${sorter.textContent}, ${now}.` : "In the order of the report.");
      });
    });
  };

  // -- filtering: rows with every word stay; rows that belong together stay together

  const SHORT = 8; // rows that a glance takes in

  const makeFilterable = (table) => {
    const items = table.tBodies.length > 1 ? [...table.tBodies] : [...(table.tBodies[0]?.rows ?? [])];
    if (items.length <= SHORT) return;
    const [box, label, field] = ["p", "label", "input"].map((name) => document.createElement(name));
    box.className = "tools";
    label.append("Filter rows ", field);
    field.type = "search";
    field.setAttribute("aria-label", `Filter rows: ${table.id.replace("table-", "")}`);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      items.forEach((item) => {
        const text = item.textContent.toLowerCase();
        item.hidden = !wanted.every((word) => text.includes(word));
      });
      say(`${items.filter((item) => !item.hidden).length} of ${items.length} rows are shown.`);
    });
    box.append(label);
    table.closest(".table").before(box);
  };

  // -- copying

  const FEW = 4; // lines, head included: what is shorter is copied and sorted by eye

  const line = (row) => [...row.cells]
    .map((cell) => (cell.dataset.value ?? cell.dataset.text ?? cell.textContent).replace(/\s+/g, " ").trim())
    .join("\t");
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { // not there outside of secure contexts, or not permitted
      const area = document.createElement("textarea");
      area.className = "skip";
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  const makeCopyable = (table) => {
    const copier = button("Copy", `Copy: ${table.id.replace("table-", "")}`);
    copier.addEventListener("click", async () => {
      const shown = [...table.rows].filter((row) => !row.closest("[hidden]"));
      const done = await copy(shown.map(line).join("\n") + "\n");
      copier.focus();
      say(done ? `Copied ${shown.length - 1} rows.` : "This browser does not let a page copy; open the CSV file.");
    });
    table.closest(".table-block").querySelector(".tools").prepend(copier);
  };
  all("table").forEach((table) => {
    if (table.rows.length <= FEW) return;
    makeCopyable(table);
    makeSortable(table);
    makeFilterable(table);
  });

  // -- motion: the still picture is shown until somebody presses Play

  all(".animation").forEach((figure) => {
    const [still, moving] = [figure.querySelector(".still"), figure.querySelector(".moving")];
    const svg = moving.querySelector("svg");
    svg.pauseAnimations();
    svg.setCurrentTime(0);
    const player = button("Play");
    player.className = "play";
    player.addEventListener("click", () => {
      still.hidden = true;
      moving.hidden = false;
      if (svg.animationsPaused()) {
        svg.unpauseAnimations();
        player.textContent = "Pause";
      } else {
        svg.pauseAnimations();
        player.textContent = "Play";
      }
    });
    moving.after(player);
  });

  // -- what scrolls can be reached by keyboard, what does not is no stop on the way

  const stops = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }));
  all(".table, .formula").forEach((region) => stops.observe(region));

  // -- where we are, in the contents

  const entries = new Map(all("nav ol a").map((link) => [link.hash.slice(1), link]));
  const visible = new Set();
  let current = null;
  const watch = new IntersectionObserver((changes) => {
    changes.forEach((c) => (c.isIntersecting ? visible.add(c.target) : visible.delete(c.target)));
    const [deepest] = [...visible].sort((a, b) => (a.contains(b) ? 1 : b.contains(a) ? -1 : 0));
    const link = deepest && entries.get(deepest.id);
    if (!link || link === current) return;
    current?.removeAttribute("aria-current");
    current = link;
    link.setAttribute("aria-current", "true");
    const nav = link.closest("nav");
    if (getComputedStyle(nav).position !== "fixed") return;
    const [place, frame] = [link.getBoundingClientRect(), nav.getBoundingClientRect()];
    if (place.top < frame.top || place.bottom > frame.bottom) nav.scrollTop += place.top - frame.top - frame.height / 3;
  }, { rootMargin: "-15% 0px -75% 0px" });
  all("main section[id]").forEach((section) => entries.has(section.id) && watch.observe(section));

  // -- a short list of contents where it stands in the way

  const aside = matchMedia("(min-width: 66rem)");
  const foldContents = () => all("nav > ol > li > details").forEach((d) => { d.open = aside.matches; });
  aside.addEventListener("change", foldContents);
  foldContents();

  // -- print everything

  const folded = all("details:not(.long)");
  // Neither paper nor a file made of it lies beside the other pages.
  const away = all("a[href]:not([href^='#'], [href^='http'])");
  addEventListener("beforeprint", () => {
    away.forEach((a) => { a.dataset.href = a.getAttribute("href"); a.removeAttribute("href"); });
    folded.forEach((d) => { d.dataset.open = d.open; d.open = true; });
    all("img[loading]").forEach((image) => { image.loading = "eager"; });
  });
  addEventListener("afterprint", () => {
    away.forEach((a) => a.setAttribute("href", a.dataset.href));
    folded.forEach((d) => { d.open = d.dataset.open === "true"; });
  });
})();
