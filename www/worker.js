// A worker's entry: the first message is the module that the page compiled; Rust takes the others.
import { initSync, start_worker } from "./vramscope_app.js";

self.onmessage = ({ data }) => {
  // Synchronous, so that no message slips by before Rust listens.
  initSync({ module: data });
  start_worker();
};
