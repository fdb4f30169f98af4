// Runs in the webview before the page, and stands between it and the extension.
{
  const vscode = acquireVsCodeApi();
  const toPage = (message) => postMessage(message, location.origin);

  // The place that the page keeps in its address. VS Code keeps it, too, until the window is closed for good.
  const { place } = vscode.getState() ?? {};
  if (place) history.replaceState(null, "", `${location.href.split("#")[0]}#${place}`);
  for (const name of ["pushState", "replaceState"]) {
    const change = history[name].bind(history);
    history[name] = (...values) => {
      change(...values);
      vscode.setState({ place: location.hash.slice(1) });
    };
  }

  // VS Code's theme: as the page's own choice when it starts, by a message later.
  const theme = () => (document.body.matches(".vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)") ? "dark" : "light");
  localStorage["vramscope.theme"] = JSON.stringify(theme());
  new MutationObserver(() => toPage({ vramscope: { theme: theme() } })).observe(document.body, { attributeFilter: ["class"] });

  // Frames are links of this form, unless the user has set another.
  localStorage["vramscope.editor"] ??= JSON.stringify({ pattern: "vscode://open?path={path}&line={line}", swaps: "" });
  const openSource = (event) => {
    const link = event.target.closest?.("a[href^='vscode://open?']");
    if (!link) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const words = new URL(link.href).searchParams;
    vscode.postMessage({ path: words.get("path"), line: Number(words.get("line")) });
  };
  addEventListener("click", openSource, true);

  // Until the file is here, the page would ask for one.
  document.body.style.visibility = "hidden";
  const asking = setInterval(() => toPage("PING"), 50);
  let listens = false;
  addEventListener("message", ({ data }) => {
    if (data === "PONG" && !listens) {
      listens = true;
      clearInterval(asking);
      vscode.postMessage({ listens });
    }
    if (data?.vramscope) document.body.style.visibility = "";
  });
}
