//! Writes a snapshot's allocator settings and external annotations.

use std::io::{self, Write};

use super::words::Word;
use super::write::held;
use super::{Annotation, Producer, Settings};
use crate::pickle::Pickler;

/// A value among the allocator's settings.
#[derive(Clone, Copy)]
enum Setting<'a> {
    Text(&'a str),
    Int(i128),
    Float(f64),
    Bool(bool),
    Divisions,
}

pub(super) fn settings<W: Write>(
    p: &mut Pickler<W>,
    producer: Producer,
    s: &Settings,
) -> io::Result<()> {
    let mut rows = vec![];
    if producer == Producer::Xpu {
        rows.push(("PYTORCH_ALLOC_CONF", Setting::Text(&s.alloc_conf)));
        rows.push(("expandable_segments", Setting::Bool(s.expandable_segments)));
    } else {
        rows.extend([
            ("PYTORCH_CUDA_ALLOC_CONF", Setting::Text(&s.alloc_conf)),
            ("max_split_size", Setting::Int(s.max_split_size)),
            (
                "garbage_collection_threshold",
                Setting::Float(s.garbage_collection_threshold),
            ),
            ("expandable_segments", Setting::Bool(s.expandable_segments)),
            ("pinned_num_register_threads", Setting::Int(1)),
            ("release_lock_on_cudamalloc", Setting::Bool(false)),
            ("pinned_use_cuda_host_register", Setting::Bool(false)),
        ]);
        if producer.since(2, 9) {
            rows.push(("graph_capture_record_stream_reuse", Setting::Bool(false)));
        }
        if producer.since(2, 13) {
            rows.push(("max_round_threshold", Setting::Int(-1)));
            rows.push(("max_cached_size", Setting::Int(-1)));
        }
        rows.push(("roundup_power2_divisions", Setting::Divisions));
    }
    p.dict(Some(held(5)), rows, |p, (key, value)| {
        p.str(key)?;
        match value {
            Setting::Text(text) => p.str(text),
            Setting::Int(value) => p.int(value),
            Setting::Float(value) => p.float(value),
            Setting::Bool(value) => p.bool(value),
            Setting::Divisions => p.dict(Some(held(6)), 0..16_u32, |p, power| {
                p.str(&(1_u32 << power).to_string())?;
                p.int(0)
            }),
        }
    })
}

pub(super) fn annotations<W: Write>(
    p: &mut Pickler<W>,
    annotations: &[Annotation],
) -> io::Result<()> {
    p.list(Some(held(7)), annotations, |p, a| {
        p.dict(None, 0..4_u8, |p, key| match key {
            0 => {
                p.str("stage")?;
                p.str(if a.is_start { "START" } else { "END" })
            }
            1 => {
                p.shared_str(Word::Name.id(), Word::Name.text())?;
                p.str(&a.name)
            }
            2 => {
                p.shared_str(Word::Device.id(), Word::Device.text())?;
                p.int(a.device.into())
            }
            _ => {
                p.shared_str(Word::TimeUs.id(), Word::TimeUs.text())?;
                p.int(a.time_us.into())
            }
        })
    })
}
