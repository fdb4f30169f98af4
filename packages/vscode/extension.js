// Shows snapshots in editors of VS Code: the viewer's page in a webview. The extension runs where the file is, on another
// machine too, reads it there and hands it to the page; nothing is executed that stands in it.

const vscode = require("vscode");

const EDITOR = "vramscope.snapshot";
/** The most files of one name that are looked at for a frame. */
const MOST_FILES = 1000;

exports.activate = ({ extensionUri, subscriptions }) => {
  const provider = {
    async openCustomDocument(uri) {
      // VS Code tells what is wrong with a file that is not there.
      await vscode.workspace.fs.stat(uri);
      return { uri, dispose() {} };
    },
    resolveCustomEditor: ({ uri }, { webview }) => show(uri, webview, extensionUri),
  };
  // Opening takes seconds for a large file: once is enough.
  const options = { webviewOptions: { retainContextWhenHidden: true }, supportsMultipleEditorsPerDocument: true };
  subscriptions.push(
    vscode.window.registerCustomEditorProvider(EDITOR, provider, options),
    vscode.commands.registerCommand("vramscope.open", open),
  );
};

/** Opens a file of the explorer, or one that the user chooses. */
async function open(chosen) {
  const uri = chosen ?? (await vscode.window.showOpenDialog({ title: "Open GPU memory snapshot" }))?.[0];
  if (uri) await vscode.commands.executeCommand("vscode.openWith", uri, EDITOR);
}

async function show(uri, webview, extensionUri) {
  webview.options = { enableScripts: true, localResourceRoots: [extensionUri] };
  webview.onDidReceiveMessage(async (message) => {
    try {
      if (message.listens) {
        const fileName = uri.path.split("/").pop();
        await webview.postMessage({ vramscope: { buffer: await vscode.workspace.fs.readFile(uri), fileName } });
      } else if (message.path) {
        await showSource(message.path, message.line, uri);
      }
    } catch (error) {
      vscode.window.showErrorMessage(error.message);
      // Shows the page, though it has no file.
      await webview.postMessage({ vramscope: {} });
    }
  });
  webview.html = await page(webview, extensionUri);
}

/** The page as it stands on a web server, with VS Code's addresses of its files, and a policy that allows only these. */
async function page(webview, extensionUri) {
  const index = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extensionUri, "site/index.html"));
  const own = webview.cspSource;
  const policy =
    `default-src 'none'; script-src ${own} 'wasm-unsafe-eval'; style-src ${own} 'unsafe-inline'; img-src data: blob:; ` +
    `connect-src ${own} data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'`;
  const at = (path) => webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, path));
  return new TextDecoder()
    .decode(index)
    .replace(/(Content-Security-Policy" content=")[^"]*/, `$1${policy}`)
    .replaceAll('"app-', `"${at("site")}/app-`)
    // Before the page's own script, which waits for the end of the page.
    .replace("<body>", `<body style="padding: 0"><script src="${at("webview.js")}"></script>`);
}

async function showSource(path, line, snapshot) {
  const uri = await find(path, snapshot);
  if (!uri) {
    vscode.window.showInformationMessage(`${path} is neither on this machine nor in a folder of this window.`);
    return;
  }
  const start = new vscode.Position(Math.max(line - 1, 0), 0);
  const options = { selection: new vscode.Range(start, start), viewColumn: vscode.ViewColumn.Beside, preview: true };
  await vscode.window.showTextDocument(uri, options);
}

/** The file of a frame: at its path if it is there, else the one in the window's folders whose path ends most like it. */
async function find(path, snapshot) {
  const names = path.split(/[/\\]/);
  if (names.length > 1) {
    const { scheme, authority } = snapshot;
    const uri = vscode.Uri.file(path).with({ scheme, authority });
    const isThere = await vscode.workspace.fs.stat(uri).then(() => true, () => false);
    if (isThere) return uri;
  }
  const pattern = `**/${names.at(-1).replace(/[[\]{}*?]/g, "?")}`;
  const found = await vscode.workspace.findFiles(pattern, undefined, MOST_FILES);
  const inCommon = (uri) => {
    const others = uri.path.split("/");
    let count = 0;
    while (count < names.length && names.at(-1 - count) === others.at(-1 - count)) count += 1;
    return count;
  };
  const best = Math.max(...found.map(inCommon));
  return found.find((uri) => inCommon(uri) === best && best > 0);
}
