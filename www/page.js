// The page's entry: compiles the module while it loads, then hands over to Rust.
import init, { start_page } from "./vramscope_app.js";

// A worker's entry, in the same scope as the glue: the first message is the module that the page compiled,
// and Rust takes the others. Synchronous, so that no message slips by before it listens.
const startWorker = `self.onmessage = ({ data }) => {
  initSync({ module: data });
  start_worker();
};`;

const [module, glue] = await Promise.all([
  compile(new URL("./vramscope_app_bg.wasm", import.meta.url)),
  text(new URL("./vramscope_app.js", import.meta.url)),
]);
await init({ module_or_path: module });
// One download and one compilation serve the page and all its workers: they are made from what is here,
// so that nothing is asked for after load and the page goes on when its server has gone.
const worker = new Blob([glue, "\n", startWorker], { type: "text/javascript" });
start_page(module, URL.createObjectURL(worker));

async function compile(url) {
  const response = await load(url);
  const type = response.headers.get("Content-Type");
  // Some static hosts do not know what wasm is; compiling while loading wants the right type.
  return type === "application/wasm"
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

async function text(url) {
  return (await load(url)).text();
}

async function load(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot load ${url}: ${response.status}`);
  return response;
}
