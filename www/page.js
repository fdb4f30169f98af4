// The page's entry: compiles the module while it loads, then hands over to Rust.
import init, { start_page } from "./vramscope_app.js";

const module = await compile(new URL("./vramscope_app_bg.wasm", import.meta.url));
await init({ module_or_path: module });
// One download and one compilation serve the page and all its workers.
start_page(module, new URL("./worker.js", import.meta.url).href);

async function compile(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load ${url}: ${response.status}`);
  const type = response.headers.get("Content-Type");
  // Some static hosts do not know what wasm is; compiling while loading wants the right type.
  return type === "application/wasm"
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}
