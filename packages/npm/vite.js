// A Vite plugin. The element shows a page in a frame, and Vite knows nothing of that page: this puts the page into a
// folder of the site and tells the element where it is, under any `base`.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const SITE = new URL("site/", import.meta.url);
const VIEWER = fileURLToPath(new URL("viewer.js", SITE)).replaceAll("\\", "/");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

export default function vramscope({ folder = "vramscope" } = {}) {
  let config;
  let page;
  return {
    name: "vramscope",
    // Before Vite's own plugins, which look for `import.meta.url`, too.
    enforce: "pre",
    // Vite would bundle the element by itself, out of this plugin's sight.
    config: () => ({ optimizeDeps: { exclude: ["vramscope"] } }),
    configResolved(resolved) {
      config = resolved;
    },
    configureServer({ middlewares }) {
      const files = new Set(names());
      const start = `${config.base}${folder}/`;
      middlewares.use((request, response, next) => {
        let path;
        try {
          path = decodeURI(request.url.split(/[?#]/)[0]);
        } catch {
          return next();
        }
        const name = path.startsWith(start) && path.slice(start.length);
        if (!files.has(name)) return next();
        response.setHeader("Content-Type", TYPES[extname(name)] ?? "application/octet-stream");
        response.end(readFileSync(new URL(name, SITE)));
      });
    },
    buildStart() {
      if (config.command !== "build") return;
      for (const name of names()) {
        const file = this.emitFile({ type: "asset", fileName: `${folder}/${name}`, source: readFileSync(new URL(name, SITE)) });
        if (name === "index.html") page = file;
      }
    },
    transform(code, id) {
      if (id.split("?")[0] !== VIEWER) return;
      // In a build by the bundler's own reckoning, which knows where the element ends up, even if the base is relative.
      const place = page ? `import.meta.ROLLUP_FILE_URL_${page}` : JSON.stringify(`${config.base}${folder}/`);
      const url = `new URL(${place}, document.baseURI).href`;
      return { code: code.replaceAll("import.meta.url", url), map: null };
    },
  };
}

/** The paths of the page's files below its folder. */
function names() {
  const paths = readdirSync(SITE, { recursive: true }).map((path) => path.replaceAll("\\", "/"));
  return paths.filter((path) => statSync(new URL(path, SITE)).isFile());
}
