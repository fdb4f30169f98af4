/** A Vite plugin that puts the viewer's page into a folder of the site; `vramscope` unless `folder` says another. */
export default function vramscope(options?: { folder?: string }): { name: string };
