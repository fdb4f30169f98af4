// The service worker of a page on a host: once loaded, this version of the page opens without a network, and can be installed.
//
// It answers for the page's own files alone, from one cache per version. A newer version waits until no tab shows the older one,
// or until the page says so (www/page.js). Samples, the book and snapshots named by an address are not kept.

// `cargo xtask page` writes them here.
const VERSION = "";
const FILES = [];
// Another folder of the same host may hold another copy of the page.
const KEPT = `vramscope ${registration.scope} `;
const CACHE = KEPT + VERSION;
const index = registration.scope;
const files = FILES.map((file) => new URL(file, index).href);

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(removeOthers()));
addEventListener("message", () => skipWaiting());
addEventListener("fetch", (event) => {
  const { url, mode, destination } = event.request;
  // What other pages embed is not kept: its element (viewer.js) may be newer.
  if (mode === "navigate" && destination !== "document") return;
  const address = url.split(/[?#]/, 1)[0];
  const wanted = address === `${index}index.html` ? index : address;
  if (wanted === index || files.includes(wanted)) event.respondWith(answer(wanted, event.request));
});

async function keep() {
  const cache = await caches.open(CACHE);
  // It has the same name in each version, so not from the browser's own cache.
  const response = await fetch(index, { cache: "reload" });
  const text = await response.text();
  // While a host is putting a version in place, its files may be of two. The browser tries again later.
  if (!response.ok || !text.includes(FILES[0].split("/", 1)[0])) throw new Error("the page and its files are of two versions");
  // Not the response itself: browsers refuse one that has been redirected.
  await cache.put(index, new Response(text, { headers: { "Content-Type": "text/html; charset=utf-8" } }));
  await cache.addAll(files);
}

async function answer(address, request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(address)) ?? fetch(request);
}

async function removeOthers() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(KEPT) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
}
