// The viewer in a notebook's cell: a frame whose document is the page, with one snapshot inside.
//
// All cells share the page (_widget.py). Python sends it with its first viewer, and again when a notebook asks that has not
// got it: one that was loaded anew, or that makes each cell a document of its own. The sandbox gives the frame an origin of
// its own; page and cell talk by messages, as the page does with all that show it (browser/door.rs and state/told.rs).
// What ground.js has stands before this.

/** Key → the page. Each cell runs this module anew, so it hangs on the window. */
const pages = (globalThis[Symbol.for("vramscope.pages")] ??= new Map());
/** How long the place must stand still before Python is told. */
const SETTLED_MS = 300;
/** Hides what this frame cannot do: its document has no address to open in a window of its own. */
const STYLE = "<style>.in-full { display: none !important }</style>";

export default {
  initialize({ model }) {
    const page = model.get("_page");
    if (page?.byteLength) take(model.get("_page_key"), page);
    model.on("msg:custom", ({ page }, [packed] = []) => page && take(page, packed));
  },

  render({ model, el }) {
    const view = new View(model, el);
    return () => view.close();
  },
};

class View {
  #model;
  #frame = document.createElement("iframe");
  #ground;
  #theme;
  /** The place at which the frame's document begins. */
  #begun;
  /** The place that the frame shows, as it last said. */
  #shown;
  #listens = false;
  #isClosed = false;
  #asking;
  #settling;
  #closed = new AbortController();

  constructor(model, el) {
    this.#model = model;
    this.#ground = el;
    const frame = this.#frame;
    frame.title = `vramscope: ${model.get("_file_name")}`;
    frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-popups");
    frame.allow = "clipboard-write; fullscreen";
    frame.loading = "lazy";
    frame.style.cssText = "display: block; width: 100%; border: 0";
    // Also when the notebook takes the cell out of its document and puts it back: then the frame begins again.
    frame.onload = () => (this.#begun === model.get("place") ? this.#ask() : this.#fill());
    addEventListener("message", (message) => this.#hear(message), { signal: this.#closed.signal });
    model.on("change:height", this.#resize);
    model.on("change:place", this.#go);
    this.#resize();
    this.#begin();
  }

  close() {
    this.#isClosed = true;
    clearInterval(this.#asking);
    clearTimeout(this.#settling);
    this.#closed.abort();
    this.#model.off("change:height", this.#resize);
    this.#model.off("change:place", this.#go);
    this.#frame.remove();
  }

  async #begin() {
    const wait = document.createElement("p");
    wait.textContent = "Waiting for Python to send the viewer.";
    this.#ground.append(wait);
    await pageFor(this.#model);
    wait.remove();
    this.#watchTheme();
    await this.#fill();
    if (!this.#isClosed) this.#ground.append(this.#frame);
  }

  /** Gives the frame its document: the page with the snapshot, at the place that Python knows. */
  async #fill() {
    const model = this.#model;
    const [text, file] = await Promise.all([pageFor(model), base64Of(model.get("_file"))]);
    this.#listens = false;
    this.#begun = this.#shown = model.get("place");
    const search = `?mode=embed&theme=${this.#theme}`;
    const data = `<script type="application/octet-stream" data-file="${quoted(model.get("_file_name"))}">${file}</script>`;
    const root = `<html data-place="${quoted(this.#begun)}" data-search="${quoted(search)}"`;
    // The body's content goes when the page draws.
    const inserted = { "<html": root, "</head>": `${STYLE}</head>`, "</body>": `${data}</body>` };
    this.#frame.srcdoc = Object.entries(inserted).reduce((text, [at, put]) => text.replace(at, () => put), text);
  }

  #resize = () => {
    this.#frame.style.height = `${this.#model.get("height")}px`;
  };

  /** Shows what Python set. */
  #go = () => {
    const place = this.#model.get("place");
    if (!this.#listens || place === this.#shown) return;
    clearTimeout(this.#settling);
    this.#shown = place;
    this.#frame.contentWindow.location.replace(`about:srcdoc#${place}`);
  };

  /** Asks whether the page listens, until it does. */
  #ask() {
    this.#listens = false;
    clearInterval(this.#asking);
    this.#asking = setInterval(() => this.#frame.contentWindow?.postMessage("PING", "*"), 100);
  }

  #hear({ source, data }) {
    if (!source || source !== this.#frame.contentWindow) return;
    if (data === "PONG" && !this.#listens) {
      this.#listens = true;
      clearInterval(this.#asking);
      this.#look();
      // Python may have set it meanwhile.
      this.#go();
    }
    if (data?.vramscope?.event === "place") this.#moved(data.vramscope.place);
  }

  #moved(place) {
    this.#shown = place;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#model.set("place", place);
      this.#model.save_changes();
    }, SETTLED_MS);
  }

  /** The page is as light or dark as the notebook. */
  #watchTheme() {
    if (this.#isClosed) return;
    const watch = new MutationObserver(() => this.#look());
    for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
    this.#closed.signal.addEventListener("abort", () => watch.disconnect());
    this.#look();
  }

  #look() {
    const theme = isOnDark(this.#ground) ? "dark" : "light";
    if (this.#listens) this.#frame.contentWindow.postMessage({ vramscope: { theme } }, "*");
    this.#theme = theme;
  }
}

/** The shared page with a key, which may still be on its way. */
function shared(key) {
  if (!pages.has(key)) {
    const page = { isComing: false };
    page.text = new Promise((resolve, reject) => Object.assign(page, { resolve, reject }));
    pages.set(key, page);
  }
  return pages.get(key);
}

/** The page's text. Python is asked once, however many cells wait. */
function pageFor(model) {
  const page = shared(model.get("_page_key"));
  if (!page.isComing) model.send({ wants: "page" });
  page.isComing = true;
  return page.text;
}

/** Takes the page that Python sends. */
function take(key, packed) {
  const page = shared(key);
  page.isComing = true;
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  new Response(text).text().then(page.resolve, page.reject);
}

/** Bytes as base64, by the browser: text of many MB is slow to make piece by piece. */
async function base64Of(bytes) {
  const reader = new FileReader();
  await new Promise((resolve, reject) => {
    Object.assign(reader, { onload: resolve, onerror: () => reject(reader.error) });
    reader.readAsDataURL(new Blob([bytes]));
  });
  return reader.result.slice(reader.result.indexOf(",") + 1);
}

/** A text as an attribute's value. */
function quoted(text) {
  return text.replace(/[&<>"'\r\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}
