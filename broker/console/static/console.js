// What moves on a page: its live part, and the strip of a partition's log. Pages work without it.

const here = () => location.pathname + location.search;

// --- the live part: as long as the page is looked at, the server sends it anew when it has changed ---

const live = document.querySelector("[data-live]");
const standing = document.querySelector("[data-connection]");
let source = null;

/** Put HTML of our own server in the place of what is shown; the focus and what was opened stay. */
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

/** Whether somebody is about to press or to type: then nothing moves under their hands. */
function isBusy() {
  const focused = document.activeElement;
  return Boolean(live.querySelector("button:active")) || (live.contains(focused) && focused.matches("input, textarea, select"));
}

document.addEventListener("visibilitychange", () => (document.hidden ? rest() : follow()));
window.addEventListener("pagehide", rest);
window.addEventListener("pageshow", follow);
follow();
