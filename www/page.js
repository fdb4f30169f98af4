// The page's entry: starts the worker while the module loads, then hands over to Rust.
import init, { start_page } from "./vramscope_app.js";

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "vramscope" });
const module = await compile(new URL("./vramscope_app_bg.wasm", import.meta.url));
await init({ module_or_path: module });
start_page(worker);
// One download and one compilation serve both. The worker answers only after this, when the page
// has begun to listen.
worker.postMessage(module);

async function compile(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load ${url}: ${response.status}`);
  const type = response.headers.get("Content-Type");
  // Some static hosts do not know what wasm is; compiling while loading wants the right type.
  return type === "application/wasm"
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
