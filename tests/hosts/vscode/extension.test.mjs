// The extension in a VS Code for browsers: `cargo xtask hosts` runs this. EXTENSION is its folder, FIXTURES holds snapshots.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { chromium } from "playwright-core";

import { serve } from "./server.mjs";

const PATIENCE_MS = 60_000;

/** A folder with two snapshots, and the files that their frames may mean. */
function workspace(folder) {
  const snapshot = readFileSync(join(process.env.FIXTURES, "torch-2.8.0/training.pickle"), "latin1");
  writeFileSync(join(folder, "run.pickle"), snapshot, "latin1");
  writeFileSync(join(folder, "moved.pickle"), snapshot.replaceAll("/home/user/", "/code/user/"), "latin1");
  for (const place of ["home/user", "work/user", "work/code/user"]) {
    mkdirSync(join(folder, place), { recursive: true });
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
async function viewer(page, selector, title) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    for (const frame of page.frames()) {
      const shows = ([selector, title]) => document.title === title && !!document.querySelector(selector);
      const isIt = await frame.evaluate(shows, [selector, title]).catch(() => false);
      if (isIt) return frame;
    }
    await page.waitForTimeout(100);
  }
  throw new Error(`no frame shows ${selector}`);
}

/** Opens a snapshot from the explorer, and waits until it is shown. */
async function open(page, name) {
  await page.locator(".monaco-list-row", { hasText: name }).click({ button: "right" });
  const item = page.getByText("Open GPU memory snapshot");
  await item.waitFor();
  // A menu takes no click just after it has opened.
  for (; await item.isVisible(); await page.waitForTimeout(300)) await item.click({ timeout: 1000 }).catch(() => {});
  return viewer(page, ".stage canvas", `${name} – vramscope`);
}

/** Clicks on a frame of an allocation, and waits for its line in a file. */
async function follow(page, inner, place) {
  await inner.locator(".rail").getByText("Table", { exact: true }).click();
  await inner.getByText("record_gpu.py").first().click();
  await inner.locator("a[href$='line=113']").first().click();
  await page.locator(".breadcrumbs-control", { hasText: place }).waitFor();
  await page.locator(".statusbar-item", { hasText: "Ln 113, Col 1" }).waitFor();
}

/** Runs a command of the palette. */
async function command(page, name) {
  await page.keyboard.press("F1");
  await page.keyboard.type(name);
  await page.locator(`.quick-input-list .monaco-list-row[aria-label*="${name}"]`).first().click();
}

test("a snapshot opens in an editor, its frames open in others, and its place is kept", { timeout: 5 * PATIENCE_MS }, async (test) => {
  const folder = mkdtempSync(join(tmpdir(), "vramscope-"));
  const [files, profile] = ["files", "profile"].map((name) => join(folder, name));
  for (const made of [files, profile]) mkdirSync(made);
  workspace(files);
  const host = await serve(files, 0, [process.env.EXTENSION]);
  test.after(() => (host.closeAllConnections(), host.close()));
  const context = await browser(profile);
  test.after(() => context.close());
  test.after(() => rmSync(folder, { recursive: true }));
  context.setDefaultTimeout(PATIENCE_MS);
  const page = context.pages()[0];
  await page.goto(`http://localhost:${host.address().port}/`);

  // Of several files, the one whose path ends most like that of the frame, /code/user/record_gpu.py.
  const moved = await open(page, "moved.pickle");
  await follow(page, moved, /work.*code.*user.*record_gpu\.py/s);
  await command(page, "View: Close All Editors");
  // The file at that very path.
  const inner = await open(page, "run.pickle");
  assert.equal(await inner.evaluate(() => document.documentElement.dataset.theme), "light");
  await follow(page, inner, /home.*user.*record_gpu\.py/s);

  // The theme is VS Code's, also when it changes.
  await command(page, "Toggle between Light/Dark Themes");
  await inner.waitForFunction(() => document.documentElement.dataset.theme === "dark");

  const place = await inner.evaluate(() => location.hash);
  assert.match(place, /view=table&pin=\d+/);
  await command(page, "Developer: Reload Webviews");
  while (!inner.isDetached()) await page.waitForTimeout(100);
  const again = await viewer(page, ".rail", "run.pickle – vramscope");
  await again.waitForFunction((place) => location.hash === place, place);
  assert.equal(await again.evaluate(() => document.documentElement.dataset.theme), "dark");
});
