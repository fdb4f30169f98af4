//! Finds or installs a Rust toolchain that can build for `wasm32-unknown-unknown`: the active one, to which rustup may
//! have to add the target, or Debian's `rustc-web`, which builds the standard library from source. The latter is for
//! machines that reach a package mirror but not rustup's server.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, in_root, output, run, run_quiet, target_dir};

/// The target's name.
pub const WASM: &str = "wasm32-unknown-unknown";

/// Debian's packages: compiler, cargo, sources of the library, linker.
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// The linker in Debian's lld-22. rustc recognises the kind of a linker by this exact file name.
const DEBIAN_LINKER: &str = "/usr/lib/llvm-22/bin/wasm-ld";

/// Forces the other choice, if it is `debian`.
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

    /// The compiler's version and the toolchain's name, since Debian's builds the standard library as well.
    pub fn version(self) -> Result<String> {
        let mut rustc = match self {
            Self::Active => active_rustc(),
            Self::Debian => Command::new(DEBIAN_RUSTC),
        };
        let version = output(rustc.arg("-vV")).context("rustc does not answer")?;
        Ok(format!("{}\n{version}", self.folder()))
    }
}

/// Finds an installed toolchain, or installs what is missing. An error contains the command that helps.
pub fn find() -> Result<Toolchain> {
    let only_debian = std::env::var(FORCE).is_ok_and(|forced| forced == "debian");
    if !only_debian && active_has_target() {
        return Ok(Toolchain::Active);
    }
    if debian_has_toolchain() {
        return Ok(Toolchain::Debian);
    }
    if !only_debian && rustup_adds_target() {
        return Ok(Toolchain::Active);
    }
    if Path::new(APT).exists() {
        apt_install(&DEBIAN_PACKAGES, "to build for the browser")?;
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
    let mut rustup = in_root(Command::new("rustup"));
    run(rustup.args(["target", "add", WASM])).is_ok() && active_has_target()
}

fn debian_has_toolchain() -> bool {
    let mut command = Command::new("dpkg-query");
    command.args(["--show", "--showformat=${db:Status-Status} "]);
    command.args(DEBIAN_PACKAGES);
    let states = output(&mut command).unwrap_or_default();
    states.split(' ').eq(DEBIAN_PACKAGES.map(|_| "installed"))
}

/// Debian's cargo, without rustup's variables in the environment.
fn debian_cargo() -> Command {
    let mut command = in_root(Command::new("/usr/bin/cargo"));
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("RUSTC", DEBIAN_RUSTC);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", DEBIAN_LINKER);
    // Allows -Zbuild-std on a stable compiler.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

/// Debian's installer.
pub const APT: &str = "/usr/bin/apt-get";

/// Installs Debian packages, as root on a Debian machine; otherwise the error contains the command.
pub fn apt_install(packages: &[&str], purpose: &str) -> Result<()> {
    let list = packages.join(" ");
    let is_root = output(Command::new("id").arg("-u")).is_some_and(|id| id == "0");
    if !is_root {
        bail!("missing packages {purpose}; run\n    sudo apt-get install {list}");
    }
    println!("installing Debian packages {purpose}: {list}");
    // An outdated list names versions that no longer exist. If there is no network, the installation below reports it.
    let _ = run_quiet(Command::new(APT).args(["-qq", "update"]));
    let mut install = Command::new(APT);
    install.args(["-qq", "install", "--yes", "--no-install-recommends"]);
    install
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive");
    run_quiet(&mut install).with_context(|| format!("cannot install {list}"))
}
