//! Snapshots in the shape that `_profile_to_snapshot` makes of a torch profile.

use std::collections::BTreeMap;

use super::{Action, Block, BlockState, Frame, Segment, Snapshot, TraceEntry};

/// The most bytes that the made-up segment of a device may span: real segments lie close together.
const MAX_SPAN_BYTES: u64 = 1 << 46;

impl Snapshot {
    /// The same run as the profiler records it: allocs and frees alone, without times, and
    /// one segment per device from the lowest address to the highest.
    #[must_use]
    pub fn as_profile(&self) -> Self {
        let mut profile = Self {
            stacks: self.stacks.clone(),
            ..Self::default()
        };
        for frame in &mut profile.stacks.frames {
            let name = format!("{}({}): {}", frame.filename, frame.line, frame.name);
            *frame = Frame::new(name, "none", 0);
        }
        for (device, trace) in self.device_traces.iter().enumerate() {
            let entries: Vec<TraceEntry> = trace.iter().flat_map(profiled).collect();
            profile
                .segments
                .extend(fake_segment(device as i32, &entries));
            profile.device_traces.push(entries);
        }
        profile
    }
}

/// The profiler records one free of an allocation. It is written as an adjacent pair once complete.
fn profiled(entry: &TraceEntry) -> Vec<TraceEntry> {
    let bare = TraceEntry {
        stream: 0,
        time_us: None,
        category: None,
        ..entry.clone()
    };
    match entry.action {
        Action::Alloc => {
            let category = entry.category.clone().or(Some("unknown".into()));
            vec![TraceEntry { category, ..bare }]
        }
        Action::FreeCompleted => {
            vec![
                TraceEntry {
                    action: Action::FreeRequested,
                    ..bare.clone()
                },
                bare,
            ]
        }
        _ => Vec::new(),
    }
}

/// The segment that spans all allocations in `entries`; `None` without allocations.
fn fake_segment(device: i32, entries: &[TraceEntry]) -> Option<Segment> {
    let mut live: BTreeMap<u64, &TraceEntry> = BTreeMap::new();
    for entry in entries {
        match entry.action {
            Action::Alloc => live.insert(entry.addr, entry),
            _ => live.remove(&entry.addr),
        };
    }
    let start = entries.iter().map(|e| e.addr).min()?;
    let end = entries
        .iter()
        .map(|e| e.addr.saturating_add(e.size))
        .max()?;
    let total_size = end - start;
    if total_size > MAX_SPAN_BYTES {
        return None;
    }
    let mut blocks = Vec::new();
    let mut at = start;
    for (&addr, entry) in &live {
        blocks.extend(block(at, addr - at, None));
        blocks.extend(block(addr, entry.size, Some(entry)));
        at = addr + entry.size;
    }
    blocks.extend(block(at, end - at, None));
    Some(Segment {
        device,
        address: start,
        total_size,
        blocks,
        ..Segment::default()
    })
}

fn block(address: u64, size: u64, tenant: Option<&TraceEntry>) -> Option<Block> {
    let state = match tenant {
        Some(_) => BlockState::ActiveAllocated,
        None => BlockState::Inactive,
    };
    let frames = tenant.and_then(|entry| entry.frames);
    let block = Block {
        address,
        size,
        requested_size: size,
        state,
        frames,
        history: Vec::new(),
    };
    (size > 0).then_some(block)
}
