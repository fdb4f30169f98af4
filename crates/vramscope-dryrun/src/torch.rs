//! The torch that a program will import, found by asking its Python without importing torch.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// What runs in the program's Python.
const QUESTION: &str = include_str!("question.py");

/// A torch that can be run over the stand-in.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Torch {
    /// As torch writes it: `2.7.1+cu126`.
    pub version: String,
    /// The CUDA that it was built for, as the runtime writes it: 12060 for 12.6. 0 for a build without CUDA.
    pub cuda: u32,
    /// The cuDNN that it asks for, as that library writes it; 0 if its package does not say.
    pub cudnn: u32,
    /// The same of NCCL.
    pub nccl: u32,
    /// The Python that was asked.
    pub python: String,
}

/// The Python that runs a program: itself, that of its first line (`torchrun`, `accelerate`), or else `python3`.
fn python_of(program: &OsStr) -> OsString {
    let name = Path::new(program).file_name().unwrap_or(program);
    if name.to_string_lossy().starts_with("python") {
        return program.to_owned();
    }
    let interpreter = find(program).and_then(|file| {
        let mut line = Vec::new();
        let file = File::open(file).ok()?.take(1024);
        BufReader::new(file).read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8(line).ok()?;
        let words = line.strip_prefix("#!")?.split_whitespace();
        let python = words.into_iter().find(|word| word.contains("python"))?;
        Some(OsString::from(python))
    });
    interpreter.unwrap_or_else(|| "python3".into())
}

/// The file of a program, as a shell finds it.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.to_string_lossy().contains('/') {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// Asks the Python that runs `program` which torch it would import.
///
/// # Errors
/// In one line, what is lacking and how to get it.
pub fn find_torch(program: &OsStr) -> Result<Torch, String> {
    if !find(program).is_some_and(|file| file.is_file()) {
        let name = program.display();
        return Err(format!("cannot start {name}: there is no such program"));
    }
    let python = python_of(program);
    let asked = Command::new(&python)
        .args(["-c", QUESTION])
        .stdin(Stdio::null())
        .output();
    let name = python.display();
    let output = asked.map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("it said nothing").to_owned();
        return Err(format!("{name} does not say which torch it has: {last}"));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    // What a site's own start prints comes before.
    let answer = lines.lines().last().unwrap_or_default();
    let torch: Option<Torch> = serde_json::from_str(answer)
        .map_err(|error| format!("{name} does not say which torch it has: {error}"))?;
    let torch = torch.ok_or_else(|| {
        format!("{name} has no torch: install one built for CUDA, {name} -m pip install torch")
    })?;
    usable(torch)
}

/// The same torch, if it can be run over the stand-in.
fn usable(torch: Torch) -> Result<Torch, String> {
    let (plain, _) = torch
        .version
        .split_once('+')
        .unwrap_or((&torch.version, ""));
    let python = &torch.python;
    if torch.cuda == 0 {
        return Err(format!(
            "torch {} is built without CUDA, so its allocator for GPUs is not there. Install the build for CUDA, whose NVIDIA \
             packages are not needed: {python} -m pip install --no-deps --force-reinstall torch=={plain} (from PyPI)",
            torch.version
        ));
    }
    let mut parts = plain.split('.').map(|part| part.parse().unwrap_or(0));
    let version = (parts.next().unwrap_or(0u32), parts.next().unwrap_or(0u32));
    if version < (2, 1) {
        return Err(format!(
            "torch {} is older than 2.1, whose recorder a dry run needs: {python} -m pip install --upgrade torch",
            torch.version
        ));
    }
    Ok(torch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torch(version: &str, cuda: u32) -> Torch {
        let python = "venv/bin/python".to_owned();
        Torch {
            version: version.to_owned(),
            cuda,
            cudnn: 0,
            nccl: 0,
            python,
        }
    }

    #[test]
    fn a_build_without_cuda_is_told_with_the_wheel_to_install() {
        let said = usable(torch("2.7.1+cpu", 0)).unwrap_err();
        assert!(
            said.contains("torch 2.7.1+cpu is built without CUDA"),
            "{said}"
        );
        assert!(
            said.contains(
                "venv/bin/python -m pip install --no-deps --force-reinstall torch==2.7.1 "
            ),
            "{said}"
        );
        assert!(
            usable(torch("2.0.1+cu117", 11_070))
                .unwrap_err()
                .contains("older than 2.1")
        );
        assert!(usable(torch("2.15.0", 13_020)).is_ok());
    }

    #[test]
    fn the_python_of_a_script_is_that_of_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("torchrun");
        std::fs::write(&script, "#!/opt/venv/bin/python3.11\nimport sys\n").unwrap();
        assert_eq!(python_of(script.as_os_str()), "/opt/venv/bin/python3.11");
        assert_eq!(python_of("venv/bin/python3".as_ref()), "venv/bin/python3");
        assert_eq!(python_of("no-such-program".as_ref()), "python3");
    }
}
