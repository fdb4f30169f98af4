// The script below the frame of a viewer without widgets (_show.py): the page in it is as light or dark as the notebook. What
// ground.js has stands before this. A notebook that runs no scripts leaves the page in the system's theme.

const frame = document.currentScript?.parentElement?.querySelector("iframe");

const tell = (message) => frame.contentWindow?.postMessage(message, "*");
const look = () => tell({ vramscope: { theme: isOnDark(frame) ? "dark" : "light" } });

if (frame) {
  // The page is asked whether it listens, until it does; anew when the notebook has put the frame elsewhere.
  let asking;
  const ask = () => {
    clearInterval(asking);
    asking = setInterval(() => (frame.isConnected ? tell("PING") : clearInterval(asking)), 100);
  };
  addEventListener("message", ({ source, data }) => {
    if (data !== "PONG" || source !== frame.contentWindow) return;
    clearInterval(asking);
    look();
  });
  frame.onload = ask;
  ask();
  const watch = new MutationObserver(look);
  for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
}
