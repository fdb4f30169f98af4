//! Finds or installs the Chromium for the browser tests.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::process::find_program;
use crate::toolchain::apt_install;

/// Chromium without a window: it starts and draws in half the time. Debian's package, by its own path: the script on the search
/// path would stay between the tests and the process that they end.
const SHELL: &str = "chromium-headless-shell";
const SHELL_PLACE: &str = "/usr/lib/chromium/chromium-headless-shell";

/// Names of the program on the search path.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

const APT: &str = "/usr/bin/apt-get";

/// Paths of the program outside the search path.
const PLACES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/// The path of the browser for tests: `CHROME` in the environment, Debian's headless one, which is installed where that is
/// possible, or any that is installed.
pub(crate) fn for_tests() -> Result<PathBuf> {
    let shell = Path::new(SHELL_PLACE);
    if std::env::var_os("CHROME").is_none() {
        if !shell.is_file() && Path::new(APT).exists() {
            // Without it the tests only take longer.
            if let Err(error) = apt_install(&[SHELL], "for quick browser tests") {
                println!("{error:#}");
            }
        }
        if shell.is_file() {
            return Ok(shell.to_path_buf());
        }
    }
    find()
}

/// The path of a whole browser: `CHROME` in the environment, an installed one, or Debian's package.
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
