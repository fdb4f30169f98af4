//! Finds or installs the Chromium for the browser tests.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::process::find_program;
use crate::toolchain::{APT, apt_install};

/// Chromium without a window, which starts and draws in half the time. Debian's package, by its own path: the script on
/// the search path would stay between the tests and the process that they end.
const SHELL: &str = "/usr/lib/chromium/chromium-headless-shell";

/// Names of the program on the search path.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Paths of the program outside the search path.
const PLACES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/// The path of the browser for tests: `CHROME` in the environment, Debian's headless one (installed if possible), or
/// any that is installed.
pub(crate) fn for_tests() -> Result<PathBuf> {
    let shell = Path::new(SHELL);
    if std::env::var_os("CHROME").is_some() {
        return find();
    }
    if !shell.is_file()
        && Path::new(APT).exists()
        && let Err(error) = apt_install(&["chromium-headless-shell"], "for quick browser tests")
    {
        println!("{error:#}; any other browser only takes longer");
    }
    if shell.is_file() {
        Ok(shell.into())
    } else {
        find()
    }
}

/// The path of a full browser: `CHROME` in the environment, an installed one, or Debian's package.
pub(crate) fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("CHROME") {
        return Ok(path.into());
    }
    if let Some(path) = installed() {
        return Ok(path);
    }
    if Path::new(APT).exists() {
        apt_install(&["chromium"], "for the browser tests")?;
    }
    installed().context("the browser tests need Chromium or Chrome; install one or set CHROME")
}

fn installed() -> Option<PathBuf> {
    let mut places = PLACES.iter().map(PathBuf::from);
    find_program(&NAMES).or_else(|| places.find(|place| place.is_file()))
}
