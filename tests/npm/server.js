// The plugin on Vite's own server: it serves its folder, and all else is Vite's, addresses that are none too.
import assert from "node:assert/strict";
import { createServer } from "vite";

const server = await createServer({ logLevel: "error", server: { host: "127.0.0.1", port: 0 } });
await server.listen();
try {
  const { port } = server.httpServer.address();
  const status = async (path) => (await fetch(`http://127.0.0.1:${port}/${path}`)).status;
  assert.deepEqual(await Promise.all(["vramscope/index.html?theme=dark", "%E0%A4%A", "vramscope/%"].map(status)), [200, 404, 404]);
} finally {
  await server.close();
}
