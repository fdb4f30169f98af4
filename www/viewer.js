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
// Methods: load(file, bytes or address), save(), restore(state), dispose().
// Events: load {name, bytes}, progress {name, loaded, total}, error {message, advice}, view-change {view, state},
// selection-change {device, range, moment, pinned, state}.
// Parts for ::part(): stage, poster, message, button, frame. Variables: --vramscope-accent, -ground, -panel, -raised,
// -line, -text, -muted, -sans, -mono.
//
// The viewer is the page beside this file, in a frame: no style, name or fault of one side reaches the other, and all of
// its memory goes with the frame. Element and page talk by messages (browser/door.rs and state/told.rs).

/** The most viewers that are open at once. Each has a worker and the memory of its file; the one used longest ago rests. */
const MOST_OPEN = 4;
/** How long the page may take to answer before the element says that it does not. */
const PATIENCE_MS = 20_000;
const ATTRIBUTES = ["src", "poster", "poster-dark", "view", "device", "range", "search", "theme", "loading", "reveal", "controls", "height"];
/** Attribute → its word in the page's address. */
const WORDS = { view: "view", device: "device", range: "range", search: "q" };
/** The page's variables that `--vramscope-…` sets. */
const VARIABLES = ["accent", "ground", "panel", "raised", "line", "text", "muted", "sans", "mono"];

/** What pages of the same site have in common: the compiled module (www/page.js). */
const common = {};
/** Fulfilled when the first page has compiled it, or is closed. */
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
  .poster img { width: 100%; height: 100%; object-fit: contain; display: block; }
  ::slotted([slot="poster"]) { width: 100%; height: 100%; object-fit: contain; }
  iframe { opacity: 0; }
  .shown iframe { opacity: 1; }
  .shown .poster { opacity: 0; pointer-events: none; }
  .front { position: absolute; inset: 0; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 12px; pointer-events: none; }
  .with-poster .front { justify-content: end; padding: 12px; }
  button, p { pointer-events: auto; font: 14px/20px var(--vramscope-sans, system-ui, sans-serif); margin: 0; max-width: 60ch; }
  button { color: #fff; background: var(--vramscope-accent, #1a62d6); border: 0; border-radius: 4px; padding: 6px 14px; cursor: pointer; box-shadow: 0 1px 4px rgb(0 0 0 / 25%); }
  button:focus-visible { outline: 2px solid var(--vramscope-accent, #1a62d6); outline-offset: 2px; }
  p { padding: 10px 14px; border-radius: 4px; background: #fdecea; color: #7d1a14; overflow-wrap: anywhere; }
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
  /** The state, as the text behind `#` in the page's address; empty before the page has told it. */
  #state = "";
  /** The last state that the page told. */
  #told = "";
  #isNear = false;
  #isShown = false;
  /** Whether it was told to be closed, so that it opens by a click alone. */
  #isClosed = false;
  #fault = "";
  #theme = "";
  #end = null;
  #observer = null;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
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
    for (const element of [poster, button]) element.onclick = () => this.#show(true);
    slot.onslotchange = () => this.#render();
  }

  connectedCallback() {
    this.#observer = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        this.#isNear = isIntersecting;
        if (isIntersecting) this.#image();
        if (isIntersecting && !this.#isClosed && this.reveal !== "click") this.#show();
      },
      { rootMargin: "200px" },
    );
    this.#observer.observe(this);
    // Pages with a switch for light and dark put it on one of these.
    const looks = new MutationObserver(() => this.#look());
    for (const element of [document.documentElement, document.body]) looks.observe(element, { attributes: true });
    const system = matchMedia("(prefers-color-scheme: dark)");
    const onSystem = () => this.#look();
    system.addEventListener("change", onSystem);
    this.#end = () => {
      looks.disconnect();
      system.removeEventListener("change", onSystem);
    };
    this.#look();
    this.#render();
    if (this.loading === "eager" && this.reveal !== "click") this.#show();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#end();
    this.#shut();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    if (name === "height") this.style.height = /^\d+$/.test(now) ? `${now}px` : (now ?? "");
    if (!this.isConnected) return;
    if (name === "src") {
      this.#file = null;
      this.#again();
    } else if (name === "controls") {
      this.#again(this.#state);
    } else if (name in WORDS) {
      this.#go(name);
    }
    this.#image();
    this.#look();
    this.#render();
  }

  /** Shows a file: a File, a Blob, its bytes, or an address. Fulfilled once it is shown. */
  load(what) {
    const isAddress = typeof what === "string" || what instanceof URL;
    this.#file = isAddress ? null : what instanceof File ? what : new File([what], "snapshot.pickle");
    if (isAddress) this.setAttribute("src", what);
    this.#again();
    this.#show();
    return new Promise((resolve, reject) => {
      const settled = new AbortController();
      const on = (name, settle) =>
        this.addEventListener(name, (event) => (settled.abort(), settle(event.detail)), { signal: settled.signal });
      on("load", resolve);
      on("error", ({ message, advice }) => reject(new Error([message, advice].filter(Boolean).join(". "))));
    });
  }

  /** What is shown, as text for `restore`. Empty before a file is shown. */
  save() {
    return this.#state;
  }

  /** Shows what `save` gave; at once if the file is shown, else when it is. */
  restore(state) {
    this.#state = String(state);
    this.#frame?.go(this.#state);
  }

  /** Closes the viewer and gives all its memory back. The picture stays, and a click opens it again where it was. */
  dispose() {
    this.#isClosed = true;
    this.#rest();
  }

  #rest() {
    this.#shut();
    this.#render();
  }

  /** The theme, as the page takes it: the attribute's, or that of the page around. */
  get #chosenTheme() {
    const named = this.theme;
    if (["light", "dark"].includes(named)) return named;
    const { matches } = matchMedia("(prefers-color-scheme: dark)");
    return (named === "system" ? matches : isOnDark(this, matches)) ? "dark" : "light";
  }

  #look() {
    const theme = this.#chosenTheme;
    if (theme !== this.#theme) {
      this.#theme = theme;
      this.#image();
    }
    this.#tell({ theme, variables: this.#variables });
  }

  get #variables() {
    const computed = getComputedStyle(this);
    const values = VARIABLES.map((name) => [name, computed.getPropertyValue(`--vramscope-${name}`).trim()]);
    return Object.fromEntries(values.filter(([, value]) => value));
  }

  /** Loads the picture, once it is near. */
  #image() {
    const poster = (this.#theme === "dark" && this.getAttribute("poster-dark")) || this.poster;
    if (!poster || !(this.#isNear || this.loading === "eager")) return;
    const url = new URL(poster, document.baseURI).href;
    if (this.#parts.image.src !== url) this.#parts.image.src = url;
  }

  #render() {
    const { stage, image, slot, message, button } = this.#parts;
    const hasPoster = !!this.poster || slot.assignedElements().length > 0;
    stage.className = `stage${this.#isShown ? " shown" : ""}${hasPoster ? " with-poster" : ""}`;
    image.hidden = !this.poster;
    message.hidden = !this.#fault;
    message.textContent = this.#fault;
    const waits = this.reveal !== "click" && !this.#state;
    button.hidden = !!this.#frame || (!this.#file && !this.src) || (waits && !this.#fault);
    button.textContent = this.#fault ? "Try again" : this.#state ? "Go on exploring" : "Explore this snapshot";
    button.setAttribute("aria-label", `${button.textContent}: ${this.#name}`);
  }

  get #name() {
    return this.#file?.name ?? nameOf(this.src ?? "");
  }

  /** Closes what is shown; opens again what was open. */
  #again(state = "") {
    const wasOpen = !!this.#frame;
    this.#shut();
    this.#state = state;
    if (wasOpen) this.#show();
  }

  #shut() {
    this.#frame?.close();
    this.#frame = null;
    this.#isShown = false;
    this.#told = "";
    this.#fault = "";
    const place = open.indexOf(this);
    if (place >= 0) open.splice(place, 1);
  }

  #show(takesFocus = false) {
    if (this.#frame || !(this.#file || this.src)) return;
    this.#shut();
    this.#isClosed = false;
    VramscopeViewer.#makeRoom();
    open.push(this);
    const page = new URL(VramscopeViewer.page, document.baseURI);
    page.searchParams.set("mode", "embed");
    page.searchParams.set("theme", this.#chosenTheme);
    if (this.controls && this.controls !== "full") page.searchParams.set("controls", this.controls);
    const src = this.#file ? null : new URL(this.src, document.baseURI);
    // The page reads while it loads; but what is on this side's server, that other server may not be allowed to read.
    const isForPage = src?.origin === page.origin;
    if (isForPage) page.searchParams.set("src", src.href);
    // Without any words the page chooses the view that suits the file.
    const said = Object.keys(WORDS).filter((attribute) => this.getAttribute(attribute));
    page.hash = this.#state || (said.length > 0 ? this.#words(said) : "");
    const file = this.#file ?? (isForPage ? null : this.#download(src));
    this.#frame = new Frame(this, page, {
      take: (told) => this.#take(told),
      ready: async (frame) => {
        frame.send({ theme: this.#chosenTheme, variables: this.#variables });
        const content = await file;
        if (content) frame.send({ buffer: content, fileName: this.#name });
        if (takesFocus) frame.focus();
      },
      fail: (message) => this.#fail(message),
    });
    this.#render();
  }

  async #download(url) {
    try {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      return await response.blob();
    } catch (error) {
      this.#fail(`${url.href} cannot be loaded: ${error.message}. Another server must allow this page to read it (CORS).`);
    }
  }

  #fail(message) {
    if (!this.#frame) return;
    this.#shut();
    this.#fault = message;
    this.#render();
    this.dispatchEvent(new CustomEvent("error", { detail: { message, advice: "" } }));
  }

  /** What the page tells. */
  #take({ event, ...detail }) {
    if (event === "place") return this.#moved(detail.place);
    if (event === "load" || event === "error") {
      this.#isShown = true;
      this.#render();
    }
    this.dispatchEvent(new CustomEvent(event, { detail }));
  }

  #moved(state) {
    open.splice(open.indexOf(this), 1);
    open.push(this);
    const [before, now] = [this.#told, state].map(wordsOf);
    const isNew = !this.#told;
    this.#state = this.#told = state;
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
    if (!this.#frame && !this.#state) return;
    this.#state = this.#words([attribute]);
    this.#frame?.go(this.#state);
  }

  /** The state, with what these attributes say. */
  #words(attributes) {
    const words = this.#state ? wordsOf(this.#state) : new Map([["file", this.#name]]);
    for (const attribute of attributes) {
      const value = this.getAttribute(attribute);
      if (value) words.set(WORDS[attribute], value);
      else words.delete(WORDS[attribute]);
    }
    // The version of the format, which stands last.
    words.delete("v");
    words.set("v", "1");
    return Array.from(words, (word) => word.map(encodeURIComponent).join("=")).join("&");
  }

  /** Closes viewers until another may open: those out of sight first, and not the one in which the user is. */
  static #makeRoom() {
    while (open.length >= MOST_OPEN) {
      const isInSight = (viewer) => {
        const { top, bottom } = viewer.getBoundingClientRect();
        return bottom > 0 && top < innerHeight;
      };
      const resting = open.find((viewer) => !isInSight(viewer)) ?? open.find((viewer) => viewer !== document.activeElement) ?? open[0];
      resting.#rest();
    }
  }

  #tell(message) {
    if (this.#frame?.listens) this.#frame.send(message);
  }
}

/** The page in a frame, and the messages with it. */
class Frame {
  listens = false;
  #element;
  #url;
  #timer;
  #listener;
  #begun;

  constructor(viewer, url, { take, ready, fail }) {
    this.#url = url;
    this.#element = document.createElement("iframe");
    this.#element.part = "frame";
    this.#element.title = "GPU memory snapshot";
    this.#element.allow = "clipboard-write; fullscreen";
    this.#element.vramscope = common;
    const turn = first;
    first ??= new Promise((begun) => (this.#begun = begun));
    let until = Infinity;
    Promise.resolve(turn).then(() => {
      this.#element.src = url;
      until = performance.now() + PATIENCE_MS;
    });
    this.#timer = setInterval(() => {
      if (performance.now() < until) return this.#post("PING");
      fail(
        `The viewer does not answer: ${url.origin}${url.pathname} cannot be loaded, or this page may not show it. ` +
          "It must lie beside viewer.js, and a Content-Security-Policy must allow it in frame-src.",
      );
    }, 50);
    this.#listener = ({ source, data }) => {
      if (source !== this.#element.contentWindow) return;
      if (data === "PONG" && !this.listens) {
        this.listens = true;
        clearInterval(this.#timer);
        this.#begun?.();
        ready(this);
      }
      if (data?.vramscope?.event) take(data.vramscope);
    };
    addEventListener("message", this.#listener);
    viewer.shadowRoot.querySelector(".poster").after(this.#element);
  }

  send(message) {
    this.#post({ vramscope: message });
  }

  go(fragment) {
    // Not through `src`: that would be a step of the history.
    this.#url.hash = fragment;
    this.#element.contentWindow?.location.replace(this.#url.href);
  }

  focus() {
    this.#element.focus();
  }

  close() {
    clearInterval(this.#timer);
    this.#begun?.();
    removeEventListener("message", this.#listener);
    this.#element.remove();
  }

  #post(message) {
    // Before it is loaded, a frame is of no origin, and messages for another one than it has are told as errors.
    this.#element.contentWindow?.postMessage(message, this.listens ? this.#url.origin : "*");
  }
}

/** The words of an address, decoded. */
function wordsOf(fragment) {
  const words = fragment.split("&").filter((word) => word.includes("="));
  return new Map(words.map((word) => word.split("=").map((text) => decodeURIComponent(text))));
}

/** The name of a file, as the page takes it from an address. */
function nameOf(url) {
  const path = url.split(/[?#]/)[0].replace(/\/+$/, "");
  const name = path.slice(path.lastIndexOf("/") + 1) || url;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Whether an element stands on a dark ground. Without a colour behind it, that is the browser's own. */
function isOnDark(element, systemIsDark) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const channels = getComputedStyle(at).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
    if (channels.length === 3 || channels[3] > 0.5) {
      const [red, green, blue] = channels;
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
    }
  }
  return systemIsDark && getComputedStyle(document.documentElement).colorScheme.includes("dark");
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
