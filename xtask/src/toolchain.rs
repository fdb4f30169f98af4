//! Finds, or installs, a Rust toolchain that can build for `wasm32-unknown-unknown`.
//!
//! In this order: the active toolchain if it has the target; `rustup target add`; on Debian the
//! distribution's `rustc-web`, which builds the standard library from its own sources. The last
//! is for machines that reach a package mirror but not rustup's server.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, in_root, output, root, run, run_quiet, target_dir};

/// The target's name.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Debian's packages: compiler, cargo, the library's sources, the linker.
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Where lld-22 puts the linker; rustc tells a linker's kind by this exact file name.
const DEBIAN_LINKER: &str = "/usr/lib/llvm-22/bin/wasm-ld";

/// Forces one choice, for testing the others: `active`, `rustup` or `debian`.
const FORCE: &str = "VRAMSCOPE_WASM_TOOLCHAIN";

/// A toolchain that can build for the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The active toolchain, its standard library ready made.
    Active,
    /// Debian's own compiler in `/usr/bin`, building the standard library first.
    Debian,
}

impl Toolchain {
    /// Cargo of this toolchain, with the subcommand and all that the target needs.
    ///
    /// It has a target directory of its own: two compilers must not invalidate each other's work.
    pub(crate) fn cargo(self, subcommand: &str) -> Command {
        let mut command = match self {
            Self::Active => cargo(),
            Self::Debian => debian_cargo(),
        };
        command.args([subcommand, "--target", WASM, "--target-dir"]);
        command.arg(target_dir().join(self.folder()));
        if self == Self::Debian {
            command.arg("-Zbuild-std=std,panic_abort");
        }
        command
    }

    /// The name of its folder within the target directory.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Active => "web",
            Self::Debian => "web-debian",
        }
    }

    /// What the compiler says about itself, and the name of the toolchain: Debian's builds the
    /// standard library as well.
    ///
    /// # Errors
    ///
    /// When the compiler does not answer.
    pub(crate) fn version(self) -> Result<String> {
        let mut rustc = match self {
            Self::Active => active_rustc(),
            Self::Debian => Command::new(DEBIAN_RUSTC),
        };
        let version = output(rustc.arg("-vV")).context("rustc does not answer")?;
        Ok(format!("{}\n{version}", self.folder()))
    }

    fn description(self) -> &'static str {
        match self {
            Self::Active => "the active toolchain",
            Self::Debian => "Debian's rustc-web, building the standard library (about a minute)",
        }
    }
}

/// Finds a toolchain, installing what is missing where it may, and says which it took.
///
/// # Errors
///
/// When there is none and none can be installed; the message holds the command that helps.
pub(crate) fn find() -> Result<Toolchain> {
    let toolchain = choose()?;
    println!("wasm32 toolchain: {}", toolchain.description());
    Ok(toolchain)
}

/// The toolchain that is there without installing anything. Once [`find`] has found one, it is that one.
pub(crate) fn present() -> Option<Toolchain> {
    if (may_be("active") || may_be("rustup")) && active_has_target() {
        return Some(Toolchain::Active);
    }
    (may_be("debian") && debian_has_toolchain()).then_some(Toolchain::Debian)
}

fn may_be(name: &str) -> bool {
    let forced = std::env::var(FORCE).unwrap_or_default();
    forced.is_empty() || forced == name
}

fn choose() -> Result<Toolchain> {
    if may_be("active") && active_has_target() {
        return Ok(Toolchain::Active);
    }
    if may_be("rustup") && rustup_adds_target() {
        return Ok(Toolchain::Active);
    }
    if may_be("debian") && Path::new("/usr/bin/apt-get").exists() {
        if !debian_has_toolchain() {
            apt_install(&DEBIAN_PACKAGES, "to build for the browser")?;
        }
        return Ok(Toolchain::Debian);
    }
    bail!(
        "no Rust toolchain here can build for the browser; try\n    rustup target add {WASM}\n\
         or, on Debian,\n    apt-get install {}",
        DEBIAN_PACKAGES.join(" ")
    )
}

fn active_has_target() -> bool {
    let mut command = active_rustc();
    command.args(["--print", "target-libdir", "--target", WASM]);
    // rustc prints the folder whether or not it is there.
    output(&mut command).is_some_and(|libdir| Path::new(&libdir).is_dir())
}

fn active_rustc() -> Command {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    in_root(Command::new(rustc))
}

fn rustup_adds_target() -> bool {
    let mut command = in_root(Command::new("rustup"));
    command.args(["target", "add", WASM]);
    if output(Command::new("rustup").arg("--version")).is_none() {
        return false;
    }
    run(&mut command).is_ok() && active_has_target()
}

fn debian_has_toolchain() -> bool {
    let mut command = Command::new("dpkg-query");
    command.args(["--show", "--showformat=${db:Status-Status} "]);
    command.args(DEBIAN_PACKAGES);
    output(&mut command).is_some_and(|states| {
        states
            .split_whitespace()
            .filter(|state| *state == "installed")
            .count()
            == DEBIAN_PACKAGES.len()
    })
}

/// Debian's cargo, kept apart from rustup's settings in the environment.
fn debian_cargo() -> Command {
    let mut command = in_root(Command::new("/usr/bin/cargo"));
    for variable in [
        "CARGO",
        "RUSTUP_TOOLCHAIN",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
    ] {
        command.env_remove(variable);
    }
    command.env("RUSTC", DEBIAN_RUSTC);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", DEBIAN_LINKER);
    // Allows -Zbuild-std on a stable compiler.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

/// Installs Debian packages when running as root on a Debian machine.
///
/// # Errors
///
/// When not root (the message holds the command) or when apt fails.
pub(crate) fn apt_install(packages: &[&str], purpose: &str) -> Result<()> {
    let list = packages.join(" ");
    let is_root = output(Command::new("id").arg("-u")).is_some_and(|id| id == "0");
    if !is_root {
        bail!("missing packages {purpose}; run\n    sudo apt-get install {list}");
    }
    println!("installing Debian packages {purpose}: {list}");
    let apt = || {
        let mut command = Command::new("apt-get");
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .current_dir(root());
        command
    };
    // A stale list names versions that are gone; without the net the install below says so.
    let _ = run_quiet(apt().args(["-qq", "update"]));
    let mut install = apt();
    install.args(["-qq", "install", "--yes", "--no-install-recommends"]);
    install.args(packages);
    run_quiet(&mut install).with_context(|| format!("cannot install {list}"))
}
