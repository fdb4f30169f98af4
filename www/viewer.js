// The element <vramscope-viewer>: a picture of a snapshot until it is wanted, then the viewer.
//
// Attributes, each with a property of its name:
//   src                          the snapshot's address
//   poster, poster-dark          pictures to show before, as `vramscope plot` writes them; or an element with slot="poster"
//   view, device, range, search  what is shown of it: words of the page's address (`range` is `from..to` on the x axis)
//   theme                        light, dark or system; else that of the ground it stands on
//   loading                      lazy (when it is near the window) or eager
//   reveal                       auto, or click
//   controls                     full, mini (the picture and its figures) or none
//   height                       CSS, or px
//   alt                          what the picture shows, in words
// Methods: load(file, bytes or address), save(), restore(state), dispose().
// Events: load {name, bytes}, progress {name, loaded, total}, error {message, advice, name} (the file's, if it is
// at fault), view-change {view, state}, selection-change {device, range, moment, pinned, state}.
// Parts for ::part(): stage, poster, message, button, frame. Variables: --vramscope-accent, -ground, -panel, -raised,
// -line, -text, -muted, -sans, -mono.
//
// The viewer is the page beside this file, in a frame: no style, name or fault of one side reaches the other, and all of
// its memory goes with the frame. Element and page talk by messages (browser/door.rs and state/told.rs).

/** The most viewers that are open at once. Each has a worker and the memory of its file. */
const MOST_OPEN = 4;
/** How long the page may take to answer, once all of it is loaded, before the element says that it does not. */
const PATIENCE_MS = 20_000;
/** How often a download tells how far it is. */
const PROGRESS_MS = 100;
const ATTRIBUTES = [
  "src", "poster", "poster-dark", "alt", "view", "device", "range", "search", "theme", "loading", "reveal", "controls", "height",
];
/** Attribute → its word in the page's address. */
const WORDS = { view: "view", device: "device", range: "range", search: "q" };
const oneOf = (words) => [new RegExp(`^(${words.replaceAll(" ", "|")})$`), `one of: ${words}`];
/** What attributes may say, and how that is told. */
const SAYS = {
  view: oneOf("overview timeline segments map allocator flame table compare what-if facts"),
  theme: oneOf("light dark system"),
  loading: oneOf("lazy eager"),
  reveal: oneOf("auto click"),
  controls: oneOf("full mini none"),
  device: [/^\d+$/, "a number"],
  range: [/^\d+(\.\d+)?\.\.\d+(\.\d+)?$/, "FROM..TO"],
};
/** The page's variables that `--vramscope-…` sets. */
const VARIABLES = ["accent", "ground", "panel", "raised", "line", "text", "muted", "sans", "mono"];

/** What pages of the same site have in common: the compiled modules (www/page.js). */
const common = {};
/** Fulfilled when the first page has compiled them, or is closed. */
let first = null;
/** Open viewers, the one used longest ago first. */
const open = [];

const style = new CSSStyleSheet();
style.replaceSync(`
  :host { display: block; position: relative; height: 480px; min-width: 0; contain: content; }
  :host([hidden]) { display: none; }
  .stage { position: absolute; inset: 0; overflow: hidden; border: 1px solid var(--vramscope-line, color-mix(in srgb, currentcolor 20%, transparent)); border-radius: 4px; }
  .poster, iframe { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; }
  .poster { cursor: pointer; transition: opacity 0.2s; }
  .poster img { width: 100%; height: 100%; object-fit: contain; display: block; background: #fff; }
  .poster img.dark { background: #16181c; }
  ::slotted([slot="poster"]) { width: 100%; height: 100%; object-fit: contain; }
  iframe { opacity: 0; }
  .shown iframe { opacity: 1; }
  .failed iframe { height: calc(100% - 52px); }
  .shown .poster { opacity: 0; pointer-events: none; }
  .front { position: absolute; inset: 0; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 12px; padding: 10px; box-sizing: border-box; pointer-events: none; }
  .aside .front { align-items: end; justify-content: end; }
  button { flex: none; }
  button, p { pointer-events: auto; font: 14px/20px var(--vramscope-sans, system-ui, sans-serif); margin: 0; max-width: 60ch; }
  button { color: #fff; background: var(--vramscope-accent, #1a62d6); border: 0; border-radius: 4px; padding: 6px 14px; cursor: pointer; box-shadow: 0 1px 4px rgb(0 0 0 / 25%); }
  button:focus-visible { outline: 2px solid var(--vramscope-accent, #1a62d6); outline-offset: 2px; }
  p { overflow: auto; padding: 10px 14px; border-radius: 4px; background: light-dark(#fdecea, #3a1d1b); color: light-dark(#7d1a14, #ffc9c4); overflow-wrap: anywhere; }
  [hidden] { display: none !important; }
  @media (prefers-reduced-motion: reduce) { .poster { transition: none; } }
`);

export class VramscopeViewer extends HTMLElement {
  /** The address of the viewer's page. A bundler moves this file, but not the page: then it must be told. */
  static page = import.meta.url.replace(/[^/]*$/, "index.html");

  static observedAttributes = ATTRIBUTES;

  #parts;
  #frame = null;
  /** What is shown in place of `src`. */
  #file = null;
  /** The state to show, as the text behind `#` in the page's address; and the last one that the page told. */
  #wanted = "";
  #told = "";
  #isNear = false;
  #isShown = false;
  /** Whether the page shows that the file cannot be read. */
  #isFailed = false;
  /** Whether it opens by a click alone: it was closed, or has no room among the open ones. */
  #isClosed = false;
  /** Whether it opens when it is scrolled to, too, as it was closed for want of room. */
  #returns = false;
  /** Whether it was to open before it stood in a page. */
  #isAwaited = false;
  #fault = "";
  /** Share of the file that is read, in per cent; `null` if not known. */
  #percent = null;
  #theme = "";
  /** The look that the page was told last. */
  #sent = "";
  #looksAgain = 0;
  /** What `load` promised. */
  #promised = null;
  #end = null;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    root.adoptedStyleSheets = [style];
    const make = (name, properties) => Object.assign(document.createElement(name), properties);
    const stage = make("div", { className: "stage" });
    const poster = make("div", { className: "poster" });
    const image = make("img", { alt: "", decoding: "async" });
    const slot = make("slot", { name: "poster" });
    const front = make("div", { className: "front" });
    const message = make("p", { role: "alert", hidden: true });
    const button = make("button", { type: "button" });
    for (const [part, element] of Object.entries({ stage, poster, message, button })) element.part = part;
    slot.append(image);
    poster.append(slot);
    front.append(message, button);
    stage.append(poster, front);
    root.append(stage);
    this.#parts = { stage, poster, image, slot, message, button };
    for (const element of [poster, button]) element.onclick = () => (this.#isFailed ? this.#again(this.save()) : this.#show(true));
    slot.onslotchange = () => this.#render();
  }

  connectedCallback() {
    // What a page set before this script was there stands before the properties.
    for (const name of Object.keys(this).filter((name) => name in VramscopeViewer.prototype)) {
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    const ending = new AbortController();
    const nearness = new IntersectionObserver(
      (entries) => {
        this.#isNear = entries.at(-1).isIntersecting;
        this.#look();
        this.#reveal();
      },
      { rootMargin: "200px" },
    );
    const sight = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && this.#returns && this.#show(), {
      threshold: [0, 0.5, 1],
    });
    for (const observer of [nearness, sight]) observer.observe(this);
    // A page's switch for light and dark changes something around the element, perhaps slowly.
    const looks = new MutationObserver(() => this.#look());
    for (const around of ancestors(this)) looks.observe(around, { attributes: true });
    const onLook = () => this.#look();
    document.addEventListener("transitionend", onLook, { signal: ending.signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onLook, { signal: ending.signal });
    this.#end = () => {
      for (const observer of [nearness, sight]) observer.disconnect();
      looks.disconnect();
      ending.abort();
    };
    this.#look();
    this.#render();
    if (this.#isAwaited) this.#show(true);
    else this.#reveal();
  }

  disconnectedCallback() {
    this.#end();
    this.#shut();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    if (name === "height") {
      const height = /^\d*\.?\d+$/.test(now) ? `${now}px` : (now ?? "");
      this.style.height = height;
      if (height && !CSS.supports("height", height)) this.#warn(`height="${now}" is not a height`);
    }
    const [says, words] = (now && SAYS[name]) || [];
    if (says && !says.test(now)) this.#warn(`${name}="${now}" is not ${words}`);
    if (name === "alt") this.#parts.image.alt = now ?? "";
    if (name === "src") this.#file = null;
    if (!this.isConnected) return;
    if (name === "src") this.#again();
    else if (name === "controls") this.#again(this.save());
    else if (name in WORDS) this.#go(name);
    this.#look();
    this.#render();
    this.#reveal();
  }

  #warn(words) {
    console.warn(`<vramscope-viewer>: ${words}`);
  }

  /** Shows a file: a File, a Blob, its bytes, or an address. Fulfilled once it is shown. */
  load(what) {
    // As it is told, since those of another window are of other classes.
    const kind = Object.prototype.toString.call(what).slice(8, -1);
    const isAddress = typeof what === "string" || kind === "URL";
    // A dialog for files that was cancelled gives nothing: what is shown stays.
    if (!isAddress && !["File", "Blob", "ArrayBuffer"].includes(kind) && !ArrayBuffer.isView(what)) {
      return Promise.reject(new TypeError(`load takes a File, a Blob, bytes or an address, not ${kind.toLowerCase()}`));
    }
    this.#shut();
    // So that the new address does not open it, too.
    this.#isClosed = true;
    if (isAddress) this.setAttribute("src", what);
    this.#file = isAddress ? null : kind === "File" ? what : new File([what], "snapshot.pickle");
    this.#wanted = "";
    const promised = (this.#promised = {});
    const promise = new Promise((resolve, reject) => Object.assign(promised, { resolve, reject }));
    // Whoever does not wait for it is told by the element.
    promise.catch(() => {});
    this.#show(true);
    return promise;
  }

  /** What is shown, as text for `restore`. Empty before a file is shown. */
  save() {
    return this.#told || this.#wanted;
  }

  /** Shows what `save` gave; at once if the file is shown, else when it is. */
  restore(state) {
    this.#wanted = String(state);
    if (this.#wanted && !wordsOf(this.#wanted).has("file")) this.#warn(`restore takes what save gave, not "${this.#wanted}"`);
    this.#frame?.go(this.#wanted);
  }

  /** Closes the viewer and gives all its memory back. The picture stays, and a click opens it again where it was. */
  dispose() {
    this.#rest();
  }

  #rest() {
    this.#shut();
    this.#isClosed = true;
    this.#returns = false;
    this.#render();
  }

  /** Opens it, unless it waits for a click. */
  #reveal() {
    const isTime = this.loading === "eager" || this.#isNear;
    if (isTime && !this.#isClosed && !this.#fault && this.reveal !== "click") this.#show();
  }

  /** Takes the looks of the page around: soon, since a page changes much at once. */
  #look() {
    this.#looksAgain ||= requestAnimationFrame(() => {
      this.#looksAgain = 0;
      if (!this.isConnected || !(this.#isNear || this.#frame || this.loading === "eager")) return;
      this.#theme = this.#chosenTheme;
      this.#image();
      this.#sendLook();
    });
  }

  #sendLook() {
    if (!this.#frame?.listens) return;
    const computed = getComputedStyle(this);
    const values = VARIABLES.map((name) => [name, computed.getPropertyValue(`--vramscope-${name}`).trim()]);
    const look = { theme: this.#chosenTheme, variables: Object.fromEntries(values) };
    const text = JSON.stringify(look);
    if (text === this.#sent) return;
    this.#sent = text;
    this.#frame.send(look);
  }

  /** The theme, as the page takes it: the attribute's, or that of the page around. */
  get #chosenTheme() {
    const named = this.theme;
    if (["light", "dark"].includes(named)) return named;
    const { matches } = matchMedia("(prefers-color-scheme: dark)");
    return (named === "system" ? matches : isOnDark(this, matches)) ? "dark" : "light";
  }

  /** Loads the picture. */
  #image() {
    const dark = this.#theme === "dark" ? this.getAttribute("poster-dark") : null;
    const poster = dark || this.poster;
    // Around a picture of other proportions its own ground goes on.
    this.#parts.image.className = dark ? "dark" : "";
    if (poster && this.#parts.image.getAttribute("src") !== poster) this.#parts.image.src = poster;
  }

  #render() {
    const { stage, poster, image, slot, message, button } = this.#parts;
    // The picture is of `src`, not of a file that was given later.
    poster.hidden = !!this.#file;
    const hasPoster = !this.#file && (!!this.poster || slot.assignedElements().length > 0);
    const isLoading = !!this.#frame && !this.#isShown;
    // The button stands aside of a picture, and of what the page says.
    const states = { shown: this.#isShown, failed: this.#isFailed, aside: hasPoster || this.#isShown };
    for (const [name, isOn] of Object.entries(states)) stage.classList.toggle(name, isOn);
    stage.ariaBusy = String(isLoading);
    image.hidden = !this.poster;
    message.hidden = !this.#fault;
    message.textContent = this.#fault;
    const waits = isLoading || this.reveal === "click" || this.#isClosed || this.#isFailed || !!this.#fault;
    button.hidden = (this.#isShown && !this.#isFailed) || !(this.#file || this.src) || !waits;
    button.ariaDisabled = String(isLoading);
    const percent = this.#percent === null ? "" : ` ${this.#percent} %`;
    const rest = this.#fault || this.#isFailed ? "Try again" : this.save() ? "Go on exploring" : "Explore this snapshot";
    button.textContent = isLoading ? `Loading…${percent}` : rest;
    button.ariaLabel = `${button.textContent}: ${this.#name}`;
  }

  get #name() {
    return this.#file?.name ?? nameOf(this.src ?? "");
  }

  /** Closes what is shown; opens again what was open. */
  #again(state = "") {
    const wasOpen = !!this.#frame;
    this.#shut();
    this.#wanted = state;
    if (wasOpen) this.#show(true);
  }

  #shut() {
    this.#frame?.close();
    this.#frame = null;
    this.#wanted = this.save();
    this.#told = this.#sent = this.#fault = "";
    this.#percent = null;
    this.#isShown = this.#isFailed = false;
    this.#isAwaited = false;
    this.#promised?.reject(new DOMException("the viewer was closed", "AbortError"));
    this.#promised = null;
    const place = open.indexOf(this);
    if (place >= 0) open.splice(place, 1);
  }

  /** Opens the viewer; `isAsked` by somebody, who finds room even if another in sight must close. */
  #show(isAsked = false) {
    if (this.#frame) return;
    if (!(this.#file || this.src)) return this.#promised && this.#fail("There is no file to load.", "Name one in src.");
    this.#isAwaited = !this.isConnected;
    if (this.#isAwaited) return;
    this.#fault = "";
    this.#isClosed = !VramscopeViewer.#hasRoom(isAsked);
    this.#returns = this.#isClosed;
    if (this.#isClosed) return this.#render();
    let addresses;
    try {
      addresses = this.#addresses();
    } catch {
      return this.#fail(`This is no address: ${this.src}`);
    }
    const { page, src } = addresses;
    const ending = new AbortController();
    const file = this.#file ?? (src ? this.#download(src, ending.signal) : null);
    open.push(this);
    this.#frame = new Frame(this, this.#name, page, ending, {
      // How far the download is was told here.
      take: (told) => (src && told.event === "progress") || this.#take(told, isAsked),
      ready: async (frame) => {
        this.#sendLook();
        const content = await file;
        if (content && !ending.signal.aborted) frame.send({ buffer: content, fileName: this.#name });
      },
      fail: (message, advice) => this.#fail(message, advice),
    });
    this.#render();
  }

  /** The page with all that it is to show, and the address of what it is not to load itself. */
  #addresses() {
    const page = new URL(VramscopeViewer.page, document.baseURI);
    page.searchParams.set("mode", "embed");
    page.searchParams.set("theme", this.#chosenTheme);
    page.searchParams.set("controls", this.controls || "full");
    const src = this.#file ? null : new URL(this.src, document.baseURI);
    // The page reads while it loads. One of another server may not read what is on this one, nor tell what is on its own.
    const isForPage = src?.origin === page.origin && page.origin === location.origin;
    if (isForPage) page.searchParams.set("src", src.href);
    // Without any words the page chooses the view that suits the file.
    const isSaid = Object.keys(WORDS).some((attribute) => this.getAttribute(attribute));
    page.hash = this.#wanted || (isSaid ? this.#words() : "");
    // Beside the page lies what shows the first picture of a file alone, in less than half of the bytes.
    const isPlain = /^(#file=[^&]*&view=timeline&v=1)?$/.test(page.hash);
    const isBeside = /\/(index\.html)?$/;
    if (this.controls === "mini" && isPlain && isBeside.test(page.pathname)) {
      page.hash = "";
      page.pathname = page.pathname.replace(isBeside, "/mini.html");
    }
    return { page, src: isForPage ? null : src };
  }

  async #download(url, signal) {
    try {
      const response = await fetch(url, { signal });
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      // The length of compressed bytes is not that of what comes out of them. Another server may not say that they are.
      const total = response.headers.has("Content-Encoding") ? null : Number(response.headers.get("Content-Length")) || null;
      const progress = { event: "progress", name: this.#name, loaded: 0, total };
      let next = 0;
      const transform = (part, on) => {
        on.enqueue(part);
        progress.loaded += part.length;
        if (progress.loaded > progress.total) progress.total = null;
        if (performance.now() < next) return;
        next = performance.now() + PROGRESS_MS;
        this.#take(progress);
      };
      return await new Response(response.body?.pipeThrough(new TransformStream({ transform }))).blob();
    } catch (error) {
      if (signal.aborted) return;
      const advice = error instanceof TypeError ? "Another server must allow this page to read it (CORS)." : "";
      this.#fail(`${url.href} cannot be loaded: ${error.message}.`, advice);
    }
  }

  #fail(message, advice = "") {
    const promised = this.#promised;
    this.#promised = null;
    this.#shut();
    this.#fault = [message, advice].filter(Boolean).join(" ");
    this.#render();
    promised?.reject(new Error(this.#fault));
    this.dispatchEvent(new CustomEvent("error", { detail: { message, advice } }));
  }

  /** What the page tells. */
  #take({ event, ...detail }, isAsked) {
    if (event === "place") return this.#moved(String(detail.place));
    if (!["progress", "load", "error"].includes(event)) return;
    if (event === "progress") {
      this.#percent = detail.total ? Math.min(99, Math.floor((100 * detail.loaded) / detail.total)) : null;
    } else if (!this.#isShown) {
      this.#isShown = true;
      const at = document.activeElement;
      if (isAsked && (at === this || at === document.body)) this.#frame.focus();
    }
    this.#isFailed = event === "error";
    this.#render();
    const promised = this.#promised;
    if (event !== "progress") this.#promised = null;
    if (event === "load") promised?.resolve(detail);
    if (event === "error") promised?.reject(new Error([detail.message, detail.advice].filter(Boolean).join(". ")));
    this.dispatchEvent(new CustomEvent(event, { detail }));
  }

  #moved(state) {
    open.splice(open.indexOf(this), 1);
    open.push(this);
    const [before, now] = [this.#told, state].map(wordsOf);
    const isNew = !this.#told;
    this.#wanted = this.#told = state;
    const differs = (...words) => words.some((word) => before.get(word) !== now.get(word));
    const tell = (name, detail) => this.dispatchEvent(new CustomEvent(name, { detail: { ...detail, state } }));
    if (isNew || differs("view")) tell("view-change", { view: now.get("view") });
    if (!isNew && differs("device", "range", "at", "pin")) {
      const number = (word) => (now.has(word) ? Number(now.get(word)) : null);
      tell("selection-change", {
        device: number("device"),
        range: now.get("range")?.split("..").map(Number) ?? null,
        moment: number("at"),
        pinned: now.get("pin") ?? null,
      });
    }
  }

  /** Goes where an attribute says. */
  #go(attribute) {
    if (!this.#frame && !this.#wanted) return;
    this.#wanted = this.#words(attribute);
    this.#frame?.go(this.#wanted);
  }

  /** The state, with what an attribute says; with what all say, where none is known yet. */
  #words(attribute) {
    const known = this.save();
    // Behind a `~` would stand its size.
    const file = this.#name.includes("~") ? `${this.#name}~` : this.#name;
    const words = known ? wordsOf(known) : new Map([["file", file]]);
    for (const said of known ? [attribute] : Object.keys(WORDS)) {
      const value = this.getAttribute(said);
      if (value) words.set(WORDS[said], value);
      else words.delete(WORDS[said]);
    }
    // The version of the format, which stands last.
    words.delete("v");
    words.set("v", "1");
    return Array.from(words, (word) => word.map(encodeURIComponent).join("=")).join("&");
  }

  /** Makes room for another viewer: one out of sight is closed, or for one that is asked for that used longest ago. */
  static #hasRoom(isAsked) {
    if (open.length < MOST_OPEN) return true;
    const isInSight = (viewer) => {
      const { top, bottom } = viewer.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    };
    const unseen = open.find((viewer) => !isInSight(viewer));
    const resting = unseen ?? (isAsked ? open.find((viewer) => viewer !== document.activeElement) : null);
    resting?.#rest();
    if (unseen) {
      unseen.#isClosed = false;
      unseen.#returns = true;
    }
    return !!resting;
  }
}

/** The page in a frame, and the messages with it. */
class Frame {
  listens = false;
  #element;
  #url;
  #ending;
  #timer;
  #begun;

  /** `ending` ends with it. */
  constructor(viewer, name, url, ending, { take, ready, fail }) {
    this.#url = url;
    this.#ending = ending;
    const { signal } = ending;
    this.#element = document.createElement("iframe");
    this.#element.part = "frame";
    this.#element.title = `GPU memory snapshot: ${name}`;
    this.#element.allow = "clipboard-write; fullscreen";
    this.#element.vramscope = common;
    const turn = first;
    first ??= new Promise((begun) => (this.#begun = begun));
    let until = Infinity;
    Promise.resolve(turn).then(() => {
      if (!signal.aborted) this.#element.src = url;
    });
    const isRefused = () =>
      fail(
        `The viewer does not answer: ${url.origin}${url.pathname} cannot be loaded, or this page may not show it.`,
        "It must lie beside viewer.js, and a Content-Security-Policy must allow it in frame-src.",
      );
    this.#timer = setInterval(() => (performance.now() < until ? this.#post("PING") : isRefused()), 50);
    // On a slow network it takes as long as it takes. What it cannot be is known at once on the same site: no page, or another one.
    this.#element.onload = () => {
      if (!this.#element.getAttribute("src")) return;
      until = performance.now() + PATIENCE_MS;
      if (url.origin === location.origin && !this.#element.contentDocument?.querySelector("script[src$='page.js']")) isRefused();
    };
    const listener = ({ source, origin, data }) => {
      if (source !== this.#element.contentWindow || origin !== url.origin) return;
      if (data === "PONG" && !this.listens) {
        this.listens = true;
        clearInterval(this.#timer);
        this.#begun?.();
        ready(this);
      }
      // Before it listens, it can only tell that it does not start.
      if (data?.vramscope?.event && this.listens) take(data.vramscope);
      else if (data?.vramscope?.event === "error") fail(data.vramscope.message, data.vramscope.advice);
    };
    addEventListener("message", listener, { signal });
    viewer.shadowRoot.querySelector(".poster").after(this.#element);
  }

  send(message) {
    this.#post({ vramscope: message });
  }

  go(fragment) {
    this.#url.hash = fragment;
    // Not through `src`: that would be a step of the history.
    if (this.#element.src) this.#element.contentWindow?.location.replace(this.#url.href);
  }

  focus() {
    this.#element.focus();
  }

  close() {
    clearInterval(this.#timer);
    this.#ending.abort();
    this.#begun?.();
    this.#element.remove();
  }

  #post(message) {
    // Before it is loaded, a frame is of no origin, and messages for another one than it has are told as errors.
    this.#element.contentWindow?.postMessage(message, this.listens ? this.#url.origin : "*");
  }
}

/** An element, and all around it, through the shadows of others. */
function* ancestors(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) yield at;
}

/** The words of an address, decoded. */
function wordsOf(fragment) {
  const words = fragment.split("&").filter((word) => word.includes("="));
  return new Map(words.map((word) => word.split("=", 2).map(decoded)));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The name of a file, as the page takes it from an address. */
function nameOf(url) {
  const path = url.split(/[?#]/)[0].replace(/\/+$/, "");
  return decoded(path.slice(path.lastIndexOf("/") + 1) || url);
}

/** Whether an element stands on a dark ground. Without a colour behind it, that is the browser's own. */
function isOnDark(element, systemIsDark) {
  for (const at of ancestors(element)) {
    const [red, green, blue, alpha] = pixelOf(getComputedStyle(at).backgroundColor);
    if (alpha > 127) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
  }
  return systemIsDark && getComputedStyle(document.documentElement).colorScheme.includes("dark");
}

let pixel = null;

/** A colour in any notation as red, green, blue and alpha, from 0 to 255. */
function pixelOf(colour) {
  pixel ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  return pixel.getImageData(0, 0, 1, 1).data;
}

for (const name of ATTRIBUTES) {
  const property = name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  Object.defineProperty(VramscopeViewer.prototype, property, {
    configurable: true,
    enumerable: true,
    get() {
      return this.getAttribute(name);
    },
    set(value) {
      if (value === null || value === undefined) this.removeAttribute(name);
      else this.setAttribute(name, value);
    },
  });
}

if (!customElements.get("vramscope-viewer")) customElements.define("vramscope-viewer", VramscopeViewer);
