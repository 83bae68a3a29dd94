// The dynamic parts of a page: its live part, and the strip of a partition's log. Pages work without it.

const here = () => location.pathname + location.search;

// --- the live part: while the page is visible, the server sends it again when it has changed ---

const live = document.querySelector("[data-live]");
const standing = document.querySelector("[data-connection]");
let source = null;

/** Replace the content by HTML of this server; keep the focus and the opened details. */
function show(html) {
  const focused = document.activeElement && live.contains(document.activeElement) ? document.activeElement.id : "";
  const opened = new Set([...live.querySelectorAll("details[open][id]")].map((each) => each.id));
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  for (const each of fresh.querySelectorAll("details[id]")) each.open ||= opened.has(each.id);
  const scrolled = [...live.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  live.replaceChildren(...fresh.childNodes);
  live.querySelectorAll(".scroll").forEach((each, index) => (each.scrollLeft = scrolled[index] ?? 0));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function follow() {
  if (!live || source || document.hidden) return;
  source = new EventSource(here());
  source.onopen = () => (standing.textContent = "live");
  source.onmessage = (event) => {
    if (!isBusy()) show(event.data);
  };
  source.onerror = () => (standing.textContent = "not connected");
}

function rest() {
  source?.close();
  source = null;
}

/** Return whether the user is about to press a button or to type: then nothing is replaced. */
function isBusy() {
  const focused = document.activeElement;
  return Boolean(live.querySelector("button:active")) || (live.contains(focused) && focused.matches("input, textarea, select"));
}

document.addEventListener("visibilitychange", () => (document.hidden ? rest() : follow()));
window.addEventListener("pagehide", rest);
window.addEventListener("pageshow", follow);
follow();

// --- the strip of a log: each view has an address; the server draws it ---

let loading = null; // the view that is being loaded

/** Return the live part of the page at an address; null if another one was requested meanwhile, or the page itself is opened. */
async function part(href, signal) {
  try {
    const answer = await fetch(href, { headers: { "x-part": "live" }, signal });
    return answer.ok ? await answer.text() : null;
  } catch (error) {
    if (error.name !== "AbortError") location.assign(href); // the connection was closed just then
    return null;
  }
}

/** Show the page at another address without leaving this one: its live part alone. */
async function go(href) {
  loading?.abort();
  loading = new AbortController();
  const html = await part(href, loading.signal);
  if (html === null) return;
  rest();
  history.replaceState(null, "", href);
  show(html);
  follow();
}

/** The view zoomed by a factor around a place of the strip, 0 to 1. */
function zoom(strip, factor, place) {
  const [first, end, start, logEnd] = ["first", "end", "start", "logEnd"].map((name) => Number(strip.dataset[name]));
  const width = Math.min(Math.max(4, Math.round((end - first) * factor)), logEnd - start);
  const low = Math.min(Math.max(start, Math.round(first + (end - first) * place - width * place)), Math.max(start, logEnd - width));
  if (width !== end - first) go(`${strip.dataset.path}?from=${low}&to=${low + width}`);
}

let turned = 0; // how far the wheel was turned since the last view
document.addEventListener(
  "wheel",
  (event) => {
    const strip = event.target.closest?.("svg.strip");
    if (!strip || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (!turned) requestAnimationFrame(() => {
      const box = strip.getBoundingClientRect();
      zoom(strip, 1.0015 ** turned, (event.clientX - box.left) / box.width);
      turned = 0;
    });
    turned += event.deltaY;
  },
  { passive: false },
);

const KEYS = { "+": "+", "=": "+", "-": "-", 0: "0", ArrowLeft: "←", ArrowRight: "→", End: "End" };
document.addEventListener("keydown", (event) => {
  if (!event.target.closest?.("svg.strip") || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  const way = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === KEYS[event.key]);
  event.preventDefault();
  if (way) go(way.getAttribute("href"));
});
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("[data-key], svg.strip a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
