//! Starts and stops a headless Chromium with an empty profile.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::devtools::Devtools;
use crate::memory::Memory;
use crate::page::Page;

/// How long the browser may take to start on a slow machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// No sandbox, since tests run as root in containers. The other options keep the browser from connecting
/// to other hosts, and from throttling timers and drawing in a window that is not visible.
const FLAGS: [&str; 17] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--enable-precise-memory-info",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost",
];

/// A running browser, which ends when this is dropped.
#[derive(Debug)]
pub struct Chromium {
    process: Child,
    profile: TempDir,
    port: u16,
    path: String,
}

impl Chromium {
    /// Starts the browser named by `CHROME`, or the first of the usual names on the search path.
    ///
    /// # Errors
    ///
    /// When no browser is found or it does not start.
    pub fn start() -> Result<Self> {
        let profile = tempfile::tempdir().context("cannot make the browser's profile")?;
        let process = Command::new(program()?)
            .args(FLAGS)
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the browser")?;
        let mut chromium = Self {
            process,
            profile,
            port: 0,
            path: String::new(),
        };
        chromium.wait_for_address()?;
        Ok(chromium)
    }

    /// Opens an empty page; [`Page::goto`] loads something.
    ///
    /// # Errors
    ///
    /// When the connection to the browser is lost.
    pub fn page(&self) -> Result<Page> {
        let mut devtools = Devtools::connect(self.port, &self.path)?;
        let target =
            devtools.call("", "Target.createTarget", json!({"url": "about:blank"}))?["targetId"]
                .take();
        Page::attach(devtools, &target)
    }

    /// The page whose address starts with `url`, opened by another page.
    ///
    /// # Errors
    ///
    /// When there is none within `timeout`, or the connection to the browser is lost.
    pub fn opened_page(&self, url: &str, timeout: Duration) -> Result<Page> {
        let mut devtools = Devtools::connect(self.port, &self.path)?;
        let deadline = Instant::now() + timeout;
        loop {
            let mut targets = devtools.call("", "Target.getTargets", json!({}))?;
            let is_it = |target: &&mut Value| {
                let starts = target["url"].as_str().is_some_and(|at| at.starts_with(url));
                target["type"] == "page" && starts
            };
            let targets = targets["targetInfos"].as_array_mut().into_iter().flatten();
            if let Some(target) = { targets }.find(is_it) {
                return Page::attach(devtools, &target["targetId"].take());
            }
            if Instant::now() > deadline {
                bail!("no page was opened at {url}");
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The memory of the browser's processes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        crate::memory::of_browser(self.process.id())
    }

    /// Reads the port that Chromium writes into its profile.
    fn wait_for_address(&mut self) -> Result<()> {
        let file = self.profile.path().join("DevToolsActivePort");
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait()? {
                bail!("the browser ended at once: {status}");
            }
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Some((port, path)) = text.trim().split_once('\n') {
                self.port = port.parse().context("DevToolsActivePort")?;
                self.path = path.to_owned();
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the browser did not start in {START_TIMEOUT:?}")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // When told to close, it ends its child processes; if killed, it would leave them behind.
        let closed = Devtools::connect(self.port, &self.path)
            .and_then(|mut devtools| devtools.send("", "Browser.close", json!({})).map(drop));
        if closed.is_ok() {
            for _ in 0..100 {
                if matches!(self.process.try_wait(), Ok(Some(_))) {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> Result<PathBuf> {
    if let Some(path) = env::var_os("CHROME") {
        return Ok(path.into());
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    ["chromium", "chromium-browser", "google-chrome", "chrome"]
        .iter()
        .flat_map(|name| env::split_paths(&folders).map(move |folder| folder.join(name)))
        .find(|path: &PathBuf| Path::is_file(path))
        .context("no Chromium found: set CHROME, or run these tests by `cargo xtask test`")
}
