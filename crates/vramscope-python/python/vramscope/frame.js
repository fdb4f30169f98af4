// What the frame of a viewer without widgets does when it is loaded (_show.py): the page in it is as light or dark as the notebook.
// What ground.js has stands before this. A notebook that runs no scripts leaves the page in the system's theme.

const tell = (message) => frame.contentWindow?.postMessage(message, "*");
const look = () => tell({ vramscope: { theme: isOnDark(frame) ? "dark" : "light" } });

// The page is asked whether it listens, until it does.
clearInterval(frame.asking);
frame.asking = setInterval(() => (frame.isConnected ? tell("PING") : clearInterval(frame.asking)), 100);
// Notebooks put frames elsewhere, which loads them again.
if (!frame.isHeard) {
  frame.isHeard = true;
  window.addEventListener("message", ({ source, data }) => {
    if (data !== "PONG" || source !== frame.contentWindow) return;
    clearInterval(frame.asking);
    look();
  });
  const watch = new MutationObserver(look);
  for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
}
