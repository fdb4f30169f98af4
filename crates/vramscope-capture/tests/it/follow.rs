//! `run` with logs: the snapshots of each process, and the files left behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use vramscope_record::layout::{Event, Kind, Loss, OUT_OF_MEMORY, header};

use crate::program::{Place, leave_log, leave_logs, log};

/// Ids that no process has.
const PROCESSES: [u64; 3] = [1 << 40, (1 << 40) + 1, (1 << 40) + 2];

#[test]
fn every_process_gets_a_snapshot() {
    let place = Place::new();
    let script = leave_logs(&place, &PROCESSES.map(|process| (process, None)));
    assert_snapshot!(place.run_script(&["-o", "x.pickle"], &script));
    let names = [
        "x-1099511627777.pickle",
        "x-1099511627778.pickle",
        "x.pickle",
    ];
    assert_eq!(place.snapshots(), names);
    // Neither a log nor its folder is left.
    assert!(!place.files().iter().any(|name| name.starts_with("tmp/")));
}

#[test]
fn ranks_tell_processes_apart() {
    let place = Place::new();
    let ranks = [Some(1), Some(0), Some(0)];
    let processes: Vec<_> = PROCESSES.into_iter().zip(ranks).collect();
    let script = leave_logs(&place, &processes);
    assert_snapshot!(place.run_script(&["-o", "x.pickle"], &script));
    let names = [
        "x-rank0-1099511627778.pickle",
        "x-rank0.pickle",
        "x-rank1.pickle",
    ];
    assert_eq!(place.snapshots(), names);
    // All have the rank of the shell that started the run, and it is the only run.
    let script = leave_logs(&place, &[(PROCESSES[0], Some(0))]);
    let mut command = place.command(&["run", "-o", "y.pickle", "sh", "-c", &script]);
    command.env("RANK", "0").output().unwrap();
    assert!(place.path("y.pickle").is_file());
}

/// As `srun -n 2 vramscope-capture run -o x.pickle …` starts them: each run knows only its own process.
#[test]
fn runs_of_one_job_write_files_of_their_own() {
    let place = Place::new();
    for rank in ["0", "1"] {
        let script = leave_logs(&place, &[(PROCESSES[0], rank.parse().ok())]);
        let mut command = place.command(&["run", "-o", "x.pickle", "sh", "-c", &script]);
        command
            .env("SLURM_PROCID", rank)
            .env("SLURM_STEP_NUM_TASKS", "2");
        assert!(command.output().unwrap().status.success());
    }
    assert_eq!(place.snapshots(), ["x-rank0.pickle", "x-rank1.pickle"]);
}

#[test]
fn only_the_first_process_is_written_if_that_is_wanted() {
    let place = Place::new();
    let script = leave_logs(&place, &PROCESSES.map(|process| (process, None)));
    assert_snapshot!(place.run_script(&["--first-only", "-o", "x.pickle"], &script));
    assert_eq!(place.snapshots(), ["x.pickle"]);
}

#[test]
fn a_process_without_events_is_passed_over() {
    let place = Place::new();
    place.log("a.raw", 0);
    place.log("b.raw", 5);
    let script = [leave_log("a.raw", "1-1.raw"), leave_log("b.raw", "2-1.raw")].join(";");
    let transcript = place.run_script(&["-o", "x.pickle"], &script);
    assert_eq!(place.snapshot("x.pickle").segments.rows.len(), 5);
    assert!(transcript.contains("but allocated nothing"), "{transcript}");
}

/// A process may look unused because its calls were not recorded.
#[test]
fn a_process_without_events_says_what_it_lost() {
    let place = Place::new();
    place.log("a.raw", 0);
    let mut silent = log(0);
    silent.set_u64(header::PROCESS, PROCESSES[1]);
    silent.set_u64(header::LOSSES + 8 * Loss::UnknownFunction as usize, 3);
    silent.note("cuMemAlloc is elsewhere");
    fs::write(place.path("b.raw"), silent.bytes()).unwrap();
    place.log("c.raw", 5);
    let leave = |names: &[&str]| {
        let logs = names
            .iter()
            .map(|name| leave_log(&format!("{name}.raw"), &format!("{name}-1.raw")));
        logs.collect::<Vec<_>>().join(";")
    };
    // With and without a process that was recorded.
    for names in [&["a", "b", "c"][..], &["a", "b"]] {
        let transcript = place.run_script(&["-o", "x.pickle"], &leave(names));
        for part in [
            "1099511627777 (solver)",
            "incomplete: the driver gave a function that this version does not know, and its calls are not recorded (3 times)",
            "cuMemAlloc is elsewhere",
        ] {
            assert!(transcript.contains(part), "{part}: {transcript}");
        }
    }
}

#[test]
fn logs_are_kept_where_they_are_wanted_apart_from_those_of_other_runs() {
    let place = Place::new();
    place.log("a.raw", 3);
    place.log("b.raw", 5);
    // Two runs at once, as `srun -n 2` starts them. In containers, their programs may even have the same process id.
    let run = |log: &str, output| {
        let script = format!(
            "{}; until [ -e go ]; do sleep 0.02; done",
            leave_log(log, "1-1.raw")
        );
        let options = [
            "run",
            "--raw-dir",
            "logs",
            "-o",
            output,
            "sh",
            "-c",
            &script,
        ];
        place.command(&options).spawn().unwrap()
    };
    let runs = [run("a.raw", "x.pickle"), run("b.raw", "y.pickle")];
    while place.logs("logs").len() < 2 {
        std::thread::yield_now();
    }
    fs::write(place.path("go"), "").unwrap();
    for run in runs {
        let transcript = place.transcript(&run.wait_with_output().unwrap());
        assert!(
            transcript.starts_with("exit code 0\n") && !transcript.contains("too:"),
            "{transcript}"
        );
    }
    let segments = |name| place.snapshot(name).segments.rows.len();
    assert_eq!((segments("x.pickle"), segments("y.pickle")), (3, 5));
    for log in place.logs("logs") {
        let folder = log.parent().unwrap().metadata().unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    }
    // Without a log, no folder remains.
    place.run_script(&["--raw-dir", "none"], "true");
    assert_eq!(fs::read_dir(place.path("none")).unwrap().count(), 0);
}

/// The log has a dump request and one allocation after it.
#[test]
fn the_program_may_ask_for_a_snapshot() {
    let place = Place::new();
    let mut log = log(3);
    log.put(Kind::Dump, &[&7_u64.to_le_bytes(), b"asked.pickle"]);
    log.set_u32(header::DUMP_COUNT, 1);
    log.event(Event {
        address: 1 << 42,
        size_bytes: 1 << 20,
        mapping_base: 1 << 42,
        mapping_bytes: 2 << 20,
        call: 1,
        ..Event::default()
    });
    fs::write(place.path("a.raw"), log.bytes()).unwrap();
    for options in [
        &["-o", "x.pickle"][..],
        &["-o", "x.pickle", "--max-entries", "100"],
    ] {
        place.run_script(options, &leave_log("a.raw", "1-1.raw"));
        assert_eq!(
            place.snapshot("asked.pickle").segments.rows.len(),
            3,
            "{options:?}"
        );
        assert_eq!(
            place.snapshot("x.pickle").segments.rows.len(),
            4,
            "{options:?}"
        );
        fs::remove_file(place.path("asked.pickle")).unwrap();
    }
}

#[test]
fn being_out_of_memory_is_worth_a_snapshot() {
    let place = Place::new();
    let mut log = log(3);
    for _ in 0..2 {
        log.event(Event {
            size_bytes: 1 << 30,
            mapping_base: 5,
            mapping_bytes: 1 << 30,
            result: OUT_OF_MEMORY,
            call: 1,
            ..Event::default()
        });
    }
    log.set_u32(header::OUT_OF_MEMORY_COUNT, 2);
    fs::write(place.path("a.raw"), log.bytes()).unwrap();
    place.run_script(
        &["--dump-on-oom", "-o", "x.pickle"],
        &leave_log("a.raw", "1-1.raw"),
    );
    assert_eq!(
        place.files(),
        ["a.raw", "x-oom-1.pickle", "x-oom-2.pickle", "x.pickle"]
    );
    let events = |name| place.snapshot(name).events.len();
    assert!(events("x-oom-1.pickle") < events("x.pickle"));
    assert_eq!(events("x-oom-2.pickle"), events("x.pickle"));
}

/// With a bounded history, the log's space is freed while the program runs.
#[test]
fn a_ring_takes_records_over() {
    let place = Place::new();
    place.log("a.raw", 100_000);
    let copy = leave_log("a.raw", "1-1.raw");
    let before = fs::metadata(place.path("a.raw")).unwrap().len() / 1024;
    // A minute at most: the machine may be busy.
    let script = format!(
        "{copy}; log=\"${{VRAMSCOPE_CAPTURE##*folder=}}/1-1.raw\"; i=0
         while [ $(du -k \"$log\" | cut -f1) -ge {} ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done
         du -k \"$log\"",
        before / 4
    );
    let transcript = place.run_script(&["--max-entries", "50", "-o", "x.pickle"], &script);
    let kib: u64 = transcript
        .lines()
        .find_map(|line| line.split_once('\t')?.0.parse().ok())
        .unwrap();
    assert!(kib < before / 4, "{kib} KiB of {before}: {transcript}");
    let snapshot = place.snapshot("x.pickle");
    assert_eq!(snapshot.events.len(), 50);
    assert_eq!(snapshot.segments.rows.len(), 100_000);
}

/// A process in a container has another id there. It must not be taken for dead while it writes a record.
#[test]
fn a_ring_waits_for_records_of_processes_that_it_does_not_find() {
    let place = Place::new();
    let unfinished = log(3).offset();
    let mut bytes = log(5).bytes();
    let kind = unfinished as usize + 4;
    assert_eq!(std::mem::take(&mut bytes[kind]), Kind::Event as u8);
    fs::write(place.path("a.raw"), bytes).unwrap();
    // Completes the record once the records before it were read.
    let script = format!(
        "{}; log=\"${{VRAMSCOPE_CAPTURE##*folder=}}/1-1.raw\"; i=0
         while [ $(od -An -tu8 -j{} -N8 \"$log\") -lt {unfinished} ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done
         printf '\\004' | dd of=\"$log\" bs=1 seek={kind} conv=notrunc 2>&1",
        leave_log("a.raw", "1-1.raw"),
        header::CONSUMED_OFFSET,
    );
    let transcript = place.run_script(&["--max-entries", "50", "-o", "x.pickle"], &script);
    let segments = place.snapshot("x.pickle").segments.rows.len();
    assert_eq!(segments, 5, "{transcript}");
    assert!(!transcript.contains("not finished"), "{transcript}");
}

/// Two concurrent requests, as `dump` makes them.
#[test]
fn a_ring_is_dumped_while_it_runs() {
    let place = Place::new();
    place.log("a.raw", 3);
    let script = format!(
        "{}; until [ -e go ]; do sleep 0.05; done",
        leave_log("a.raw", "1-1.raw")
    );
    let options = [
        "run",
        "--raw-dir",
        "logs",
        "--max-entries",
        "2",
        "-o",
        "x.pickle",
        "sh",
        "-c",
        &script,
    ];
    let child = place.command(&options).spawn().unwrap();
    while place.logs("logs").is_empty() {
        std::thread::yield_now();
    }
    let log = place.logs("logs").remove(0);
    for asker in ["7", "8"] {
        let unfinished = place.path("unfinished");
        let snapshot = place.path(&format!("now{asker}.pickle"));
        fs::write(&unfinished, snapshot.to_str().unwrap()).unwrap();
        fs::rename(unfinished, log.with_extension(format!("{asker}.request"))).unwrap();
    }
    for asker in ["7", "8"] {
        let answer = log.with_extension(format!("{asker}.answer"));
        while !answer.exists() {
            std::thread::yield_now();
        }
        assert!(fs::read_to_string(answer).unwrap().starts_with("ok\n"));
        let snapshot = place.snapshot(&format!("now{asker}.pickle"));
        assert_eq!(snapshot.events.len(), 2);
    }
    fs::write(place.path("go"), "").unwrap();
    let transcript = place.transcript(&child.wait_with_output().unwrap());
    assert!(transcript.starts_with("exit code 0\n"), "{transcript}");
}

/// The header may count a call before its record is written, so the end is read again.
#[test]
fn what_was_counted_too_early_is_found_in_the_end() {
    let place = Place::new();
    let mut log = log(1);
    log.put(Kind::Dump, &[&7_u64.to_le_bytes(), b"asked.pickle"]);
    log.set_u32(header::DUMP_COUNT, 2);
    fs::write(place.path("a.raw"), log.bytes()).unwrap();
    let script = format!("{}; sleep 0.5", leave_log("a.raw", "1-1.raw"));
    let transcript = place.run_script(&["-o", "x.pickle"], &script);
    assert_eq!(
        transcript.matches("asked.pickle").count(),
        1,
        "{transcript}"
    );
}
