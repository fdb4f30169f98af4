//! Builds the injected library and puts it into `OUT_DIR`, where the binary includes it.
//!
//! A separate cargo builds it with the profile `injected` and a target folder of its own: its exports must not be
//! linked into anything else here, and it must be optimised in debug builds too. Its sources stand beside these, or else
//! cargo takes them from where it took these. Packagers can name a finished library in `VRAMSCOPE_INJECT`, for builds
//! without a network. On platforms without capture (all but Linux with glibc on x86-64 and aarch64) an
//! empty file takes its place.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const LIBRARY: &str = "libvramscope_inject.so";

fn main() -> io::Result<()> {
    let carried = PathBuf::from(variable("OUT_DIR")?).join(LIBRARY);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=VRAMSCOPE_INJECT");
    if let Some(built) = env::var_os("VRAMSCOPE_INJECT") {
        println!("cargo::rerun-if-changed={}", Path::new(&built).display());
        fs::copy(&built, &carried).map_err(|error| {
            let built = Path::new(&built).display();
            io::Error::other(format!("VRAMSCOPE_INJECT names {built}: {error}"))
        })?;
    } else if can_capture()? && env::var_os("DOCS_RS").is_none() {
        fs::copy(build()?, &carried)?;
    } else {
        fs::write(&carried, [])?;
    }
    Ok(())
}

fn can_capture() -> io::Result<bool> {
    let is = |name: &str, values: &[&str]| {
        Ok::<_, io::Error>(values.contains(&variable(name)?.to_string_lossy().as_ref()))
    };
    Ok(is("CARGO_CFG_TARGET_OS", &["linux"])?
        && is("CARGO_CFG_TARGET_ENV", &["gnu"])?
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])?)
}

/// Builds the library for the binary's target. Returns its path.
fn build() -> io::Result<PathBuf> {
    let target = variable("TARGET")?;
    let folder = PathBuf::from(variable("OUT_DIR")?).join("build");
    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    let is_beside = crates.join("vramscope-inject/Cargo.toml").is_file();
    let within = if is_beside {
        crates.clone()
    } else {
        depend_on_it()?
    };
    let beside = [
        "vramscope-inject/src",
        "vramscope-inject/build.rs",
        "vramscope-inject/Cargo.toml",
        "vramscope-record/src",
        "vramscope-record/Cargo.toml",
        "../Cargo.toml",
        "../Cargo.lock",
    ];
    for name in beside.iter().filter(|_| is_beside) {
        println!("cargo::rerun-if-changed={}", crates.join(name).display());
    }
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .args([
            "build",
            "--package",
            "vramscope-inject",
            "--profile",
            "injected",
            "--quiet",
        ])
        .args(is_beside.then_some("--locked"))
        .arg("--target")
        .arg(&target)
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(within);
    for (name, _) in env::vars_os() {
        if is_about_this_build(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status()?;
    if !status.success() {
        return Err(io::Error::other(format!(
            "the library to be injected could not be built: {status}"
        )));
    }
    Ok(folder.join(target).join("injected").join(LIBRARY))
}

/// Makes a package that depends on the published library, so that cargo finds it, and returns its folder.
fn depend_on_it() -> io::Result<PathBuf> {
    let folder = PathBuf::from(variable("OUT_DIR")?).join("injected");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("lib.rs"), "")?;
    let version = env!("CARGO_PKG_VERSION");
    let manifest = format!(
        r#"[package]
name = "injected"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
vramscope-inject = "={version}"

[workspace]

# As in the project's own.
[profile.injected]
inherits = "release"
codegen-units = 1
debug = false
lto = true
strip = true
"#
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(folder)
}

/// Whether an environment variable concerns only the build of this package (lints, coverage, cargo's own
/// variables), so that the other build must not inherit it.
fn is_about_this_build(name: &str) -> bool {
    let is_ours = [
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "CARGO_PROFILE_",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix));
    is_ours
        || name.ends_with("RUSTFLAGS")
        || [
            "RUSTC_WORKSPACE_WRAPPER",
            "CARGO_BUILD_TARGET",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
        ]
        .contains(&name)
}

fn variable(name: &str) -> io::Result<std::ffi::OsString> {
    env::var_os(name).ok_or_else(|| io::Error::other(format!("cargo did not set {name}")))
}
