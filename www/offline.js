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
const index = new URL("index.html", registration.scope).href;
const addresses = new Set([index, ...FILES.map((file) => new URL(file, registration.scope).href)]);

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(removeOthers()));
addEventListener("message", () => skipWaiting());
// What other pages embed is not kept: its element (viewer.js) may be newer.
addEventListener("fetch", (event) => {
  if (event.request.destination === "iframe") return;
  const address = event.request.url.split(/[?#]/, 1)[0];
  const wanted = address === registration.scope ? index : address;
  if (addresses.has(wanted)) event.respondWith(answer(wanted, event.request));
});

async function keep() {
  const cache = await caches.open(CACHE);
  // The index has the same name in each version: not from the browser's own cache.
  await cache.addAll([...addresses].map((address) => new Request(address, { cache: address === index ? "reload" : "default" })));
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
