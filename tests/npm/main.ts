// What a user may write: it must satisfy the strictest checker, and run.
import { VramscopeViewer, type Loaded } from "vramscope";

const viewer = document.createElement("vramscope-viewer");
viewer.src = new URL("samples/training.pickle.gz", VramscopeViewer.page);
viewer.view = "map";
viewer.height = 400;
viewer.loading = "eager";
viewer.posterDark = null;
viewer.alt = "what it shows";
viewer.theme = "dark";
viewer.addEventListener("load", ({ detail }) => document.documentElement.setAttribute("data-loaded", `${detail.name} ${detail.bytes.toFixed()}`));
viewer.addEventListener("progress", ({ detail: { loaded, total } }) => console.debug(loaded / (total ?? NaN)));
viewer.addEventListener("error", ({ detail }) => console.error(detail.message, detail.advice));
viewer.addEventListener("selection-change", ({ detail: { range } }) => range && console.debug(range[1] - range[0]));
viewer.addEventListener("click", (event) => console.debug(event.clientX));
document.body.append(viewer);

export async function again(file: File): Promise<Loaded> {
  const state: string = viewer.save();
  viewer.restore(state);
  await viewer.load(await file.arrayBuffer());
  const loaded = await viewer.load(file);
  // @ts-expect-error There is no such view.
  viewer.view = "nothing";
  // @ts-expect-error An event of this element has no such detail.
  viewer.addEventListener("view-change", ({ detail }) => detail.range);
  viewer.dispose();
  return loaded;
}
