//! Finds or installs the Chromium for the browser tests.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::process::find_program;
use crate::toolchain::apt_install;

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

/// The path of the browser: `CHROME` in the environment, an installed one, or Debian's package.
///
/// # Errors
///
/// If there is none and none can be installed. The message says what helps.
pub(crate) fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("CHROME") {
        return Ok(path.into());
    }
    if let Some(path) = installed() {
        return Ok(path);
    }
    if Path::new("/usr/bin/apt-get").exists() {
        apt_install(&["chromium"], "for the browser tests")?;
    }
    match installed() {
        Some(path) => Ok(path),
        None => bail!("the browser tests need Chromium or Chrome; install one or set CHROME"),
    }
}

fn installed() -> Option<PathBuf> {
    find_program(&NAMES).or_else(|| {
        PLACES
            .iter()
            .map(PathBuf::from)
            .find(|place| place.is_file())
    })
}
