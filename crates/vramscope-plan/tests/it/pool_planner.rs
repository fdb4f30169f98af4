//! Inductor's pools compared with torch 2.15's own planner: every offset, size, tree and live range.

use std::io::Read;

use serde_json::{Value, json};
use vramscope_plan::packing::csv::read;
use vramscope_plan::pool_planner::{Buffer, Mode, Node, Plan, Planner, Pool};
use vramscope_plan::ranges::Range;
use vramscope_synth::files::fixtures_dir;

fn unpacked(name: &str) -> Vec<u8> {
    let file = std::fs::File::open(fixtures_dir().join("planning").join(name)).unwrap();
    let mut bytes = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).unwrap();
    decoder.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Numbers devices by name, in order of appearance.
fn device_number(devices: &mut Vec<String>, name: &Value) -> u32 {
    let name = name.as_str().unwrap().to_owned();
    let at = devices
        .iter()
        .position(|device| *device == name)
        .unwrap_or(devices.len());
    if at == devices.len() {
        devices.push(name);
    }
    u32::try_from(at).unwrap()
}

fn mode(case: &Value) -> Mode {
    match case["memory_pool"].as_str().unwrap() {
        "none" => Mode::None,
        "intermediates" => Mode::Intermediates,
        "outputs" => Mode::Outputs,
        "combined" => Mode::Combined,
        other => panic!("{other}"),
    }
}

#[test]
fn every_plan_is_torchs() {
    let cases: Vec<Value> = serde_json::from_slice(&unpacked("plans.json.zst")).unwrap();
    assert_eq!(cases.len(), 46);
    for case in &cases {
        let mut devices = Vec::new();
        let records = case["buffers"].as_array().unwrap();
        let number = |value: &Value| value.as_u64().unwrap();
        let buffers: Vec<Buffer> = records
            .iter()
            .map(|record| Buffer {
                size: number(&record["size"]),
                life: Range {
                    start: number(&record["begin"]),
                    end: number(&record["end"]),
                },
                device: device_number(&mut devices, &record["device"]),
                is_output: record["is_output"].as_bool().unwrap(),
                has_unbacked_size: !record["earliest_available"].is_null(),
            })
            .collect();
        let mut planner = Planner::new(buffers, mode(case));
        assert!(planner.run(&mut || false));
        let plan = planner.finish();
        let name = format!("{} {}", case["case"], case["memory_pool"]);
        for (place, record) in plan.offsets.iter().zip(records) {
            let ours = (format!("pool{}", place.pool), place.offset);
            let theirs = (
                record["pool"].as_str().unwrap().to_owned(),
                number(&record["offset"]),
            );
            assert_eq!(ours, theirs, "{name} {}", record["name"]);
        }
        let pools = case["pools"].as_array().unwrap();
        assert_eq!(plan.pools.len(), pools.len(), "{name}");
        for (at, (ours, theirs)) in plan.pools.iter().zip(pools).enumerate() {
            let ours = shown(&plan, at, ours, &devices, records, theirs["tree"].is_null());
            assert_eq!(&ours, theirs, "{name}");
        }
        assert_eq!(plan.total_bytes(), case["total_pool_size"], "{name}");
    }
}

/// A pool in the format of the reference.
fn shown(
    plan: &Plan,
    at: usize,
    pool: &Pool,
    devices: &[String],
    records: &[Value],
    is_tree_left_out: bool,
) -> Value {
    let inside = plan
        .offsets
        .iter()
        .zip(records)
        .filter(|(place, _)| place.pool == at);
    let ends = inside.map(|(place, record)| place.offset + record["size"].as_u64().unwrap());
    let live: Vec<_> = pool
        .live
        .iter()
        .map(|range| [range.start, range.end])
        .collect();
    json!({
        "name": format!("pool{at}"),
        "device": devices[pool.device as usize],
        "can_expand": pool.can_expand,
        "size": pool.size,
        "size_hint": pool.size_hint,
        "first": live[0][0],
        "last": live[live.len() - 1][1],
        "live_ranges": live,
        "high_water": ends.max(),
        "tree": if is_tree_left_out { Value::Null } else { tree(plan, &pool.tree, 0, records) },
    })
}

fn tree(plan: &Plan, nodes: &[Node], at: usize, records: &[Value]) -> Value {
    let all = |children: &[usize]| -> Vec<Value> {
        children
            .iter()
            .map(|&child| tree(plan, nodes, child, records))
            .collect()
    };
    match &nodes[at] {
        Node::Buffer(buffer) => json!({
            "alloc": records[*buffer]["name"],
            "offset": plan.offsets[*buffer].offset,
            "size": records[*buffer]["size"],
        }),
        Node::Temporal(children) => json!({ "temporal": all(children) }),
        Node::Spatial(children) => json!({ "spatial": all(children) }),
    }
}

/// The needs of torch's planner for real lives, and for a benchmark that is hard to pack.
#[test]
fn totals_are_torchs_for_any_problem() {
    let eager = [("gpt6_train", 78_904_260), ("gpt6_generate", 1_968_128)];
    for (name, expected) in eager {
        let table = read(unpacked(&format!("traces/eager_{name}.csv.zst")).as_slice()).unwrap();
        assert_eq!(total(&table), expected, "{name}");
    }
    let minimalloc = [
        1_818_624, 2_120_704, 2_087_936, 1_699_840, 2_952_192, 1_848_320, 1_662_976, 1_768_448,
        3_100_672, 2_146_304, 3_229_696,
    ];
    for (letter, expected) in ('A'..='K').zip(minimalloc) {
        let file = format!("planning/minimalloc/{letter}.1048576.csv");
        let text = std::fs::read(fixtures_dir().join(file)).unwrap();
        assert_eq!(total(&read(text.as_slice()).unwrap()), expected, "{letter}");
    }
}

fn total(table: &vramscope_plan::packing::csv::Table) -> u64 {
    let mut planner = Planner::of_problem(&table.problem);
    planner.run(&mut || false);
    planner.finish().total_bytes()
}
