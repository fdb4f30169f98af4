/** The views, by their names in addresses. */
export type View = "overview" | "timeline" | "segments" | "map" | "allocator" | "flame" | "table" | "compare" | "what-if" | "facts";

/** A file that is shown. */
export interface Loaded {
  /** The file's name. */
  name: string;
  /** Its size as it is stored. */
  bytes: number;
}

/** A file that is being read. */
export interface Progress {
  name: string;
  /** Bytes read so far. */
  loaded: number;
  /** The file's size; `null` if a server does not say. */
  total: number | null;
}

/** Why nothing is shown. */
export interface Failure {
  message: string;
  /** What to do about it; may be empty. */
  advice: string;
  /** The file's name, if the file is at fault. */
  name?: string;
}

export interface ViewChange {
  view: View;
  /** As `save` gives it. */
  state: string;
}

export interface SelectionChange {
  /** `null`: the one with the highest peak. */
  device: number | null;
  /** Where it begins and ends on the x axis. */
  range: [number, number] | null;
  /** The cursor's moment: so many events have happened. */
  moment: number | null;
  /** What is pinned, as a word of the page's address. */
  pinned: string | null;
  /** As `save` gives it. */
  state: string;
}

export interface VramscopeViewerEventMap extends Omit<HTMLElementEventMap, "load" | "progress" | "error"> {
  load: CustomEvent<Loaded>;
  progress: CustomEvent<Progress>;
  error: CustomEvent<Failure>;
  "view-change": CustomEvent<ViewChange>;
  "selection-change": CustomEvent<SelectionChange>;
}

type Unset = null | undefined;

/**
 * The element `<vramscope-viewer>`. Importing this module defines it. Properties are the attributes of the same names, and are
 * read as they are written: what HTML misspells has none of these types.
 */
export class VramscopeViewer extends HTMLElement {
  /** The address of the viewer's page, `site/index.html` of this package. Tell it where your bundler moves scripts. */
  static page: string;

  /** The snapshot's address. */
  get src(): string | null;
  set src(address: string | URL | Unset);

  /** A picture that stands there until the viewer does. */
  get poster(): string | null;
  set poster(address: string | URL | Unset);

  /** The picture for dark pages. */
  get posterDark(): string | null;
  set posterDark(address: string | URL | Unset);

  /** The picture's text for who does not see it. */
  get alt(): string | null;
  set alt(text: string | Unset);

  get view(): View | null;
  set view(view: View | Unset);

  get device(): string | null;
  set device(device: string | number | Unset);

  /** What is selected on the x axis: `100..200`. */
  get range(): string | null;
  set range(range: string | Unset);

  /** What the search box holds. */
  get search(): string | null;
  set search(search: string | Unset);

  /** As the page around it, if it is not set. */
  get theme(): "light" | "dark" | "system" | null;
  set theme(theme: "light" | "dark" | "system" | Unset);

  /** `lazy` (when near) if it is not set. */
  get loading(): "lazy" | "eager" | null;
  set loading(loading: "lazy" | "eager" | Unset);

  /** `click`: the viewer opens by a click alone. */
  get reveal(): "click" | "auto" | null;
  set reveal(reveal: "click" | "auto" | Unset);

  /** How much of the page is shown around the picture. */
  get controls(): "full" | "mini" | "none" | null;
  set controls(controls: "full" | "mini" | "none" | Unset);

  /** In pixels, or any length of CSS. */
  get height(): string | null;
  set height(height: string | number | Unset);

  /** Shows a file or what is at an address. Fulfilled once it is shown. */
  load(what: Blob | BufferSource | URL | string): Promise<Loaded>;

  /** What is shown, as text for `restore`. Empty before a file is shown. */
  save(): string;

  /** Shows what `save` gave; at once if the file is shown, else when it is. */
  restore(state: string): void;

  /** Closes the viewer and gives its memory back. The picture stays, and a click opens it again where it was. */
  dispose(): void;

  addEventListener<K extends keyof VramscopeViewerEventMap>(
    type: K,
    listener: (this: VramscopeViewer, event: VramscopeViewerEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<K extends keyof VramscopeViewerEventMap>(
    type: K,
    listener: (this: VramscopeViewer, event: VramscopeViewerEventMap[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | EventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "vramscope-viewer": VramscopeViewer;
  }
}
