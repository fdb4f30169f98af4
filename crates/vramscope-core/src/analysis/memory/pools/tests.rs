//! Labels, evidence, names and owners of pools, in small recordings.

use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

use super::*;
use crate::analysis::recording::Recording;
use crate::decode;

fn recording(story: &str) -> Recording {
    let bytes = text::pickle(story, Producer::Python(2, 15)).unwrap();
    Recording::of(decode(bytes.as_slice()).unwrap())
}

fn told(story: &str) -> (String, String) {
    let recording = recording(story);
    let pool = &recording.pools().all()[1];
    assert_eq!(pool.label(), recording.pools().label(pool.id));
    (pool.label(), pool.because(&recording.snapshot))
}

/// A file with the default pool and another pool with these lines.
fn file(lines: &str) -> String {
    format!("alloc x 1MiB main.py:1:main\n{lines}")
}

#[test]
fn ids_tell_the_default_pool_and_the_pools_of_graphs() {
    let recording = recording(&file("alloc a 4MiB pool=3,0 stream=7 main.py:9:run"));
    let pools = recording.pools();
    let labels: Vec<_> = pools.all().iter().map(Pool::label).collect();
    assert_eq!(labels, ["default pool", "graph pool (3, 0)"]);
    assert!(pools.all().iter().all(|pool| !pool.is_inferred()));
    assert_eq!(pools.number(PoolId(3, 0)), Some(1));
    assert_eq!(
        (pools.number(PoolId(0, 9)), pools.label(PoolId(0, 9))),
        (None, "private pool (0, 9)".to_owned())
    );
}

#[test]
fn stacks_and_streams_tell_what_else_a_pool_is() {
    let tree = "alloc a 4MiB pool=0,1 stream=7 main.py:9:run > torch/_inductor/cudagraph_trees.py:880:_record";
    let shared =
        "alloc a 4MiB pool=0,1 stream=7 vllm/compilation/cuda_graph.py:88:__call__ > m.py:2:f";
    let symmetric = "alloc a 4MiB pool=0,1 torch/distributed/_symmetric_memory/__init__.py:9:empty";
    let compiled = "alloc a 4MiB pool=2,0 stream=7 compile='Torch-Compiled Region: 0/0' m.py:2:f";
    let found = [
        (
            tree,
            "graph tree pool (0, 1)",
            "beneath _inductor/cudagraph_trees.py:880 _record",
        ),
        (
            shared,
            "shared graph pool (0, 1)",
            "which captures CUDA graphs",
        ),
        (
            symmetric,
            "symmetric memory pool (0, 1)",
            "100 % of its bytes",
        ),
        (
            compiled,
            "compiled graph pool (2, 0)",
            "(Torch-Compiled Region: 0/0)",
        ),
        (
            "alloc a 4MiB pool=0,1 m.py:2:f",
            "MemPool (0, 1)",
            "default stream",
        ),
        (
            "alloc a 4MiB pool=0,1 stream=7 m.py:2:f",
            "private pool (0, 1)",
            "which of them",
        ),
    ];
    for (lines, label, because) in found {
        let (told_label, told_because) = told(&file(lines));
        assert_eq!(told_label, label);
        assert!(told_because.contains(because), "{told_because}");
        let is_inferred = told_because.starts_with("Inferred: ");
        assert_eq!(is_inferred, !label.starts_with("private"), "{told_because}");
    }
}

#[test]
fn less_than_half_of_the_bytes_tell_nothing() {
    let lines = "alloc a 4MiB pool=0,1 stream=7 m.py:2:f\n\
        alloc b 3MiB pool=0,1 stream=7 torch/_inductor/cudagraph_trees.py:880:_record";
    assert_eq!(told(&file(lines)).0, "private pool (0, 1)");
}

#[test]
fn an_empty_segment_of_the_default_stream_tells_a_mem_pool() {
    let lines = "alloc a 4MiB pool=0,1 m.py:2:f\nfree a\nsegment 0x7f00f0000000 2MiB pool=0,2";
    let recording = recording(&file(lines));
    let kinds: Vec<_> = recording
        .pools()
        .all()
        .iter()
        .map(|pool| pool.kind)
        .collect();
    assert_eq!(
        kinds,
        [PoolKind::Default, PoolKind::MemPool, PoolKind::MemPool]
    );
}

#[test]
fn metadata_names_a_pool() {
    let lines = "alloc a 4MiB pool=0,1 meta='{\"pool\": \"kv\\u202e cache\"}' m.py:2:f\n\
        alloc b 3MiB pool=0,1 meta='{\"pool\": \"weights\"}' m.py:2:f\n\
        alloc c 9MiB pool=0,1 meta='{\"step\": 1}' m.py:2:f\n\
        alloc d 9MiB meta='{\"pool\": \"of the default pool\"}' m.py:2:f";
    let (label, because) = told(&file(lines));
    assert_eq!(label, "MemPool “kv\\u202e cache” (0, 1)");
    assert!(
        because.ends_with("metadata calls it “kv\\u202e cache”."),
        "{because}"
    );
}

#[test]
fn the_owner_is_the_call_site_with_the_most_bytes() {
    let lines = "alloc a 4MiB pool=0,1 kv.py:2:make\nalloc b 4MiB pool=0,1 kv.py:2:make\n\
        alloc c 7MiB pool=0,1 w.py:3:load\nalloc d 1MiB pool=0,2 w.py:3:load\n\
        alloc e 1MiB pool=0,3 kv.py:2:make\nalloc f 2MiB pool=0,3 kv.py:2:make\nalloc g 1MiB pool=0,4";
    let recording = recording(&file(lines));
    let words = |pool: &Pool| pool.owner_words(recording.call_sites());
    let words: Vec<_> = recording.pools().all().iter().map(words).collect();
    let expected = [
        None,
        Some("2 × 4.00 MiB, kv.py:2 make"),
        Some("1.00 MiB, w.py:3 load"),
        Some("2 × up to 2.00 MiB, kv.py:2 make"),
        None,
    ];
    assert_eq!(words, expected.map(|words| words.map(str::to_owned)));
}

#[test]
fn the_recorder_knows_its_pools() {
    let file = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 4096, "stream": 0,
        "segment_pool_id": [0, 1], "blocks": []}, {"device": 0, "address": 16384, "total_size": 4096, "stream": 7,
        "segment_pool_id": [1, 0], "blocks": []}], "device_traces": [[]], "capture": {"tool": "x"}}"#;
    let recording = Recording::of(decode(file.as_bytes()).unwrap());
    let pools = recording.pools().all();
    let told: Vec<_> = pools
        .iter()
        .map(|pool| (pool.label(), pool.is_inferred()))
        .collect();
    let expected = ["private pool (0, 1)", "graph pool (1, 0)"];
    assert_eq!(told, expected.map(|label| (label.to_owned(), false)));
    assert!(
        pools[0]
            .because(&recording.snapshot)
            .contains("cuMemPoolCreate")
    );
}
