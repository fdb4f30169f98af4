//! `run`: the program runs as it would alone, and the output explains why nothing was captured.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::program::{Place, leave_log};

#[test]
fn input_output_folder_and_exit_code_are_the_programs() {
    let place = Place::new();
    let mut command = place.command(&[
        "run",
        "sh",
        "-c",
        "cat; pwd -P; echo err >&2; exit 7",
        "--quiet",
    ]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"input\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_snapshot!(place.transcript(&output));
    assert!(place.files().is_empty());
}

#[test]
fn a_quiet_run_says_nothing_of_its_own() {
    let place = Place::new();
    place.log("a.raw", 3);
    let transcript = place.run_script(&["-q", "-o", "x.pickle"], &leave_log("a.raw", "1-1.raw"));
    assert_eq!(transcript, "exit code 0\n--- stdout\n--- stderr\n");
    assert_eq!(place.files(), ["a.raw", "x.pickle"]);
}

#[test]
fn a_program_that_is_not_there_or_none() {
    let place = Place::new();
    fs::write(place.path("text"), "no program").unwrap();
    assert_snapshot!(place.capture(&["run", "no-such-program"]));
    assert_snapshot!(place.capture(&["run", "./no-such-program"]));
    assert_snapshot!(place.capture(&["run", "./text"]));
    fs::set_permissions(place.path("text"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(place.capture(&["run", "./text"]));
}

#[test]
fn the_program_sees_few_variables_more() {
    let place = Place::new();
    let names = |text: String| {
        let mut names: Vec<_> = text
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0.to_owned()))
            .collect();
        names.sort();
        names
    };
    let mut with = names(place.run_script(&[], "env"));
    with.retain(|name| {
        std::env::var_os(name).is_none() && !["TMPDIR", "XDG_CACHE_HOME"].contains(&name.as_str())
    });
    with.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    // NVTX 1 and 2 are replaced only where they are missing.
    with.retain(|name| name != "LD_LIBRARY_PATH");
    let expected = [
        "ASAN_OPTIONS",
        "LD_PRELOAD",
        "NVTX_INJECTION64_PATH",
        "VRAMSCOPE_CAPTURE",
    ];
    assert_eq!(with, expected);
}

#[test]
fn only_the_user_may_enter_the_folder_of_the_library() {
    let place = Place::new();
    let transcript = place.run_script(&[], "stat -c %a \"$(dirname \"$LD_PRELOAD\")\"");
    assert!(transcript.contains("--- stdout\n700\n"), "{transcript}");
    assert!(place.files().is_empty(), "{:?}", place.files());
}

/// Processes that outlive the run have the library's path in `LD_PRELOAD`.
#[test]
fn the_library_stays_where_it_is() {
    let place = Place::new();
    let library = || {
        let transcript = place.run_script(&["-q"], "echo \"$LD_PRELOAD\"");
        let path = transcript
            .lines()
            .find_map(|line| line.strip_prefix("/HERE/"));
        path.unwrap_or_else(|| panic!("{transcript}")).to_owned()
    };
    let path = library();
    assert!(path.starts_with("cache/vramscope/"), "{path}");
    assert!(place.path(&path).is_file());
    assert_eq!(library(), path);
    assert!(place.files().is_empty(), "{:?}", place.files());
    // Not put where others may write.
    fs::set_permissions(place.path("cache"), fs::Permissions::from_mode(0o777)).unwrap();
    let path = library();
    assert!(path.starts_with("tmp/vramscope-"), "{path}");
    assert!(place.path(&path).is_file());
    assert_eq!(library(), path);
}

/// Writes a script that prints these variables.
fn printing(place: &Place, name: &str, variables: &str) {
    fs::write(
        place.path(name),
        format!("#!/bin/sh\necho \"{variables}\"\n"),
    )
    .unwrap();
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn containers_are_not_looked_into() {
    let place = Place::new();
    printing(
        &place,
        "docker",
        "preloaded: $LD_PRELOAD$NVTX_INJECTION64_PATH$LD_LIBRARY_PATH",
    );
    assert_snapshot!(place.capture(&["run", "./docker", "run", "image"]));
}

#[test]
fn python_is_told_to_name_its_functions() {
    let place = Place::new();
    let told = |options: &[&str], name: &str, existing: Option<&str>| {
        printing(
            &place,
            name,
            "$PYTHONPERFSUPPORT,${VRAMSCOPE_CAPTURE#*,depth=}",
        );
        let program = format!("./{name}");
        let mut command = place.command(&[&["run", "-q"], options, &[&program]].concat());
        command.envs(existing.map(|value| ("PYTHONPERFSUPPORT", value)));
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let (variable, rest) = output.split_once(',').unwrap();
        let depth = rest.split(',').next().unwrap();
        (variable.to_owned(), depth.to_owned())
    };
    for (options, name, existing, variable, depth) in [
        (&["--python", "on"][..], "train", None, "1", "256"),
        (&["--python", "on"], "train", Some("0"), "1", "256"),
        (&["--python", "on", "--depth", "7"], "train", None, "1", "7"),
        (
            &["--python", "on", "--stacks", "off"],
            "train",
            None,
            "",
            "0",
        ),
        (&["--python", "off"], "train", Some("1"), "1", "64"),
        // A script, so its version is unknown.
        (&[], "python3.12", None, "", "64"),
    ] {
        let expected = (variable.to_owned(), depth.to_owned());
        assert_eq!(
            told(options, name, existing),
            expected,
            "{options:?} {name}"
        );
    }
}

#[test]
fn somebody_elses_nvtx_stays() {
    let place = Place::new();
    let mut command = place.command(&["run", "sh", "-c", "echo $NVTX_INJECTION64_PATH"]);
    let output = command
        .env("NVTX_INJECTION64_PATH", "/opt/nsys.so")
        .output()
        .unwrap();
    assert_snapshot!(place.transcript(&output));
}

#[test]
fn programs_with_rights_of_their_own() {
    let place = Place::new();
    let shell = place.path("shell");
    fs::copy(fs::canonicalize("/bin/sh").unwrap(), &shell).unwrap();
    // Only root can change the owner of a file.
    if chown(&shell, Some(12_345), None).is_err() {
        return;
    }
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o4755)).unwrap();
    assert_snapshot!(place.capture(&["run", "./shell", "-c", "exit 3"]));
    fs::write(
        place.path("script"),
        format!("#!{}\nexit 4\n", shell.display()),
    )
    .unwrap();
    fs::set_permissions(place.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(place.capture(&["run", "./script"]));
}

/// An executable of 132 bytes that exits with 5 and needs no dynamic linker.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_static_program() {
    let place = Place::new();
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let address = 0x40_0000_u64;
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    elf.extend((address + 120).to_le_bytes());
    elf.extend(64_u64.to_le_bytes());
    elf.extend([0; 12]);
    elf.extend([64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for number in [0, address, address, 132, 132, 4096] {
        elf.extend(number.to_le_bytes());
    }
    // mov edi, 5; mov eax, 60 (exit); syscall
    elf.extend([0xBF, 5, 0, 0, 0, 0xB8, 60, 0, 0, 0, 0x0F, 0x05]);
    fs::write(place.path("static"), elf).unwrap();
    fs::set_permissions(place.path("static"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(place.capture(&["run", "./static"]));
}

/// A full disk: the recorder leaves an empty file. `--quiet` reports it too.
#[test]
fn a_log_without_room() {
    let place = Place::new();
    let empty = ": > \"${VRAMSCOPE_CAPTURE##*folder=}/17-1.raw\"";
    for (script, code) in [(empty.to_owned(), 1), (format!("{empty}; exit 9"), 9)] {
        let transcript = place.run_script(&["--quiet"], &script);
        let told = format!(
            "exit code {code}\n--- stdout\n--- stderr\nvramscope-capture: error: process 17 was not recorded: its log could \
             not be created in /HERE/tmp/"
        );
        assert!(transcript.starts_with(&told), "{transcript}");
        assert!(transcript.contains("--raw-dir"), "{transcript}");
    }
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn a_log_that_was_never_begun() {
    let place = Place::new();
    let transcript = place.run_script(
        &[],
        "head -c 8192 /dev/zero > \"${VRAMSCOPE_CAPTURE##*folder=}/1-1.raw\"",
    );
    assert!(transcript.starts_with("exit code 0\n"), "{transcript}");
    assert!(
        transcript.contains("so nothing was recorded"),
        "{transcript}"
    );
    assert!(!transcript.contains("nothing was captured"), "{transcript}");
}

#[test]
fn a_driver_that_nobody_used() {
    let place = Place::new();
    place.log("a.raw", 0);
    assert_snapshot!(place.run_script(&[], &leave_log("a.raw", "1-1.raw")));
    assert_snapshot!(place.run_script(&["--start-paused"], &leave_log("a.raw", "1-1.raw")));
}

/// The thread's stack is unwound through one of the library's hooks, by the unwinder that the C library loads.
#[test]
fn a_thread_that_is_cancelled_in_the_driver_ends() {
    let place = Place::new();
    let driver = "#include <unistd.h>\nint cuCtxSynchronize(void) { for (;;) pause(); }\n";
    let program = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
        int cuCtxSynchronize(void);\n\
        static void *run(void *argument) { cuCtxSynchronize(); return argument; }\n\
        int main(void) {\n\
            pthread_t thread; void *end;\n\
            pthread_create(&thread, 0, run, 0);\n\
            usleep(100000);\n\
            pthread_cancel(thread);\n\
            pthread_join(thread, &end);\n\
            puts(end == PTHREAD_CANCELED ? \"cancelled\" : \"ended\");\n\
            return 0;\n\
        }\n";
    fs::write(place.path("driver.c"), driver).unwrap();
    fs::write(place.path("program.c"), program).unwrap();
    for arguments in [
        &[
            "-shared",
            "-fPIC",
            "-Wl,-soname,libcuda.so.1",
            "driver.c",
            "-o",
            "libcuda.so.1",
        ][..],
        &["program.c", "libcuda.so.1", "-pthread", "-o", "program"],
    ] {
        let mut compiler = std::process::Command::new("cc");
        let status = compiler
            .args(arguments)
            .current_dir(place.path(""))
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }
    let mut command = place.command(&["run", "-q", "./program"]);
    let output = command
        .env("LD_LIBRARY_PATH", place.path(""))
        .output()
        .unwrap();
    assert_eq!(
        place.transcript(&output),
        "exit code 0\n--- stdout\ncancelled\n--- stderr\n"
    );
}
