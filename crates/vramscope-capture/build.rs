//! Builds the injected library and puts it into `OUT_DIR`, where the binary includes it.
//!
//! A separate cargo builds it with the profile `injected` and a target folder of its own: its exports must not be
//! linked into anything else here, and it must be optimised in debug builds too. Packagers can name a finished
//! library in `VRAMSCOPE_INJECT`. On platforms without capture (all but Linux with glibc on x86-64 and aarch64) an
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
    } else if can_capture()? {
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
    let crates = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    for name in [
        "vramscope-inject/src",
        "vramscope-inject/build.rs",
        "vramscope-inject/Cargo.toml",
        "vramscope-record/src",
        "vramscope-record/Cargo.toml",
        "../Cargo.toml",
        "../Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={}", crates.join(name).display());
    }
    let target = variable("TARGET")?;
    let folder = PathBuf::from(variable("OUT_DIR")?).join("build");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .args([
            "build",
            "--package",
            "vramscope-inject",
            "--profile",
            "injected",
            "--locked",
            "--quiet",
        ])
        .arg("--target")
        .arg(&target)
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(&crates);
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
