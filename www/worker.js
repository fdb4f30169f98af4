// The worker's entry: waits for the compiled module, then hands over to Rust.
import { initSync, start_worker } from "./vramscope_app.js";

self.onmessage = ({ data: module }) => {
  initSync({ module });
  start_worker();
};
