//! Builds the stand-in for CUDA and puts it into `OUT_DIR`, where the library includes it.
//!
//! By rustc alone, for it has no dependencies: no second cargo, target folder or lock. `standin` is a link to the
//! sources of `vramscope-standin`, which packages have as files. Where programs cannot be run over it (all but Linux with
//! glibc on x86-64 and aarch64) an empty file takes its place.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=standin");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let library = out.join("libvramscope_standin.so");
    let is =
        |name: &str, wanted: &[&str]| wanted.contains(&env::var(name).unwrap_or_default().as_str());
    let can_run = is("CARGO_CFG_TARGET_OS", &["linux"])
        && is("CARGO_CFG_TARGET_ENV", &["gnu"])
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"]);
    if !can_run || env::var_os("DOCS_RS").is_some() {
        return fs::write(library, []);
    }
    // What is preloaded preloads what it needs, and a system's older libgcc_s would be in the way of a conda environment's:
    // the linker finds this script in its place.
    fs::write(out.join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n")?;
    let mut rustc = Command::new(variable("RUSTC")?);
    rustc.args([
        "standin/lib.rs",
        "--crate-name",
        "vramscope_standin",
        "--crate-type",
        "cdylib",
        "--edition",
        "2024",
    ]);
    rustc.args([
        "--cap-lints",
        "allow",
        "-Copt-level=s",
        "-Cpanic=abort",
        "-Cstrip=symbols",
        "-Ccodegen-units=1",
    ]);
    rustc
        .arg("--target")
        .arg(variable("TARGET")?)
        .arg("-L")
        .arg(&out)
        .arg("-o")
        .arg(&library);
    // Whoever opens the driver by its name finds this one, which is loaded already.
    rustc.args([
        "-Clink-arg=-Wl,-soname,libcuda.so.1",
        "-Clink-arg=-Wl,-Bsymbolic",
    ]);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.display()));
    }
    match rustc.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("the stand-in for CUDA could not be built")),
    }
}

fn variable(name: &str) -> io::Result<std::ffi::OsString> {
    env::var_os(name).ok_or_else(|| io::Error::other(format!("cargo did not set {name}")))
}
