//! Checks findings in recordings with a problem and, just as important, their absence in recordings without one.

use super::super::overview::{Occasion, Overview, overview};
use super::*;
use crate::Snapshot;
use crate::analysis::recording::Recording;
use crate::analysis::roles::Role;
use crate::analysis::search::filter::Filter;
use crate::analysis::time::history::History;
use crate::decode;
use vramscope_synth::scenario;
use vramscope_synth::snapshot::{Producer, WriteOptions};
use vramscope_synth::text;

/// The overviews of all devices.
fn overviews(snapshot: &Snapshot) -> Vec<Overview> {
    let recording = Recording::of(snapshot.clone());
    let of_one = recording.devices().map(|device| {
        let found = overview(device, 10);
        check_laws(&found, device.history);
        found
    });
    of_one.collect()
}

/// Parts add up exactly, tables do not exceed their finding, evidence lies inside the recording.
fn check_laws(found: &Overview, history: &History) {
    for at in &found.gaps {
        let gap = &at.gap;
        let parts = [
            gap.requested_bytes,
            gap.pending_bytes,
            gap.rounding_bytes,
            gap.partly_bytes,
            gap.empty_bytes,
            gap.other_pools_bytes,
            gap.other_streams_bytes,
        ];
        assert_eq!(parts.iter().sum::<u64>(), gap.reserved_bytes, "{at:?}");
        let live = gap.requested_bytes + gap.pending_bytes + gap.outside_bytes;
        assert_eq!(live, at.active_bytes, "{at:?}");
        assert!(gap.largest_free_bytes <= gap.largest_free_anywhere_bytes);
    }
    for finding in &found.findings {
        assert!(
            !finding.title.is_empty() && !finding.seen.is_empty() && !finding.may_mean.is_empty()
        );
        assert!(
            !finding.evidence.is_empty() && !finding.to_try.is_empty(),
            "{finding:?}"
        );
        for evidence in &finding.evidence {
            let (from, to) = evidence.range.unwrap_or((0, 0));
            assert!(from <= to && to <= history.event_count, "{evidence:?}");
            assert!(evidence.moment.unwrap_or(0) <= history.event_count);
            let filter = evidence.filter.as_deref().unwrap_or_default();
            assert!(Filter::parse(filter).is_ok(), "{filter}");
        }
    }
}

fn decoded(story: &str) -> Snapshot {
    let bytes = text::pickle(story, Producer::Python(2, 12)).unwrap();
    decode(&bytes[..]).unwrap()
}

fn of_story(story: &str) -> Overview {
    overviews(&decoded(story)).swap_remove(0)
}

fn of_scenario(name: &str) -> Vec<Overview> {
    let (_, make) = scenario::ALL
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    let bytes = make(1).to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
    overviews(&decode(&bytes[..]).unwrap())
}

fn kinds(found: &Overview) -> Vec<FindingKind> {
    found.findings.iter().map(|finding| finding.kind).collect()
}

fn get(found: &Overview, kind: FindingKind) -> &Finding {
    let finding = found.findings.iter().find(|finding| finding.kind == kind);
    finding.unwrap_or_else(|| panic!("no {kind:?} in {:#?}", found.findings))
}

/// A healthy loop: weights, activations that come and go, and eight named steps.
fn healthy() -> String {
    let mut story = "alloc w 400MiB model.py:1:init\nwait 10us\n".to_owned();
    for step in 0..8 {
        story += &format!(
            "begin \"ProfilerStep#{step}\"\nwait 10us\nalloc a{step} 100MiB model.py:2:forward\nalloc b{step} 50MiB \
             model.py:3:forward\nfree b{step}\nfree a{step}\nwait 10us\nend \"ProfilerStep#{step}\"\nwait 10us\n"
        );
    }
    story + "alloc x 1MiB end.py:1:end"
}

#[test]
fn a_healthy_run_has_no_findings() {
    let found = of_story(&healthy());
    assert_eq!(kinds(&found), [FindingKind::NoGrowth]);
    assert!(is_calm(&found.findings) && found.ooms == Some(0));
}

#[test]
fn a_state_alone_is_split_once() {
    let mut found = of_story(&healthy());
    assert!(found.bars().len() > 1);
    found.has_trace = false;
    let bars = found.bars();
    assert_eq!(bars.len(), 1);
    assert_eq!(bars[0].at.occasion, Occasion::End);
}

/// Three training steps that only stacks show; `kept` of each is never freed.
fn unnamed_steps(kept: &str) -> String {
    const FORWARD: &str = "torch/nn/modules/module.py:1:_call_impl > m.py:3:forward";
    const BACKWARD: &str = "engine.cpp:0:torch::autograd::Engine::thread_main(x)";
    const STEP: &str = "train.py:12:step > torch/optim/adam.py:7:step";
    let mut story = "alloc w 400MiB model.py:1:init\n".to_owned();
    for step in 0..3 {
        story += &format!(
            "alloc k{step} 40MiB train.py:11:step\nalloc a{step} 100MiB train.py:10:step > {FORWARD}\nalloc g{step} 90MiB {BACKWARD}\nfree a{step} {BACKWARD}\n\
             alloc t{step} 9MiB {STEP}\nfree t{step} {STEP}\nfree g{step} train.py:13:step > torch/optim/optimizer.py:1:zero_grad\n{kept}"
        )
        .replace('$', &step.to_string());
    }
    story + "alloc x 1MiB end.py:1:end"
}

#[test]
fn three_unnamed_steps_show_a_leak() {
    let found = of_story(&unnamed_steps(""));
    let growth = get(&found, FindingKind::Growth);
    assert_eq!(
        growth.title,
        "Live memory grows by 40.0 MiB per step, at train.py:11 step"
    );
    assert_eq!(growth.bytes, 120 << 20);
    assert!(
        growth.seen.contains("3 steps") && growth.seen.contains("inferred"),
        "{}",
        growth.seen
    );
    assert!(!kinds(&found).contains(&FindingKind::NoGrowth));
    let found = of_story(&unnamed_steps("free k$\n"));
    assert!(
        !kinds(&found).contains(&FindingKind::Growth),
        "{:#?}",
        found.findings
    );
    // "Does it leak?" has an answer.
    let steady = get(&found, FindingKind::NoGrowth);
    assert_eq!(steady.title, "No growth per step");
    assert_eq!(
        steady.seen,
        "530 MiB were live after step 1, and 530 MiB after step 2, the last whole one of 4. The steps \
         are inferred: each ends where stacks show the optimizer."
    );
}

#[test]
fn growth_that_is_not_steady_is_called_so() {
    let titles = |kept_kib: &[u32]| {
        let step = |(step, kib): (usize, &u32)| {
            let keep = match kib {
                0 => String::new(),
                kib => format!("alloc k{step} {kib}KiB b.py:{step}:f\n"),
            };
            format!(
                "begin \"step {step}\"\nwait 10us\nalloc a{step} 9MiB a.py:{step}:f\n{keep}\
                 free a{step}\nwait 10us\nend \"step {step}\"\nwait 10us\n"
            )
        };
        let steps: String = kept_kib.iter().enumerate().map(step).collect();
        let found = of_story(&(steps + "alloc x 1MiB end.py:1:end"));
        let all = found.findings.iter();
        let told = all.filter(|it| matches!(it.kind, FindingKind::Growth | FindingKind::NoGrowth));
        told.map(|it| it.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        titles(&[9000, 9000, 2000, 0, 0, 0, 2000]),
        ["No steady growth per step"]
    );
    assert_eq!(
        titles(&[9000, 9000, 2, 1, 1, 1, 2]),
        ["Next to no growth per step"]
    );
    assert_eq!(titles(&[9000, 2, 2]), ["Next to no growth per step"]);
    assert_eq!(titles(&[9000, 2000, 2000]), [""; 0], "too few to tell");
    assert_eq!(titles(&[900, 9]), [""; 0], "too few to tell");
}

#[test]
fn a_list_that_is_never_cleared_grows() {
    let mut story = "alloc w 400MiB model.py:1:init\nwait 10us\n".to_owned();
    for step in 0..8 {
        story += &format!(
            "begin \"ProfilerStep#{step}\"\nwait 10us\nalloc a{step} 100MiB model.py:2:forward\nalloc k{step} 24MiB \
             train.py:9:keep\nfree a{step}\nwait 10us\nend \"ProfilerStep#{step}\"\nwait 10us\n"
        );
    }
    let found = of_story(&(story + "alloc x 1MiB end.py:1:end"));
    let growth = get(&found, FindingKind::Growth);
    assert_eq!(growth.severity, Severity::Problem);
    // Steps 2 to 7: five intervals of 24 MiB.
    assert_eq!(growth.bytes, 5 * (24 << 20));
    assert!(
        growth.title.contains("24.0 MiB per step"),
        "{}",
        growth.title
    );
    let rows = &growth.tables[0].rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].label.as_str(), rows[0].bytes, rows[0].count),
        ("train.py:9 keep", 120 << 20, 5)
    );
    // It is reported once.
    assert_eq!(kinds(&found), [FindingKind::Growth]);
}

const CALL: &str = "run.py:9:loop > lib/torch/nn/modules/module.py:1:_call_impl";

/// Steps of inference whose logits are freed `after` events of the next step after their successor was made; `of` makes
/// them.
fn outputs(after: usize, of: &str, sizes: &[u32]) -> String {
    let mut story = "alloc w 400MiB model.py:1:__init__\nwait 10us\n".to_owned();
    for (step, mib) in sizes.iter().enumerate() {
        story += &format!("begin \"ProfilerStep#{step}\"\nwait 10us\n");
        for layer in 0..20 {
            story += &format!(
                "alloc h{step}_{layer} 20MiB {CALL} > model.py:2:forward\nfree h{step}_{layer}\n"
            );
        }
        story += &format!("alloc out{step} {mib}MiB {of}\n");
        for event in 0..20 {
            if event == after && step > 0 {
                story += &format!("free out{}\n", step - 1);
            }
            story += &format!("alloc s{step}_{event} 2MiB run.py:11:score\nfree s{step}_{event}\n");
        }
        story += &format!("wait 10us\nend \"ProfilerStep#{step}\"\nwait 10us\n");
    }
    story + "alloc x 1MiB end.py:1:end"
}

#[test]
fn an_output_that_is_held_while_the_next_is_made() {
    let sizes = [300; 6];
    let logits = &format!("{CALL} > model.py:77:forward");
    let found = of_story(&outputs(1, logits, &sizes));
    let held = get(&found, FindingKind::HeldOutput);
    assert_eq!((held.bytes, held.severity), (300 << 20, Severity::Warning));
    assert_eq!(
        found.verdict(),
        "300 MiB from model.py:77 forward are still held while the next iteration makes the same again."
    );
    assert!(held.to_try[0].starts_with("del "), "{:?}", held.to_try);
    let is_silent = |story: &str| !kinds(&of_story(story)).contains(&FindingKind::HeldOutput);
    // A double buffer, which is wanted, lives through half of the next iteration or more.
    assert!(is_silent(&outputs(19, logits, &sizes)));
    // A cache of keys and values is reallocated, larger each time.
    let grows = [200, 210, 220, 230, 240, 250];
    assert!(is_silent(&outputs(1, logits, &grows)));
    let cache = &format!("{CALL} > lib/transformers/cache_utils.py:9:update");
    assert!(is_silent(&outputs(1, cache, &sizes)));
    // An optimizer that makes its state anew in each step.
    assert!(is_silent(&outputs(
        1,
        "lib/torch/optim/adamw.py:149:_init_group",
        &sizes
    )));
    // A single occurrence is not a habit.
    assert!(is_silent(&outputs(1, logits, &sizes[..2])));
}

#[test]
fn what_one_step_leaves_behind() {
    let story = healthy().replacen("free b3\n", "free b3\nalloc k 64MiB train.py:9:keep\n", 1);
    let found = of_story(&story);
    assert_eq!(kinds(&found), [FindingKind::NeverFreed]);
    let never = get(&found, FindingKind::NeverFreed);
    assert_eq!((never.bytes, never.severity), (64 << 20, Severity::Warning));
}

#[test]
fn what_waits_for_another_stream_was_freed() {
    let waits = "free b3\nalloc k 64MiB train.py:9:keep\nfree_requested k\n";
    let found = of_story(&healthy().replacen("free b3\n", waits, 1));
    assert!(!kinds(&found).contains(&FindingKind::NeverFreed));
}

#[test]
fn the_last_step_alone_is_only_a_note() {
    let mut story = "alloc w 400MiB model.py:1:init\nwait 10us\n".to_owned();
    for step in 0..6 {
        // Each step frees what the previous step left, as zero_grad() does.
        let before = if step > 0 {
            format!("free g{}\n", step - 1)
        } else {
            String::new()
        };
        story += &format!(
            "begin \"step {step}\"\nwait 10us\n{before}alloc g{step} 64MiB train.py:5:backward\nwait 10us\nend \"step {step}\"\nwait 10us\n"
        );
    }
    let found = of_story(&(story + "alloc x 1MiB end.py:1:end"));
    assert_eq!(
        kinds(&found),
        [FindingKind::NeverFreed, FindingKind::NoGrowth]
    );
    let never = get(&found, FindingKind::NeverFreed);
    assert_eq!((never.bytes, never.severity), (64 << 20, Severity::Note));
}

#[test]
fn frees_that_wait() {
    let found = of_story(
        "alloc w 100MiB a.py:1:f\nalloc a 60MiB a.py:2:f\nalloc b 60MiB a.py:3:f\nfree_requested a\nfree_requested b\nalloc c 20MiB a.py:4:f\n\
         free_completed a\nfree_completed b\nfree c",
    );
    let pending = get(&found, FindingKind::PendingFree);
    assert_eq!(
        (pending.bytes, pending.severity),
        (120 << 20, Severity::Warning)
    );
    assert_eq!(pending.tables[0].rows.len(), 2);
    // Without another stream, a free is pending only for the event between request and completion.
    let found = of_story("alloc a 60MiB a.py:2:f\nfree a\nalloc b 60MiB a.py:2:f\nfree b");
    assert!(!kinds(&found).contains(&FindingKind::PendingFree));
}

#[test]
fn retries_and_the_calls_to_cuda() {
    let found = of_story(
        "capacity 1000MiB\nalloc a 400MiB a.py:1:f\nalloc b 400MiB a.py:2:f\nfree a\nalloc c 600MiB a.py:9:g",
    );
    let retries = get(&found, FindingKind::Retries);
    assert_eq!(retries.bytes, 400 << 20);
    assert!(retries.title.ends_with("once"), "{}", retries.title);
    assert_eq!((found.releases.mallocs, found.releases.frees), (3, 1));
}

#[test]
fn a_device_with_most_of_the_work() {
    let story = |mib: [u32; 3]| {
        let lines = (0..3).map(|device| {
            format!(
                "device {device}\nalloc a{device} {}MiB a.py:1:f\n",
                mib[device]
            )
        });
        decoded(&lines.collect::<String>())
    };
    let odd = |mib| {
        let found = overviews(&story(mib));
        let all = found.iter().flat_map(|one| &one.findings);
        let odd = all.filter(|finding| finding.kind == FindingKind::OddDevice);
        odd.map(|finding| finding.title.clone()).collect::<Vec<_>>()
    };
    let title = "GPU 1 is the odd one: 780 MiB against 200 MiB and 80.0 MiB";
    assert_eq!(odd([80, 780, 200]), [title]);
    assert_eq!(odd([500, 600, 550]), [""; 0]);
}

/// With replicas, layers cannot be moved.
#[test]
fn a_device_with_the_largest_part_of_a_batch() {
    let call = "t.py:1:f > lib/torch/nn/parallel/data_parallel.py:9:forward > lib/torch/nn/modules/module.py:1:_call_impl > m.py:1:forward";
    let story =
        |call: &str| format!("device 0\nalloc a 80MiB {call}\ndevice 1\nalloc b 780MiB {call}\n");
    let advice = |story: &str| {
        let found = overviews(&decoded(story));
        let mut all = found.iter().flat_map(|one| &one.findings);
        let odd = all
            .find(|finding| finding.kind == FindingKind::OddDevice)
            .unwrap();
        odd.to_try.concat()
    };
    assert!(advice(&story(call)).starts_with("DistributedDataParallel"));
    assert!(advice(&story("t.py:1:f > m.py:1:forward")).starts_with("Move layers"));
}

#[test]
fn a_cache_that_is_emptied_in_the_loop() {
    let mut story = "alloc w 400MiB a.py:1:f\n".to_owned();
    for step in 0..12 {
        story += &format!(
            "alloc a{step} 60MiB a.py:2:f\nalloc b{step} 80MiB a.py:3:f\nfree a{step}\nfree b{step}\nempty_cache\n"
        );
    }
    let found = of_story(&story);
    let churn = get(&found, FindingKind::Churn);
    assert!(churn.title.ends_with("22 times"), "{}", churn.title);
    assert_eq!(churn.bytes, 12 * (140 << 20));
}

/// Many segments that were obtained before the first was given back, and none after.
#[test]
fn a_cache_that_is_emptied_and_not_needed_again() {
    let mut story = String::new();
    for number in 0..40 {
        story += &format!("alloc a{number} 60MiB a.py:2:f\n");
    }
    for number in 0..24 {
        story += &format!("free a{number}\nempty_cache\n");
    }
    let found = of_story(&story);
    assert_eq!(found.releases.frees, 24);
    assert!(!kinds(&found).contains(&FindingKind::Churn));
}

/// Generation is expected to grow a cache with each token.
#[test]
fn a_cache_of_keys_and_values_may_grow() {
    const FORWARD: &str =
        "gen.py:9:generate > lib/torch/nn/modules/module.py:1:_call_impl > m.py:3:forward";
    let mut story = "alloc w 400MiB model.py:1:__init__\nwait 10us\n".to_owned();
    for step in 0..8 {
        story += &format!(
            "begin \"ProfilerStep#{step}\"\nwait 10us\nalloc a{step} 100MiB {FORWARD}\nalloc k{step} 24MiB \
             {FORWARD} > lib/transformers/cache_utils.py:9:update\nfree a{step}\nwait 10us\nend \"ProfilerStep#{step}\"\nwait 10us\n"
        );
    }
    let found = of_story(&(story + "alloc x 1MiB end.py:1:end"));
    let growth = get(&found, FindingKind::Growth);
    assert_eq!(growth.severity, Severity::Note);
    assert!(
        growth.may_mean.contains("cache of keys and values"),
        "{}",
        growth.may_mean
    );
    assert!(
        !growth.to_try.iter().any(|text| text.contains("loss")),
        "{:?}",
        growth.to_try
    );
    assert!(!kinds(&found).contains(&FindingKind::NoGrowth));
    assert!(!found.verdict().contains("grows"), "{}", found.verdict());
}

#[test]
fn settings_without_effect() {
    let conf = "setting alloc_conf=expandable_segments:True\n";
    let mut snapshot = decoded(&format!("{conf}alloc a 60MiB a.py:1:f"));
    let on = serde_json::Value::Bool(true);
    snapshot
        .settings
        .insert("expandable_segments".to_owned(), on);
    let found = overviews(&snapshot).swap_remove(0);
    assert!(
        kinds(&found).contains(&FindingKind::Setting),
        "{:?}",
        kinds(&found)
    );
    let mut snapshot = decoded(&format!("{conf}expandable\nalloc a 60MiB a.py:1:f"));
    let on = serde_json::Value::Bool(true);
    snapshot
        .settings
        .insert("expandable_segments".to_owned(), on);
    let found = overviews(&snapshot).swap_remove(0);
    assert!(
        !kinds(&found).contains(&FindingKind::Setting),
        "{:?}",
        kinds(&found)
    );
}

#[test]
fn scenarios_show_what_they_are_made_to_show() {
    let oom = of_scenario("oom").swap_remove(0);
    assert_eq!(kinds(&oom)[0], FindingKind::OutOfMemory);
    let fragmented = of_scenario("fragmented").swap_remove(0);
    assert!(kinds(&fragmented).contains(&FindingKind::Fragmentation));
    let roles = fragmented.roles.rows.iter().map(|row| row.role);
    let expected = [Role::KvCache, Role::Parameter, Role::Temporary];
    assert_eq!(roles.collect::<Vec<_>>(), expected);
    let pools = of_scenario("pools").swap_remove(0);
    assert!(kinds(&pools).contains(&FindingKind::PrivatePools));
    assert!(kinds(&pools).contains(&FindingKind::PendingFree));
    for found in of_scenario("annotated") {
        assert!(is_calm(&found.findings), "{:#?}", found.findings);
    }
    for name in ["multi-device", "expandable", "host"] {
        for found in of_scenario(name) {
            let wrong = [
                FindingKind::OutOfMemory,
                FindingKind::Growth,
                FindingKind::PendingFree,
                FindingKind::PrivatePools,
            ];
            assert!(
                !kinds(&found).iter().any(|kind| wrong.contains(kind)),
                "{name}: {:#?}",
                found.findings
            );
        }
    }
}

#[test]
fn without_segments_and_without_a_trace() {
    let found = of_story("no segments\nalloc a 60MiB a.py:1:f\nalloc b 60MiB a.py:1:f\nfree a");
    assert_eq!(kinds(&found), [], "{:#?}", found.findings);
    assert_eq!(found.gaps.len(), 3);
    let found = of_story("no traces\nalloc a 60MiB a.py:1:f\nalloc b 60MiB a.py:1:f\nfree a");
    let sites = found.peak_sites.rows.iter().map(|row| row.bytes);
    assert_eq!(sites.sum::<u64>(), 60 << 20);
    assert_eq!(found.peak.active_bytes, 60 << 20);
    assert_eq!(found.peak_site_count, 1);
}

#[test]
fn sizes_beyond_all_numbers_are_no_panic() {
    let segment = |address: u64| {
        format!(
            r#"{{"device": 0, "address": {address}, "total_size": 18446744073709551615, "stream": 0, "segment_type": "large",
            "blocks": [{{"address": {address}, "size": 18446744073709551615, "requested_size": 7, "state": "inactive"}}]}}"#
        )
    };
    let json = format!(
        r#"{{"segments": [{}, {}], "device_traces": [[
        {{"action": "segment_free", "addr": 1, "size": 18446744073709551615, "stream": 0}},
        {{"action": "oom", "device_free": 18446744073709551615, "size": 18446744073709551615, "stream": 0}},
        {{"action": "oom", "device_free": 0, "size": 18446744073709551615, "stream": 3}}]]}}"#,
        segment(0),
        segment(1 << 60)
    );
    let recording = Recording::of(decode(json.as_bytes()).unwrap());
    assert_eq!(overview(recording.device(0).unwrap(), 3).ooms, Some(2));
}

mod captured;
mod failures;
