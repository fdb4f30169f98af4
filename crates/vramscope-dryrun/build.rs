//! Builds the stand-in for CUDA and puts it into `OUT_DIR`, where the library includes it.
//!
//! With rustc alone, since it has no dependencies: no second cargo, target folder or lock. `standin` is a link to the
//! sources of `vramscope-standin`, which packages contain as files. On other platforms than Linux with glibc on x86-64
//! or aarch64, where programs cannot be run this way, an empty file takes its place.

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
    // A preloaded library loads what it needs, and the system's older libgcc_s would get in the way of a conda
    // environment's: the linker finds this script instead.
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
    // Programs that open the driver by its name find this library, which is already loaded.
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
