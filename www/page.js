// The page's entry: compiles its program and that of its workers while they load, then hands over to Rust. The planner's program
// (packing, what-if, graphs) is loaded behind them.
//
// It serves two pages. Of the one on a web server, each file of a program lies beside this one. In the one file that
// `vramscope html` and the page's menu write, each stands in the page itself, as base64 of its gzip, and so do the
// snapshots: beside a file that is opened from disk nothing can be loaded.

const PAGE = "vramscope_app";
const WORKER = "vramscope_worker";
const PLANNER = "vramscope_planner";
const modules = new Map();
// Promises what starts planners.
let planners = null;
const inPage = new Map(Array.from(document.querySelectorAll("script[data-part]"), (part) => [part.dataset.part, part]));
// What the server was given: `vramscope view` names it here.
const served = Array.from(document.querySelectorAll("link[rel=snapshot]"), (link) => link.href);
// Whether it is shown in another page.
const isFramed = new URLSearchParams(location.search).get("mode") === "embed";
// Whether its workers come from a file. In a sandbox that gives the page no origin, none may be another's file.
const hasWorkerFile = isFramed && origin !== "null";
// Whether it is mini.html, which shows one picture with a program of its own and loads the page once more is wanted.
const isMini = document.documentElement.dataset.page === "mini";
// Files that were chosen before the module is there; `null` once it is.
let early = [];
if (inPage.size + served.length === 0 && !isMini && !location.search && !location.hash) showStart();
// The most files of a dropped folder that are opened, and their names.
const MOST_FILES = 16;
const SNAPSHOT = /\.(pickle|pkl|vram|vset|json|html)(\.(gz|zstd?|zip))?$/i;
addEventListener("drop", dropInside, true);

// What the viewers in the page around this one have in common (www/viewer.js): each module is compiled once.
const common = (isFramed && frameElement?.vramscope) || {};
if (isFramed) addEventListener("error", cannotStart);
const program = isMini ? "vramscope_mini" : PAGE;
const [page, newWorker] = await Promise.all([programOf(program), starterOf(WORKER)]);
performance.mark("vramscope:compiled");
await page.init();
performance.mark("vramscope:begun");
// What the file was made to show, unless its address says something else.
const { place } = document.documentElement.dataset;
// In full: a frame whose document is given to it (`srcdoc`) takes addresses relative to the page around it.
if (place && !location.hash) history.replaceState(null, "", `${location.href.split("#", 1)[0]}#${place}`);
const files = carried().concat(Array.from(document.querySelectorAll("script[data-file]"), (file) => new File([bytesOf(file)], file.dataset.file)));
if (isMini) page.start_mini(newWorker, newPlanner, loadPage, files);
else page.start_page(newWorker, newPlanner, [...files, ...early], served, null);
early = null;
// Now, as the server may be gone when somebody asks. What is embedded in other pages takes only what is asked for.
if (!isFramed && inPage.size === 0) loadPlanner().catch(() => {});
removeEventListener("error", cannotStart);
if (!isFramed && inPage.size + served.length === 0) settleIn();

// Lets a page on a host be installed, open without a network, and open the files that the system gives to it. What a program on
// this machine serves, as `vramscope view` does, ends with it.
async function settleIn() {
  if (parent !== self) return;
  globalThis.launchQueue?.setConsumer(async ({ files }) => {
    const opened = await Promise.all(files.map((handle) => handle.getFile().catch(() => null)));
    const found = opened.filter((file) => file);
    if (found.length > 0) dispatchEvent(new DragEvent("drop", { dataTransfer: transferOf(found) }));
  });
  if (!navigator.serviceWorker || /^(127\.|localhost$|\[::1\]$)/.test(location.hostname)) return;
  const keeper = await navigator.serviceWorker.register(new URL("../offline.js", import.meta.url)).catch(() => null);
  const watch = () => {
    const worker = keeper?.installing;
    worker?.addEventListener("statechange", () => {
      if (worker.state === "installed" && keeper.active) offerVersion(keeper);
    });
  };
  if (keeper?.waiting) offerVersion(keeper);
  watch();
  keeper?.addEventListener("updatefound", watch);
}

// Says that a newer version of the page waits. Open files would go with this one, so the user says when.
function offerVersion(keeper) {
  if (document.querySelector(".newer")) return;
  const reload = Object.assign(document.createElement("button"), { textContent: "Reload", className: "primary" });
  reload.onclick = () => {
    const worker = keeper.waiting;
    if (!worker) return location.reload();
    worker.addEventListener("statechange", () => {
      if (worker.state === "activated") location.reload();
    });
    worker.postMessage("begin");
  };
  const later = Object.assign(document.createElement("button"), { textContent: "Later", className: "outlined" });
  const note = Object.assign(document.createElement("div"), { className: "newer", role: "status" });
  later.onclick = () => note.remove();
  note.append("A newer version of this page is ready. It starts once all tabs of this page are closed, or now: open files must then be opened again.", reload, later);
  document.body.append(note);
}

// Tells the page around this one what keeps this one from starting.
function cannotStart({ error, message }) {
  const isForbidden = error instanceof WebAssembly.CompileError;
  const advice = isForbidden ? "The Content-Security-Policy of the viewer's own page must have 'wasm-unsafe-eval' in script-src." : "";
  const told = { event: "error", message: `The viewer does not start: ${error?.message ?? message}`, advice };
  parent.postMessage({ vramscope: told }, "*");
}

// Shows where to drop files, and takes them, before the module is there: on a slow network that is most of a second.
// Rust replaces it by the whole page.
function showStart() {
  try {
    const theme = localStorage.getItem("vramscope.theme");
    if (theme) document.documentElement.dataset.theme = JSON.parse(theme);
  } catch {
    // The browser keeps nothing for this site, or something else was kept.
  }
  document.body.append(document.querySelector("template").content);
  const area = document.querySelector(".drop-area");
  const take = (files) => {
    // From a dialog that was opened before Rust came: as if they were dropped now.
    if (!early) return dispatchEvent(new DragEvent("drop", { dataTransfer: transferOf(files) }));
    early.push(...files);
    area.firstElementChild.textContent = `Opens once the page is loaded: ${early.map((file) => file.name).join(", ")}`;
  };
  area.onclick = () => {
    const picker = Object.assign(document.createElement("input"), { type: "file", multiple: true });
    picker.onchange = () => take(picker.files);
    picker.click();
  };
  for (const kind of ["dragover", "drop"]) {
    addEventListener(kind, (event) => {
      if (!early || !event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      if (kind === "drop") take(event.dataTransfer.files);
    });
  }
  performance.mark("vramscope:listening");
}

// A dropped folder stands for what is in it: the overview of a packed fleet, or else its files. Browsers list it only later,
// so what it holds is then dropped in its place.
async function dropInside(event) {
  const entries = Array.from(event.dataTransfer.items, (item) => item.webkitGetAsEntry());
  if (!entries.some((entry) => entry?.isDirectory)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const files = (await Promise.all(entries.map(filesOf))).flat();
  // Without a file, too: the page then no longer waits for a drop.
  dispatchEvent(new DragEvent("drop", { dataTransfer: transferOf(files) }));
}

async function filesOf(entry) {
  if (!entry) return [];
  if (entry.isFile) return [await new Promise((give, fail) => entry.file(give, fail))];
  const found = await filesIn(entry, 4);
  const overview = found.find(({ name }) => name === "overview.vset");
  found.sort((a, b) => a.fullPath.localeCompare(b.fullPath, undefined, { numeric: true }));
  if (found.length === 0) alert(`No snapshot is in ${entry.name}.`);
  if (!overview && found.length > MOST_FILES) {
    alert(`${entry.name} holds ${found.length} files: the first ${MOST_FILES} are opened. For many ranks, use: vramscope fleet pack ${entry.name}`);
  }
  return (await Promise.all((overview ? [overview] : found.slice(0, MOST_FILES)).map(filesOf))).flat();
}

// The snapshots in a folder and, so many levels deep, in those in it. What cannot be listed holds none.
async function filesIn(folder, levels) {
  const reader = folder.createReader();
  const list = () => new Promise((give) => reader.readEntries(give, () => give([])));
  const inside = [];
  for (let some = await list(); some.length > 0; some = await list()) inside.push(...some);
  const seen = inside.filter(({ name }) => !name.startsWith("."));
  const overview = seen.filter(({ name }) => name === "overview.vset");
  if (overview.length > 0) return overview;
  const below = seen.filter(({ isDirectory }) => isDirectory && levels > 0);
  const files = seen.filter(({ isFile, name }) => isFile && SNAPSHOT.test(name));
  return files.concat(...(await Promise.all(below.map((one) => filesIn(one, levels - 1)))));
}

// The snapshot that the address itself carries, behind all its other words. A link that lost its end on the way is
// opened as far as it goes.
function carried() {
  const [words, data] = location.hash.slice(1).split("&data=");
  if (!data) return [];
  const text = data.replace(/[^\w-]/g, "").replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(text.slice(0, text.length - (text.length % 4 === 1))), (character) => character.charCodeAt(0));
  const name = new URLSearchParams(words).get("file")?.replace(/~\d+$/, "");
  return [new File([bytes], name || "snapshot")];
}

// Promises what starts a worker with this program. One download and one compilation serve all of its workers: they are made from
// what is here, so that files are opened and drawn when the server has gone. Only in a frame they come from a file, for a site
// that shows the viewer in its pages may allow no others (worker-src).
async function starterOf(name) {
  const [module, glue] = await Promise.all([moduleOf(name), hasWorkerFile ? "" : textOf(name)]);
  const script = hasWorkerFile ? new URL(`${name}.js`, import.meta.url) : addressOf(asScript(glue));
  return () => {
    const worker = new Worker(script, { name: "vramscope", type: hasWorkerFile ? "module" : "classic" });
    worker.postMessage(module);
    return worker;
  };
}

// Nothing is kept of a load that failed, so that it can be tried again.
function loadPlanner() {
  planners ??= starterOf(PLANNER).catch((error) => {
    planners = null;
    throw error;
  });
  return planners;
}

async function newPlanner() {
  const start = await loadPlanner();
  return start();
}

function transferOf(files) {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  return transfer;
}

// A program: what its script exports, and `init`, which runs its module.
async function programOf(name) {
  const [module, glue] = await Promise.all([moduleOf(name), inPage.size > 0 ? textOf(name) : ""]);
  const address = glue ? addressOf(glue) : new URL(`${name}.js`, import.meta.url);
  const { default: init, ...exported } = await import(address);
  return { ...exported, init: () => init({ module_or_path: module }) };
}

// Of mini.html: the start of the page, which takes what is handed over to it.
async function loadPage() {
  const [page] = await Promise.all([programOf(PAGE), loadStyle()]);
  await page.init();
  return (handed) => page.start_page(newWorker, newPlanner, [], [], handed);
}

async function textOf(name) {
  return (await load(`${name}.js`)).text();
}

function moduleOf(program) {
  if (!modules.has(program)) {
    const name = `${import.meta.url} ${program}`;
    const loading = load(`${program}_bg.wasm`).then((response) => common[name] ?? compile(response));
    loading.then((module) => (common[name] = module), () => {});
    loading.catch(() => modules.delete(program));
    modules.set(program, loading);
  }
  return modules.get(program);
}

// The styles of all that mini.html does not show.
function loadStyle() {
  const href = new URL("index.css", import.meta.url);
  return new Promise((done, failed) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: done });
    link.onerror = () => failed(new Error(`cannot load ${href}`), link.remove());
    document.head.append(link);
  });
}

async function compile(response) {
  const type = response.headers.get("Content-Type");
  // Some static hosts do not know what wasm is; compiling while loading wants the right type.
  return type === "application/wasm"
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

async function load(name) {
  if (inPage.size > 0) {
    const packed = new Blob([bytesOf(inPage.get(name))]).stream();
    return new Response(packed.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": "application/wasm" } });
  }
  const url = new URL(name, import.meta.url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load ${url}: ${response.status}`);
  return response;
}

// A module as a plain script: of a page from disk, Chromium starts no worker that is a module.
function asScript(module) {
  return module
    .replace(/^export (?=function|class)/gm, "")
    .replace(/^export \{[^}]*\};?$/gm, "")
    .replaceAll("import.meta.url", "location.href");
}

function addressOf(script) {
  return URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
}

// What stands in the page as base64, which then goes: it is needed once and may be large.
function bytesOf(script) {
  const text = script.textContent;
  script.textContent = "";
  return Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
