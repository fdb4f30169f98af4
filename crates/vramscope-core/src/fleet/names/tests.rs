//! Places from names of producers, from words, and from neither.

use super::*;

/// Rank, local rank, step, host and job of a path.
fn told(path: &str) -> (Option<u32>, Option<u32>, Option<u64>, String, String) {
    let said = named(path);
    (said.rank, said.local_rank, said.step, said.host, said.job)
}

#[test]
fn every_producer_has_its_name_and_the_first_that_fits_counts() {
    let (known, end) = (Some(3), "");
    for producer in &PRODUCERS {
        let said = named(producer.example);
        assert_eq!(said.producer, producer.name, "{}", producer.example);
        assert_eq!(
            said.rank.is_some(),
            producer.pattern.contains("{rank}"),
            "{}",
            producer.example
        );
    }
    let rank = |path: &str| (named(path).rank, named(path).step);
    assert_eq!(rank(PRODUCERS[0].example), (known, Some(10)));
    assert_eq!(rank(PRODUCERS[1].example), (known, Some(12)));
    assert_eq!(rank(PRODUCERS[2].example), (Some(0), Some(17)));
    assert_eq!(rank("nemo_run/snapshot_12.pickle"), (Some(12), None));
    assert_eq!(rank("run-4711.pickle"), (None, None));
    assert_eq!(
        rank("snapshot_2026-11-20-17-05_12.pickle"),
        (Some(12), None)
    );
    assert_eq!(rank("Step_4-actor_rank3_pid4711.pickle"), (known, Some(4)));
    assert_eq!(told("oom_rank3.pickle").3, end);
}

#[test]
fn words_that_many_use() {
    let none = String::new;
    for (path, expected) in [
        ("rank0.pickle", (Some(0), None, None, none(), none())),
        ("RANK_12.PKL.GZ", (Some(12), None, None, none(), none())),
        ("rank 3 of 8.pickle", (Some(3), None, None, none(), none())),
        (
            "memory_snapshot_rank5_step200.pickle",
            (Some(5), None, Some(200), none(), none()),
        ),
        (
            "job-77/node-4/local_rank3.pickle",
            (
                None,
                Some(3),
                None,
                "node-4".to_owned(),
                "job-77".to_owned(),
            ),
        ),
        (
            "run_9/step-000100/gpu1.pickle",
            (None, Some(1), Some(100), none(), "run_9".to_owned()),
        ),
        (
            "job-77_rank3.pickle",
            (Some(3), None, None, none(), "job-77".to_owned()),
        ),
        (
            "slurm-8/run_9-gpu1.pickle",
            (None, Some(1), None, none(), "run_9".to_owned()),
        ),
        ("run-4711.pickle", (None, None, None, none(), none())),
        // A part of another word does not count.
        ("crank3.pickle", (None, None, None, none(), none())),
        ("zürich_rank3.pickle", (Some(3), None, None, none(), none())),
        ("snapshot.pickle", (None, None, None, none(), none())),
        (
            "rank99999999999999.pickle",
            (None, None, None, none(), none()),
        ),
        ("", (None, None, None, none(), none())),
        (".pickle", (None, None, None, none(), none())),
        (r"a\rank4.pickle", (Some(4), None, None, none(), none())),
    ] {
        assert_eq!(told(path), expected, "{path}");
    }
}

#[test]
fn what_no_name_tells_is_the_order_of_names() {
    let paths = ["b-10.pickle", "rank1.pickle", "b-9.pickle", "a.pickle"];
    let places = places_of(&paths);
    let ranks: Vec<_> = places.iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [3, 1, 2, 0]);
    assert_eq!(places[0].rank_from, RankFrom::Order);
    assert_eq!(places[1].rank_from, RankFrom::Name);
}

#[test]
fn local_ranks_are_counted_host_by_host_and_steps_apart() {
    let paths = [
        "node-10/gpu0.pickle",
        "node-9/gpu1.pickle",
        "node-9/gpu0.pickle",
        "node-10/gpu1.pickle",
    ];
    let ranks: Vec<_> = places_of(&paths).iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [2, 1, 0, 3]);
    let paths = [
        "step-1/a.pickle",
        "step-1/b.pickle",
        "step-2/a.pickle",
        "step-2/b.pickle",
    ];
    let ranks: Vec<_> = places_of(&paths).iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [0, 1, 0, 1]);
}

/// A rank without a snapshot counts too.
#[test]
fn local_ranks_keep_their_numbers() {
    let ranks = |paths: &[&str]| -> Vec<_> {
        let places = places_of(paths).into_iter();
        places.map(|place| (place.rank, place.rank_from)).collect()
    };
    let paths = ["gpu0.pickle", "gpu2.pickle", "gpu3.pickle"];
    let named = [0, 2, 3].map(|rank| (rank, RankFrom::Name));
    assert_eq!(ranks(&paths), named);
    // All hosts are assumed to have equally many, and to be ordered by name.
    let paths = ["node-2/gpu1.pkl", "node-1/gpu0.pkl", "node-2/gpu0.pkl"];
    let counted = [3, 0, 2].map(|rank| (rank, RankFrom::Order));
    assert_eq!(ranks(&paths), counted);
    // If the job has ranks, these count.
    let paths = ["rank0.pkl", "gpu0.pkl"];
    let mixed = [(0, RankFrom::Name), (1, RankFrom::Order)];
    assert_eq!(ranks(&paths), mixed);
    assert_eq!(
        places_of(&["node-1/gpu4294967295.pkl", "node-2/gpu1.pkl"]).len(),
        2
    );
}

#[test]
fn ranks_that_come_back_on_another_host_are_local() {
    let paths = ["node-1/rank0.pkl", "node-1/rank1.pkl", "node-2/rank0.pkl"];
    let places = places_of(&paths);
    let ranks: Vec<_> = places
        .iter()
        .map(|place| (place.rank, place.local_rank))
        .collect();
    assert_eq!(ranks, [(0, Some(0)), (1, Some(1)), (2, Some(0))]);
    // Numbers that are unique in the job stay.
    let paths = ["node-1/rank0.pkl", "node-2/rank8.pkl"];
    let ranks: Vec<_> = places_of(&paths).iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [0, 8]);
}

#[test]
fn numbers_are_free_within_a_step() {
    let paths = [
        "step_1/rank0.pkl",
        "step_2/a.pkl",
        "step_2/rank1.pkl",
        "step_2/b.pkl",
    ];
    let ranks: Vec<_> = places_of(&paths).iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [0, 0, 1, 2]);
}

fn jobs(paths: &[&str]) -> Vec<(String, u32, Option<u64>)> {
    let places = places_of(paths).into_iter();
    places.map(|it| (it.job, it.rank, it.step)).collect()
}

#[test]
fn jobs_in_one_folder_are_told_apart() {
    let of = |job: &str, rank, step| (job.to_owned(), rank, step);
    assert_eq!(
        jobs(&[
            "runs/small/iteration_10/rank0_memory_snapshot.pickle",
            "runs/small/iteration_20/rank0_memory_snapshot.pickle",
            "runs/large/iteration_10/rank0_memory_snapshot.pickle",
            "runs/large/iteration_10/rank1_memory_snapshot.pickle",
        ]),
        [
            of("small", 0, Some(10)),
            of("small", 0, Some(20)),
            of("large", 0, Some(10)),
            of("large", 1, Some(10)),
        ]
    );
    // Two of three have a folder of their own, and an older one lies below.
    assert_eq!(
        jobs(&["x/a/rank0.pickle", "x/b/rank0.pickle", "y/a/rank0.pickle"]),
        [of("x/a", 0, None), of("x/b", 0, None), of("y/a", 0, None)]
    );
    assert_eq!(
        jobs(&["rank0.pickle", "old/rank0.pickle"]),
        [of("", 0, None), of("old", 0, None)]
    );
    // One job: several files of a rank, several hosts, several steps.
    assert_eq!(
        jobs(&["a/x_rank0_pid1.pickle", "a/x_rank0_pid2.pickle"]),
        [of("", 0, None), of("", 0, None)]
    );
    assert_eq!(
        jobs(&["node-1/rank0.pickle", "node-2/rank0.pickle"]),
        [of("", 0, None), of("", 1, None)]
    );
    assert_eq!(
        jobs(&["step_1/rank0.pickle", "step_2/rank0.pickle"]),
        [of("", 0, Some(1)), of("", 0, Some(2))]
    );
}

/// With names as `vramscope record` writes them.
#[test]
fn a_process_without_a_rank_is_one_at_each_moment() {
    let of = |job: &str, rank| (job.to_owned(), rank, None);
    assert_eq!(
        jobs(&["oom_1/pid4711.pickle", "pid4711.pickle"]),
        [of("oom_1", 0), of("", 0)]
    );
    assert_eq!(
        jobs(&["pid4711.pickle", "pid4712.pickle"]),
        [of("", 0), of("", 1)]
    );
    // A rank is not the process with that number, and a number without the word is not a process.
    assert_eq!(
        jobs(&["rank5.pickle", "x/pid5.pickle"]),
        [of("", 5), of("", 0)]
    );
    assert_eq!(
        jobs(&["a/run-5.pickle", "b/run-5.pickle"]),
        [of("", 0), of("", 1)]
    );
}

#[test]
fn paths_without_the_numbers_of_processes() {
    for (path, expected) in [
        ("rank0_pid4711.pickle", "rank0_pid.pickle"),
        ("step_4/pid12/PID=13.gz", "step_4/pid/PID=.gz"),
        ("rapid3_pid.pickle", "rapid3_pid.pickle"),
        ("zürich-pid7", "zürich-pid"),
        ("", ""),
    ] {
        assert_eq!(without_processes(path), expected);
    }
}
