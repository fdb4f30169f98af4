//! `plan`: from ideal to real, with a trace and without, and files without segments.

use insta::assert_snapshot;

use crate::program::{fixtures, transcript, vramscope};

const FILE: &str = "synth/scenario-pools.pickle";

fn plan(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["plan"], arguments].concat()))
}

#[test]
fn as_text() {
    assert_snapshot!(plan(&[FILE]));
}

#[test]
fn as_json() {
    assert_snapshot!(plan(&[FILE, "--json", "--limit", "2"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(plan(&[FILE, "--csv"]));
}

#[test]
fn of_a_state_without_a_trace() {
    assert_snapshot!(plan(&["synth/scenario-state-only.pickle"]));
}

#[test]
fn without_segments() {
    assert_snapshot!(plan(&["synth/torch-2.15-profile-p4.pickle"]));
}

#[test]
fn buffers_for_other_solvers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("places");
    let output = vramscope(&["plan", FILE, "--export-csv", path.to_str().unwrap()]);
    assert!(output.status.success());
    let mut sizes = Vec::new();
    for entry in std::fs::read_dir(&path).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("id,lower,upper,size"));
        sizes.push(lines.count());
    }
    let one = folder.path().join("largest.csv");
    assert!(
        vramscope(&["plan", FILE, "--export-csv", one.to_str().unwrap()])
            .status
            .success()
    );
    let lines = std::fs::read_to_string(&one).unwrap().lines().count();
    assert!(sizes.contains(&(lines - 1)));
    let two = vramscope(&["plan", FILE, FILE, "--export-csv", one.to_str().unwrap()]);
    assert_eq!(two.status.code(), Some(2));
    let stdout = vramscope(&["plan", FILE, "--export-csv", "-"]);
    assert_eq!(stdout.status.code(), Some(2));
}

#[test]
fn buffers_of_files_that_are_called_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = fixtures().join(FILE);
    let runs = ["run1", "run2"].map(|run| {
        let run = folder.path().join(run);
        std::fs::create_dir(&run).unwrap();
        std::fs::copy(&file, run.join("snap.pickle")).unwrap();
        run.join("snap.pickle").to_str().unwrap().to_owned()
    });
    let places = folder.path().join("places");
    let places = places.to_str().unwrap();
    let [one, two] = &runs;
    let export = |inputs: &[&str], path: &str| {
        let arguments = [&["plan", "--time", "0"], inputs, &["--export-csv", path]].concat();
        vramscope(&arguments).status.code()
    };
    assert_eq!(export(&[one, two], places), Some(0));
    let names = std::fs::read_dir(places).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (first, second): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with("run1-snap-"));
    assert!(!first.is_empty() && first.len() == second.len());
    // A folder with many files in it counts as many files, too; and no input is overwritten.
    let ranks = folder.path().join("run1");
    std::fs::copy(&file, ranks.join("other.pickle")).unwrap();
    let all = folder.path().join("all.csv");
    let code = export(&[ranks.to_str().unwrap()], all.to_str().unwrap());
    assert_eq!((code, all.exists()), (Some(2), false));
    assert_eq!(export(&[one, one], places), Some(2));
}

#[test]
fn help() {
    assert_snapshot!(plan(&["--help"]));
}
