//! Finds or installs a Rust toolchain that can build for `wasm32-unknown-unknown`.
//!
//! It tries the active toolchain, if it has the target; `rustup target add`; and on Debian the distribution's
//! `rustc-web`, which builds the standard library from source. The last one is for machines that reach a
//! package mirror but not rustup's server.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, in_root, output, root, run, run_quiet, target_dir};

/// The target's name.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Debian's packages: compiler, cargo, sources of the library, linker.
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// The linker in Debian's lld-22. rustc recognises the kind of a linker by this exact file name.
const DEBIAN_LINKER: &str = "/usr/lib/llvm-22/bin/wasm-ld";

/// Variable that forces a choice, to test the others: `active`, `rustup` or `debian`.
const FORCE: &str = "VRAMSCOPE_WASM_TOOLCHAIN";

/// A toolchain that can build for the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The active toolchain, with a compiled standard library.
    Active,
    /// Debian's compiler in `/usr/bin`, which builds the standard library first.
    Debian,
}

impl Toolchain {
    /// This toolchain's cargo with a subcommand and everything that the target needs.
    ///
    /// It uses its own target directory, because two compilers would invalidate each other's outputs.
    pub fn cargo(self, subcommand: &str) -> Command {
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

    /// Name of its folder in the target directory.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Active => "web",
            Self::Debian => "web-debian",
        }
    }

    /// The compiler's version and the name of the toolchain, as Debian's builds the standard library as well.
    ///
    /// # Errors
    ///
    /// If the compiler does not answer.
    pub fn version(self) -> Result<String> {
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

/// Finds a toolchain, installing what is missing if possible, and prints its choice.
///
/// # Errors
///
/// If there is none and none can be installed. The message contains the command that helps.
pub fn find() -> Result<Toolchain> {
    let toolchain = choose()?;
    println!("wasm32 toolchain: {}", toolchain.description());
    Ok(toolchain)
}

/// The toolchain that is available without installing anything, or the one that [`find`] found.
pub fn present() -> Option<Toolchain> {
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
    // rustc prints the folder even if it does not exist.
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

/// Debian's cargo, without rustup's variables in the environment.
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

/// Installs Debian packages, as root on a Debian machine.
///
/// # Errors
///
/// If not root (the message contains the command), or if apt fails.
pub fn apt_install(packages: &[&str], purpose: &str) -> Result<()> {
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
    // An outdated list names versions that no longer exist. Without a network, the installation below reports
    // it.
    let _ = run_quiet(apt().args(["-qq", "update"]));
    let mut install = apt();
    install.args(["-qq", "install", "--yes", "--no-install-recommends"]);
    install.args(packages);
    run_quiet(&mut install).with_context(|| format!("cannot install {list}"))
}
