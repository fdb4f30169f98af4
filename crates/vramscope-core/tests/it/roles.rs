//! Roles and phases: in small texts, in every file, and in real training runs.

use std::collections::BTreeMap;

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::report::peak_roles::peak_of_role;
use vramscope_core::analysis::roles::{Confidence, Phase, Role};
use vramscope_core::decode;
use vramscope_core::encode::encode;
use vramscope_core::ids::AllocationId;
use vramscope_synth::files::{File, all_files, fixtures, fixtures_in, real_files};
use vramscope_synth::snapshot::{Producer, WriteOptions};
use vramscope_synth::text;

use crate::support::{decoded, recorded};

const MIB: u64 = 1 << 20;

/// Bytes live at the peak, by role.
fn peak(device: Device<'_>) -> BTreeMap<Role, u64> {
    let history = device.history;
    let mut bytes = BTreeMap::new();
    for (row, rule) in device.rule_of().iter().enumerate() {
        if history.is_live(AllocationId::from_index(row), history.peak_moment) {
            *bytes.entry(rule.role()).or_default() += history.allocations.bytes[row];
        }
    }
    bytes
}

fn with_text<T>(lines: &str, of: impl Fn(Device<'_>) -> T) -> T {
    let bytes = text::pickle(lines, Producer::Python(2, 10)).unwrap();
    let recording = Recording::of(vramscope_core::decode(&bytes[..]).unwrap());
    of(recording.device(0).unwrap())
}

/// MiB and role of all allocations, in the order of birth.
fn roles(device: Device<'_>) -> Vec<(u64, Role)> {
    let sizes = device.history.allocations.bytes.iter();
    let both = sizes.zip(device.rule_of());
    both.map(|(&bytes, rule)| (bytes / MIB, rule.role()))
        .collect()
}

const FORWARD: &str =
    "train.py:10:<module> > site-packages/torch/nn/modules/module.py:1:_call_impl > m.py:3:forward";
const BACKWARD: &str = "engine.cpp:0:torch::autograd::Engine::thread_main(x) > f.cpp:0:torch::autograd::generated::MmBackward0::apply(x)";
const STEP: &str = "train.py:12:<module> > site-packages/torch/optim/optimizer.py:9:wrapper > site-packages/torch/optim/adam.py:7:step";

/// A step: `w` and Adam's moments are older than the recording; 7 MiB lives only in the forward pass.
fn step(backward: &str) -> String {
    format!(
        "unrecorded alloc w 3MiB
unrecorded alloc m 3MiB
unrecorded alloc v 3MiB
alloc x 1MiB train.py:9:<module>
alloc t 7MiB {FORWARD}
alloc a 5MiB {FORWARD}
free t {FORWARD}
alloc loss 2MiB train.py:11:<module>
alloc ga 4MiB {backward}
alloc g 3MiB {backward}
free a {backward}
free ga {backward}
free loss {backward}
alloc s 3MiB {STEP}
free s {STEP}
free g train.py:13:<module> > site-packages/torch/optim/optimizer.py:1:zero_grad
free x train.py:14:<module>
alloc y 1MiB train.py:14:<module>
alloc b 5MiB {FORWARD}"
    )
}

const EXPECTED: [(u64, Role); 12] = [
    (3, Role::Parameter),
    (3, Role::OptimizerState),
    (3, Role::OptimizerState),
    (1, Role::Input),
    (7, Role::Temporary),
    (5, Role::Activation),
    (2, Role::Activation),
    (4, Role::Temporary),
    (3, Role::Gradient),
    (3, Role::Temporary),
    (1, Role::Unknown),
    (5, Role::Activation),
];

#[test]
fn a_training_step() {
    with_text(&step(BACKWARD), |device| {
        let phases = device.phases().ranges.iter().map(|range| range.phase);
        let expected = [
            Phase::Forward,
            Phase::Backward,
            Phase::Optimizer,
            Phase::Forward,
        ];
        assert_eq!(phases.collect::<Vec<_>>(), expected);
        assert_eq!(roles(device), EXPECTED);
    });
}

#[test]
fn threads_without_python_have_empty_stacks() {
    // As with `context="alloc"`, where frees have the stacks of their allocations.
    let lines = step("");
    let lines = lines.lines().map(|line| match line.strip_prefix("free ") {
        Some(rest) => format!("free {}", rest.split(' ').next().unwrap_or_default()),
        None => line.to_owned(),
    });
    let lines: Vec<_> = lines.collect();
    with_text(&lines.join("\n"), |device| {
        assert_eq!(roles(device), EXPECTED);
    });
}

/// Python code in autograd's thread: a checkpoint recomputes a part, and runs a backward pass through it.
const AGAIN: &str = "site-packages/torch/utils/checkpoint.py:2:backward > site-packages/torch/nn/modules/module.py:1:_call_impl > m.py:3:forward";
const INNER_BACKWARD: &str = "site-packages/torch/utils/checkpoint.py:4:backward > site-packages/torch/autograd/__init__.py:5:backward > site-packages/torch/autograd/graph.py:6:_engine_run_backward";

#[test]
fn reentrant_checkpoints_run_a_backward_pass_of_their_own() {
    let lines = format!(
        "alloc a 1MiB {FORWARD}\nalloc t 2MiB {AGAIN}\nfree t {AGAIN}\nalloc b 3MiB {AGAIN}\nalloc g 4MiB {INNER_BACKWARD}\n\
         free b {INNER_BACKWARD}\nfree g {INNER_BACKWARD}\nfree a"
    );
    with_text(&lines, |device| {
        let expected = [
            (1, Role::Activation),
            (2, Role::Temporary),
            (3, Role::Activation),
            (4, Role::Temporary),
        ];
        assert_eq!(roles(device), expected);
    });
}

#[test]
fn where_models_are_built_in_sight_what_has_no_stack_is_no_model() {
    let used = format!("unrecorded alloc w 3MiB\nunrecorded alloc x 1MiB {FORWARD}");
    with_text(&used, |device| {
        assert!(roles(device).contains(&(3, Role::Parameter)));
    });
    let built = "unrecorded alloc p 5MiB train.py:1:<module> > m.py:2:load_weights";
    with_text(&format!("{used}\n{built}"), |device| {
        assert!(roles(device).contains(&(3, Role::Unknown)));
        assert!(roles(device).contains(&(5, Role::Parameter)));
    });
}

#[test]
fn nothing_is_claimed_without_evidence() {
    let lines = "unrecorded alloc w 3MiB\nalloc a 1MiB\nfree a\nalloc b 2MiB x.py:1:f";
    with_text(lines, |device| {
        assert!(device.phases().ranges.is_empty());
        assert!(roles(device).iter().all(|&(_, role)| role == Role::Unknown));
    });
}

#[test]
fn a_category_in_the_file_comes_first() {
    let event = |address: u32, category: &str| {
        format!(
            r#"{{"action": "alloc", "addr": {address}, "size": 512, "stream": 0, "category": "{category}",
            "frames": [{{"name": "step", "filename": "torch/optim/adam.py", "line": 1}}]}}"#
        )
    };
    let events = [event(512, "gradient"), event(1024, "unknown")].join(",");
    let file = format!(r#"{{"segments": [], "device_traces": [[{events}]]}}"#);
    let recording = Recording::of(vramscope_core::decode(file.as_bytes()).unwrap());
    let rules = recording.device(0).unwrap().rule_of();
    let found: Vec<_> = rules
        .iter()
        .map(|id| (id.role(), id.rule().confidence))
        .collect();
    let expected = [
        (Role::Gradient, Confidence::Certain),
        (Role::OptimizerState, Confidence::Likely),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_file_has_a_rule_per_allocation_and_phases_apart() {
    for file in all_files() {
        let recording = recorded(&file);
        for device in recording.devices() {
            assert_eq!(
                device.rule_of().len(),
                device.history.allocations.len(),
                "{}",
                file.name
            );
            let ranges = &device.phases().ranges;
            let apart = ranges.windows(2).all(|pair| pair[0].to <= pair[1].from);
            let whole = ranges
                .iter()
                .all(|range| range.from < range.to && range.to <= device.history.event_count);
            assert!(apart && whole, "{}", file.name);
        }
    }
}

/// The roles of all allocations of all devices of a snapshot.
fn roles_of(snapshot: Snapshot) -> Vec<Role> {
    let recording = Recording::of(snapshot);
    let rules = recording.devices().flat_map(Device::rule_of);
    rules.map(|rule| rule.role()).collect()
}

/// The path at the beginning of a part of a pickle as [`encode`] writes it, and the number of bytes before it.
fn path(rest: &[u8]) -> Option<(usize, &str)> {
    let (header, length) = match *rest {
        // SHORT_BINUNICODE and BINUNICODE.
        [0x8c, length, b'/', ..] => (2, usize::from(length)),
        [b'X', a, b, c, d, b'/', ..] => (5, u32::from_le_bytes([a, b, c, d]) as usize),
        _ => return None,
    };
    let text = str::from_utf8(rest.get(header..header + length)?).ok()?;
    // Numbers may look like the beginning of a text, but not like a whole one.
    (!text.contains(char::is_control)).then_some((header, text))
}

/// A pickle as [`encode`] writes it, with all paths below the folder `root`.
fn moved(pickle: &[u8], root: &str) -> Vec<u8> {
    let mut moved = Vec::new();
    let mut at = 0;
    while let Some(byte) = pickle.get(at) {
        let Some((header, text)) = path(&pickle[at..]) else {
            moved.push(*byte);
            at += 1;
            continue;
        };
        moved.push(b'X');
        moved.extend(((root.len() + text.len()) as u32).to_le_bytes());
        moved.extend([root, text].concat().bytes());
        at += header + text.len();
    }
    moved
}

/// The folders of code and packages reveal nothing, whatever their names.
fn other_folders_change_no_role(files: impl Iterator<Item = File>) {
    for file in files {
        let mut pickle = Vec::new();
        let snapshot = decoded(&file);
        encode(&snapshot, &mut pickle).unwrap();
        let has_packages = pickle.windows(13).any(|text| text == b"site-packages");
        let before = roles_of(snapshot);
        let root =
            "/home/me/optimized-llm/checkpoint/kv_cache_paper/optim/model_loader/safetensors";
        let moved = moved(&pickle, root);
        assert!(moved.len() > pickle.len() || !has_packages, "{}", file.name);
        let after = roles_of(decode(moved.as_slice()).unwrap());
        assert_eq!(after, before, "{}", file.name);
    }
}

fn recordings_of_roles(half: &str) -> impl Iterator<Item = File> {
    let files = fixtures_in(&format!("roles/{half}")).into_iter();
    files.filter(|file| file.name.ends_with(".pickle.zst"))
}

#[test]
fn other_folders_change_no_role_by_rules() {
    other_folders_change_no_role(recordings_of_roles("rules"));
}

#[test]
fn other_folders_change_no_measured_role() {
    other_folders_change_no_role(recordings_of_roles("measured"));
}

#[test]
fn other_folders_change_no_role_of_other_files() {
    other_folders_change_no_role(fixtures().into_iter());
}

/// Known roles in real files: the programs are those of one course, whose models and optimizers are public. In MiB at the
/// peak.
const REAL: [(&str, &[(Role, u64)]); 6] = [
    (
        "LINYUNLinYun",
        &[
            (Role::Parameter, 12_997),
            (Role::Gradient, 12_995),
            (Role::OptimizerState, 25_992),
            (Role::Activation, 39),
            (Role::Temporary, 12_996),
        ],
    ),
    (
        "aimetrics",
        &[
            (Role::Parameter, 12_996),
            (Role::Gradient, 12_996),
            (Role::OptimizerState, 25_992),
            (Role::Activation, 10),
            (Role::Temporary, 12_996),
        ],
    ),
    (
        "Wuyh11",
        &[
            (Role::Parameter, 1_615),
            (Role::Gradient, 1_614),
            (Role::OptimizerState, 3_229),
            (Role::Temporary, 1_614),
        ],
    ),
    (
        "bolongcheng",
        // 6,449 MiB of the parameters are casts to bfloat16.
        &[(Role::Parameter, 19_445), (Role::Activation, 18_126)],
    ),
    (
        "notHanmin",
        &[
            // 3,781 MiB of them are casts to bfloat16.
            (Role::Parameter, 11_403),
            (Role::Gradient, 7_622),
            (Role::OptimizerState, 15_245),
            (Role::Activation, 7_415),
        ],
    ),
    (
        "LfieLike",
        &[(Role::Parameter, 12_852), (Role::KvCache, 2_761)],
    ),
];

#[test]
fn real_training_runs() {
    for file in real_files() {
        let Some((_, expected)) = REAL.iter().find(|(owner, _)| file.name.starts_with(owner))
        else {
            continue;
        };
        let recording = recorded(&file);
        let found = peak(recording.device(0).unwrap());
        for (role, mib) in *expected {
            let bytes = found.get(role).copied().unwrap_or(0);
            let is_near = bytes.abs_diff(mib * MIB) <= mib * MIB / 100 + MIB;
            assert!(
                is_near,
                "{}: {role:?} {} MiB, not {mib}",
                file.name,
                bytes / MIB
            );
        }
        let unknown = found.get(&Role::Unknown).copied().unwrap_or(0);
        assert!(unknown * 100 <= found.values().sum(), "{}", file.name);
    }
}

/// With a distributed optimizer Megatron makes two buffers, the first for all parameters; without one, a single buffer for
/// all gradients.
#[test]
fn buffers_of_megatron_are_told_apart_by_their_lines() {
    let buffer = |line: u32| {
        format!("site-packages/megatron/core/distributed/param_and_grad_buffer.py:{line}:__init__")
    };
    let both = format!(
        "alloc p 4MiB train.py:3:<module> > {}\nalloc g 8MiB train.py:3:<module> > {}",
        buffer(500),
        buffer(520)
    );
    let expected = [(4, Role::Parameter), (8, Role::Gradient)];
    assert_eq!(with_text(&both, roles), expected);
    let alone = format!("alloc g 8MiB train.py:3:<module> > {}", buffer(520));
    assert_eq!(with_text(&alone, roles), [(8, Role::Gradient)]);
}

/// The highest sum of a role, compared with sums at every moment.
#[test]
fn the_peak_of_a_role_is_the_highest_of_all_moments() {
    with_text(&step(BACKWARD), |device| {
        let table = &device.history.allocations;
        for role in Role::ALL {
            let at = |moment: u32| {
                let rows = device.rule_of().iter().enumerate();
                let own = rows.filter(|(row, rule)| {
                    rule.role() == role && table.born[*row] <= moment && moment < table.died[*row]
                });
                own.map(|(row, _)| table.bytes[row]).sum::<u64>()
            };
            let slow = (0..=device.history.event_count).map(at).max().unwrap();
            let (bytes, moment) = peak_of_role(device, role);
            assert_eq!((bytes, bytes), (slow, at(moment)), "{role:?}");
        }
    });
}

/// Samples show the roles that they are about, and nothing unexpected.
#[test]
fn samples_have_the_roles_and_passes_that_they_tell_of() {
    let waited = vramscope_synth::samples::sample("oom-waited.pickle").unwrap();
    let training = vramscope_synth::samples::sample("training.pickle").unwrap();
    let [waited, training] = [waited, training].map(|sample| {
        let bytes = sample.to_pickle(&WriteOptions::new(Producer::Python(2, 10)));
        Recording::of(decode(&bytes[..]).unwrap())
    });
    let roles: BTreeMap<Role, u64> = peak(waited.device(0).unwrap());
    let expected = [
        (Role::Parameter, 100 << 20),
        (Role::Activation, 290 << 20),
        (Role::Communication, 400 << 20),
    ];
    assert_eq!(roles, BTreeMap::from(expected));
    let ranges = &training.device(0).unwrap().phases().ranges;
    let forward = ranges.iter().filter(|range| range.phase == Phase::Forward);
    assert!(forward.count() <= 8, "{ranges:?}");
}
