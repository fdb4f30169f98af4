//! `vramscope fleet pack --share`: several processes, including killed ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::fleet_others::tree;
use crate::fleet_pack::{Job, figures};
use crate::program::{command, transcript};

const SHARES: u32 = 8;

fn share(number: u32) -> [String; 2] {
    ["--share".to_owned(), format!("{number}/{SHARES}")]
}

fn spawn(job: &Job, number: u32) -> Child {
    let share = share(number);
    job.command(&share.each_ref().map(String::as_str))
        .spawn()
        .unwrap()
}

/// What one process makes of the same snapshots.
fn reference(job: &Job) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let place = job.folder.path().join("reference.vset");
    let mut pack = command(&["fleet", "pack"]);
    let output = pack.arg(job.runs()).arg("-o").arg(&place).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", transcript(&output));
    tree(&place)
}

/// Whether questions are answered; otherwise the message says that the dataset is not finished.
fn is_finished(dataset: &Path) -> bool {
    let output = command(&["fleet", "peaks"]).arg(dataset).output().unwrap();
    let text = transcript(&output);
    let is_unfinished =
        text.contains("has not finished") || text.contains("no file that looks like a snapshot");
    assert!(
        output.status.success() != is_unfinished || !dataset.exists(),
        "{text}"
    );
    output.status.success()
}

#[test]
fn the_process_that_ends_last_makes_the_overview() {
    let job = Job::new(11, 100);
    let reference = reference(&job);
    for number in (1..=SHARES).rev() {
        assert!(!is_finished(&job.dataset()));
        let share = share(number);
        let (code, part) = job.pack(&share.each_ref().map(String::as_str));
        assert_eq!(
            (code, &part["share"]),
            (0, &share[1].clone().into()),
            "{part}"
        );
        let own = if number <= 3 { 2 } else { 1 };
        assert_eq!(part["packed"], own, "{part}");
        let notes = part["notes"].to_string();
        assert_eq!(notes.contains("Not finished"), number > 1, "{notes}");
    }
    assert!(is_finished(&job.dataset()));
    assert_eq!(tree(&job.dataset()), reference);
    job.must_be_whole();
    // A second run has nothing to do.
    assert_eq!(job.pack(&["--share", "2/8"]).1["packed"], 0);
    assert_eq!(tree(&job.dataset()), reference);
}

#[test]
fn launchers_give_shares() {
    let job = Job::new(3, 100);
    for (variables, expected) in [
        (
            [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "3")],
            "1/3",
        ),
        ([("RANK", "1"), ("WORLD_SIZE", "3")], "2/3"),
        ([("RANK", "2"), ("WORLD_SIZE", "3")], "3/3"),
    ] {
        let mut pack = job.command(&[]);
        let (code, part) = figures(&pack.envs(variables).output().unwrap());
        let told = [&part["share"], &part["packed"]];
        assert_eq!((code, told), (0, [&expected.into(), &1.into()]), "{part}");
    }
    assert!(is_finished(&job.dataset()));
    for wrong in ["0/2", "3/2", "2", "x/y"] {
        let refused = job.command(&["--share", wrong]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{wrong}");
    }
}

/// If a process never comes back, the packed part can still be queried.
#[test]
fn what_is_packed_can_be_finished() {
    let job = Job::new(4, 100);
    job.pack(&["--share", "1/2"]);
    assert!(!is_finished(&job.dataset()));
    let mut finish = command(&["fleet", "pack", "--finish", "--json", "-o"]);
    let (code, part) = figures(&finish.arg(job.dataset()).output().unwrap());
    assert_eq!((code, &part["ranks"]), (0, &2.into()), "{part}");
    assert!(is_finished(&job.dataset()));
    let empty = tempfile::tempdir().unwrap();
    let mut finish = command(&["fleet", "pack", "--finish", "-o"]);
    let output = finish.arg(empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", transcript(&output));
    // It needs nothing else.
    let both = job.command(&["--finish"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2), "{}", transcript(&both));
}

/// The next process that finishes removes a killed process's files.
#[test]
fn what_a_killed_process_left_goes() {
    let job = Job::new(2, 100);
    let reference = reference(&job);
    job.pack(&[]);
    // It was packing an existing snapshot, an earlier version of it, and an overview.
    let spot = job.files("pieces")[1].clone();
    let own = spot
        .strip_prefix(job.dataset().join("pieces"))
        .unwrap()
        .with_extension("");
    for (name, what) in [
        (
            "a",
            format!("{}\nruns/{}", own.display(), job.fleet.name(1)),
        ),
        ("b", format!("rank=1/part-0\nruns/{}", job.fleet.name(1))),
        ("c", "overview.vset".to_owned()),
    ] {
        let folder = job
            .dataset()
            .join(format!(".packing-{name}{name}{name}123"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("lock"), what).unwrap();
        fs::write(folder.join("events"), "half").unwrap();
    }
    fs::write(job.dataset().join("events/rank=1/part-0.parquet"), "orphan").unwrap();
    // Those of a living process stay.
    let lives = job.dataset().join(".packing-ddd123");
    fs::create_dir(&lives).unwrap();
    fs::write(
        lives.join("lock"),
        format!("rank=1/part-1\nruns/{}", job.fleet.name(1)),
    )
    .unwrap();
    let lock = fs::File::open(lives.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(job.pack(&[]).0, 0);
    assert!(lives.join("lock").exists());
    drop(lock);
    assert_eq!(job.pack(&[]).0, 0);
    assert_eq!(tree(&job.dataset()), reference);
}

/// Eight processes, some of which are killed at random moments, then eight that continue. `VRAMSCOPE_KILL_ROUNDS` is
/// the number of rounds.
#[cfg(unix)]
#[test]
fn processes_that_are_killed_lose_nothing_and_tell_no_lie() {
    let rounds = std::env::var("VRAMSCOPE_KILL_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    let job = Job::new(13, 300);
    let reference = reference(&job);
    let visible = |tree: BTreeMap<PathBuf, Option<Vec<u8>>>| -> BTreeMap<_, _> {
        let is_hidden = |path: &Path| path.to_str().unwrap().starts_with('.');
        tree.into_iter()
            .filter(|(path, _)| !is_hidden(path))
            .collect()
    };
    let all = |job: &Job| -> Vec<Child> { (1..=SHARES).map(|it| spawn(job, it)).collect() };
    let started = Instant::now();
    for mut child in all(&job) {
        child.wait().unwrap();
    }
    let usual = started.elapsed();
    let mut random = 1_u64;
    let mut next = move |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let mut unfinished = 0;
    for round in 0..rounds {
        fs::remove_dir_all(job.dataset()).unwrap();
        let started = Instant::now();
        let mut children: Vec<_> = all(&job)
            .into_iter()
            .map(|child| {
                (
                    Duration::from_micros(next(usual.as_micros() as u64 * 5 / 4)),
                    child,
                )
            })
            .collect();
        children.sort_by_key(|(moment, _)| *moment);
        for (moment, child) in &mut children {
            thread::sleep(moment.saturating_sub(started.elapsed()));
            drop(child.kill());
            child.wait().unwrap();
        }
        if job.dataset().exists() {
            match is_finished(&job.dataset()) {
                true => assert_eq!(visible(tree(&job.dataset())), reference, "round {round}"),
                false => unfinished += 1,
            }
        }
        for child in all(&job) {
            let output = child.wait_with_output().unwrap();
            assert_eq!(
                output.status.code(),
                Some(0),
                "{round}: {}",
                transcript(&output)
            );
        }
        assert!(is_finished(&job.dataset()), "round {round}");
        assert_eq!(tree(&job.dataset()), reference, "round {round}");
    }
    eprintln!("{rounds} rounds, {unfinished} of them not finished after the kills");
}
