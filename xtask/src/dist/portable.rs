//! Programs for other machines: linked with the C library of old systems, by zig, which brings its own description of
//! every version of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::installed;
use crate::process::{find_program, output, root, run, run_for_output, target_dir};
use crate::python;

use super::inside::Component;
use super::symbols;

/// The newest C library that may be needed. Rust's own library needs as much; Red Hat 7 and all later systems have it,
/// and so have the oldest containers in which wheels for `manylinux2014` run.
const GLIBC: &str = "2.17";

/// Builds `vramscope` with these features and the page inside, and `vramscope-capture` with its library. Fails if one
/// needs more than it should, or does not start.
pub(super) fn build(
    target: &str,
    features: &[&str],
    page: &Path,
    builders: &Path,
) -> Result<[PathBuf; 2]> {
    let compile =
        |package, features: &[&str], profile, inside: Option<(&str, &Path)>, file: &str| {
            let mut zigbuild = installed::program(builders, "cargo-zigbuild")?;
            zigbuild.args(["zigbuild", "--locked", "--package", package]);
            zigbuild.args(features).args(["--profile", profile]);
            zigbuild.args(["--target", &format!("{target}.{GLIBC}")]);
            // Inherited variables would replace the embedded files.
            zigbuild.env_remove("VRAMSCOPE_PAGE");
            zigbuild.env_remove("VRAMSCOPE_INJECT");
            run(zigbuild.envs(inside))?;
            let built = target_dir().join(target).join(profile).join(file);
            symbols::hold(&built, GLIBC)?;
            anyhow::Ok(built)
        };
    // The library goes into other people's programs, which may run on an even older system than this one.
    let library = "libvramscope_inject.so";
    let library = compile("vramscope-inject", &[], "injected", None, library)?;
    let carried = Some(("VRAMSCOPE_INJECT", library.as_path()));
    let capture = "vramscope-capture";
    let capture = compile(capture, &[], "release", carried, capture)?;
    let shown = Some(("VRAMSCOPE_PAGE", page));
    let program = compile("vramscope-cli", features, "release", shown, "vramscope")?;
    starts(target, &program)?;
    starts(target, &capture)?;
    Ok([program, capture])
}

/// The command that starts a program: the program itself or, for another processor, qemu with the C library of Debian's
/// cross compilers. `None` if that is not installed.
fn starter(target: &str, program: &Path) -> Option<Command> {
    let processor = target.split('-').next().unwrap_or(target);
    if processor == std::env::consts::ARCH {
        return Some(Command::new(program));
    }
    let mut qemu = Command::new(find_program(&[&format!("qemu-{processor}")])?);
    let system = format!("/usr/{processor}-linux-gnu");
    qemu.args(["-L", &system]).arg(program);
    Path::new(&system).is_dir().then_some(qemu)
}

/// Checks that a program starts and prints the common version, and that `vramscope` reads a snapshot.
fn starts(target: &str, program: &Path) -> Result<()> {
    let (Some(mut version), Some(mut peak)) = (starter(target, program), starter(target, program))
    else {
        println!("nothing here runs programs for {target}: it is not started");
        return Ok(());
    };
    if program.ends_with("vramscope") {
        let snapshot = root().join("tests/fixtures/torch-2.15.0/training.pickle");
        run_for_output(peak.arg("peak").arg(snapshot))?;
    }
    let told = run_for_output(version.arg("--version"))?;
    let version = env!("CARGO_PKG_VERSION");
    ensure!(
        told.split_whitespace().nth(1) == Some(version),
        "{} says {told:?}, not that its version is {version}",
        program.display()
    );
    Ok(())
}

/// The libraries that zig links with everything.
pub(super) fn linked(builders: &Path) -> Result<Vec<Component>> {
    let mut ask = installed::program(builders, "python")?;
    let script = "import os, ziglang; print(os.path.dirname(ziglang.__file__))";
    let folder = output(ask.args(["-c", script])).context("zig is not installed")?;
    let folder = Path::new(&folder);
    let version = python::ZIG.rsplit('=').next().unwrap_or_default();
    let component = |name: &str, licence: &str, text: &str| Component {
        id: format!("pkg:generic/zig-{name}@{version}"),
        name: format!("zig's {name}"),
        version: version.to_owned(),
        licence: licence.to_owned(),
        address: "https://ziglang.org".to_owned(),
        texts: vec![folder.join(text)],
        uses: BTreeSet::new(),
    };
    Ok(vec![
        component("compiler_rt", "MIT", "LICENSE"),
        component(
            "libunwind",
            "Apache-2.0 WITH LLVM-exception",
            "lib/libunwind/LICENSE.TXT",
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::starter;
    use std::path::Path;

    #[test]
    fn programs_of_this_machine_start_by_themselves_and_unknown_ones_not_at_all() {
        let here = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let program = Path::new("program");
        assert_eq!(starter(&here, program).unwrap().get_program(), "program");
        assert!(starter("pdp11-unknown-linux-gnu", program).is_none());
    }
}
