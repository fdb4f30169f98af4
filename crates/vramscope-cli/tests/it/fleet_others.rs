//! `vramscope fleet pack` in a folder with other files, or from elsewhere: none of these is removed or overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fleet_pack::{Job, TABLES};
use crate::program::transcript;

/// Everything in and below a folder: files with their content.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder {
                folders.push(entry.path());
            }
            let content = (!is_folder).then(|| fs::read(entry.path()).unwrap_or_default());
            all.insert(
                entry.path().strip_prefix(folder).unwrap().to_owned(),
                content,
            );
        }
    }
    all
}

fn write(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "precious").unwrap();
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let job = Job::new(1, 100);
    fs::create_dir(job.dataset()).unwrap();
    fs::write(job.dataset().join("mine.txt"), "").unwrap();
    let output = job.command(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", transcript(&output));
    let names = fs::read_dir(job.dataset()).unwrap();
    assert_eq!(names.count(), 1);
}

/// Other files in a dataset stay, even if they look like a part of it, and the answer says so.
#[test]
fn what_is_not_of_a_dataset_stays_in_it() {
    let job = Job::new(2, 100);
    job.pack(&[]);
    let others = [
        "notes/x/thesis.txt",
        "notes/rank=0/part.parquet",
        "events/rank=0/part (conflicted copy).parquet",
        "events/rank=0/part-0123456789abcdef.parquet",
        "events/notes/thesis.txt",
        "pieces/rank=0/notes.txt",
        ".packing-abc123/thesis.txt",
        ".packing-def123/lock",
        ".claims/thesis.txt",
        ".hidden",
    ];
    for path in others {
        write(&job.dataset().join(path));
    }
    fs::create_dir(job.dataset().join("empty")).unwrap();
    let before = tree(&job.dataset());
    for further in [&[][..], &["--prune"]] {
        let output = job.command(further).output().unwrap();
        let text = transcript(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(
            text.contains("not part of the dataset: empty, notes."),
            "{text}"
        );
        assert_eq!(tree(&job.dataset()), before);
    }
    let mut finish = crate::program::command(&["fleet", "pack", "--finish", "-o"]);
    let finished = finish.arg(job.dataset()).output().unwrap();
    assert_eq!(finished.status.code(), Some(0), "{}", transcript(&finished));
    assert_eq!(tree(&job.dataset()), before);
}

/// Snapshots may be inside the dataset, and stay.
#[test]
fn snapshots_in_a_dataset_are_packed_and_stay() {
    let job = Job::new(1, 100);
    job.pack(&[]);
    let inside = job.dataset().join("dumps/host0/rank1.pickle");
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(job.runs().join(job.fleet.name(0)), &inside).unwrap();
    let mut pack = crate::program::command(&["fleet", "pack", "--json"]);
    pack.arg(job.dataset().join("dumps"))
        .arg("-o")
        .arg(job.dataset());
    let (code, part) = crate::fleet_pack::figures(&pack.output().unwrap());
    assert_eq!((code, &part["packed"]), (0, &1.into()), "{part}");
    assert!(inside.exists());
    assert_eq!(job.files("pieces").len(), 2);
}

/// Nothing is removed or written through a link, wherever it is.
#[cfg(unix)]
#[test]
fn no_link_in_a_dataset_is_followed() {
    use std::os::unix::fs::symlink;

    let places = TABLES.into_iter().chain(["pieces"]);
    let tables = places.clone().map(str::to_owned);
    let ranks = places.map(|table| format!("{table}/rank=0"));
    let others = ["format", "overview.vset", "x", ".claims", ".packing-xxx123"];
    let others = others.map(str::to_owned).into_iter();
    for place in tables.chain(ranks).chain(others) {
        let job = Job::new(1, 100);
        job.pack(&[]);
        let victim = job.folder.path().join("victim");
        for path in ["thesis.txt", "sub/thesis.txt", "rank=0/thesis.txt", "lock"] {
            write(&victim.join(path));
        }
        // Named like the dataset's own file, too.
        for file in TABLES.map(|table| job.files(table)).concat() {
            let name = file.file_name().unwrap();
            write(&victim.join("rank=0").join(name));
            write(&victim.join(name));
        }
        let link = job.dataset().join(&place);
        if link.is_dir() {
            fs::remove_dir_all(&link).unwrap();
        } else if link.exists() {
            fs::remove_file(&link).unwrap();
        }
        let target = match &*place {
            "format" | "overview.vset" => victim.join("thesis.txt"),
            _ => victim.clone(),
        };
        symlink(&target, &link).unwrap();
        let before = tree(&victim);
        // Another recording, so that there is something to write and to remove.
        fs::write(job.runs().join("rank7.pickle"), "no snapshot").unwrap();
        job.touch();
        for further in [&[][..], &["--prune"]] {
            let output = job.command(further).output().unwrap();
            assert!(
                output.status.code().unwrap() <= 2,
                "{}",
                transcript(&output)
            );
            assert_eq!(tree(&victim), before, "{place}: {}", transcript(&output));
            assert!(link.is_symlink(), "{place}");
        }
    }
}

/// A pipe in place of a file causes no waiting, and a link in place of the format file is not written through.
#[cfg(unix)]
#[test]
fn pipes_in_a_dataset_are_not_waited_for() {
    let questions = [
        &["fleet", "peaks"][..],
        &["brief"],
        &["fleet", "pack", "--finish", "-o"],
    ];
    for place in ["format", "overview.vset", "pieces/rank=0", "events/rank=0"] {
        let job = Job::new(1, 100);
        job.pack(&[]);
        let mut path = job.dataset().join(place);
        if path.is_dir() {
            path = fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
        }
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        for question in questions {
            let mut asked = crate::program::command(question);
            let output = asked.arg(job.dataset()).output().unwrap();
            assert!(output.status.code().is_some(), "{place}");
        }
        assert!(job.command(&[]).output().unwrap().status.code().is_some());
        if path.extension().is_some_and(|ending| ending == "vset") {
            let mut brief = crate::program::command(&["brief"]);
            assert!(brief.arg(&path).output().is_ok());
        }
    }
}
