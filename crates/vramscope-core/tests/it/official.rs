//! The official viewer's own algorithms, rewritten here: slow, obvious, mistakes included.
//!
//! FORMAT.md 4.1 (`annotate_snapshot`), 4.2 (`process_alloc_data`, both views, with its cap on the number
//! of drawn allocations) and 4.4 (the state simulation). Here they are checked against what the official
//! JavaScript printed for the real files; `golden` then compares our own analyses with them.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use vramscope_core::Snapshot;
use vramscope_core::ids::EventId;
use vramscope_core::model::{Action, BlockState};
use vramscope_synth::files::{real_files, shared};

use crate::support::decoded;

/// A trace entry after normalisation.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// `free` stands for a request and the completion right after it.
    pub action: &'static str,
    pub addr: u64,
    pub size: u64,
    /// Renumbered by first appearance.
    pub stream: u32,
    /// Number of the file's events covered by this entry and all before it.
    pub raw_end: u32,
}

/// A segment after normalisation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Range {
    pub addr: u64,
    pub size: u64,
    pub stream: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Block {
    pub requested_size: u64,
    pub free_requested: bool,
}

/// One device's normalised events and final state.
pub(crate) struct Device {
    pub entries: Vec<Entry>,
    /// In file order.
    pub segments: Vec<Range>,
    /// Active blocks: (address, state), in file order.
    pub blocks: Vec<(u64, Block)>,
}

/// FORMAT.md 4.1. Streams are numbered over all devices, traces first.
pub(crate) fn annotate(snapshot: &Snapshot) -> Vec<Device> {
    let mut names: HashMap<i64, u32> = HashMap::from([(0, 0)]);
    let mut name = |stream: i64| {
        let next = names.len() as u32;
        *names.entry(stream).or_insert(next)
    };
    let mut devices: Vec<Device> = Vec::new();
    for trace in &snapshot.traces {
        let mut entries: Vec<Entry> = Vec::new();
        for (raw_end, row) in (1..).zip(trace.clone()) {
            let event = snapshot.events.get(EventId(row));
            let stream = name(snapshot.contexts.get(event.context).stream);
            if event.action == Action::FreeCompleted
                && let Some(last) = entries.last_mut()
                && last.action == "free_requested"
                && last.addr == event.addr
            {
                last.action = "free";
                last.raw_end = raw_end;
                continue;
            }
            let action = event.action.name().unwrap_or("other");
            entries.push(Entry {
                action,
                addr: event.addr,
                size: event.size,
                stream,
                raw_end,
            });
        }
        devices.push(Device {
            entries,
            segments: Vec::new(),
            blocks: Vec::new(),
        });
    }
    add_final_state(snapshot, &mut devices, &mut name);
    devices
}

/// The segments and active blocks of the final state, for the devices that have a trace.
fn add_final_state(snapshot: &Snapshot, devices: &mut [Device], name: &mut impl FnMut(i64) -> u32) {
    for segment in &snapshot.segments.rows {
        let stream = name(segment.stream.unwrap_or(0));
        let Some(device) = devices.get_mut(segment.device as usize) else {
            continue;
        };
        device.segments.push(Range {
            addr: segment.address,
            size: segment.total_size,
            stream,
        });
        for id in segment.block_ids() {
            let block = snapshot.blocks.get(id);
            if block.state.is_active() {
                let free_requested = block.state == BlockState::ActivePendingFree;
                let requested_size = snapshot.blocks.requested_bytes(block);
                device.blocks.push((
                    block.address,
                    Block {
                        requested_size,
                        free_requested,
                    },
                ));
            }
        }
    }
}

/// The result of the timeline.
#[derive(Debug, PartialEq)]
pub(crate) struct Timeline {
    pub elements: usize,
    pub steps: usize,
    pub max_size: u64,
    pub peak: u64,
    pub peak_step: i64,
    pub last: Option<u64>,
    /// Drawn polygons and the band of the summarised allocations.
    pub series: usize,
    /// Elements for which an alloc came while their address was taken: never freed.
    pub never_freed: Vec<u64>,
    /// Size freed by the last action; 0 if it freed nothing. `last` was taken before that.
    pub freed_last: u64,
}

/// FORMAT.md 4.2.
pub(crate) fn timeline(device: &Device, segment_view: bool, max_entries: usize) -> Timeline {
    let (alloc, frees): (&str, &[&str]) = if segment_view {
        ("segment_alloc", &["segment_free"])
    } else {
        ("alloc", &["free", "free_completed"])
    };
    let mut sizes: Vec<u64> = Vec::new();
    let mut initially: Vec<usize> = Vec::new();
    let mut actions: Vec<usize> = Vec::new();
    let mut live: BTreeMap<u64, usize> = BTreeMap::new();
    let mut never_freed = Vec::new();
    for entry in &device.entries {
        if entry.action == alloc {
            sizes.push(entry.size);
            if let Some(older) = live.insert(entry.addr, sizes.len() - 1) {
                never_freed.push(sizes[older]);
            }
            actions.push(sizes.len() - 1);
        } else if frees.contains(&entry.action) {
            match live.remove(&entry.addr) {
                Some(element) => actions.push(element),
                None => {
                    sizes.push(entry.size);
                    initially.push(sizes.len() - 1);
                    actions.push(sizes.len() - 1);
                }
            }
        }
    }
    let remaining: Vec<(u64, u64)> = if segment_view {
        device
            .segments
            .iter()
            .map(|segment| (segment.addr, segment.size))
            .collect()
    } else {
        let allocated = device
            .blocks
            .iter()
            .filter(|(_, block)| !block.free_requested);
        allocated
            .map(|(addr, block)| (*addr, block.requested_size))
            .collect()
    };
    for (addr, size) in remaining {
        if !live.contains_key(&addr) {
            sizes.push(size);
            initially.push(sizes.len() - 1);
        }
    }
    initially.reverse();
    if actions.is_empty()
        && let Some(one) = initially.pop()
    {
        actions.push(one);
    }
    let mut timeline = draw(&sizes, &initially, &actions, max_entries);
    timeline.never_freed = never_freed;
    timeline
}

/// The second half of 4.2: bands on a stack, one step per action and three per shift of those above.
fn draw(sizes: &[u64], initially: &[usize], actions: &[usize], max_entries: usize) -> Timeline {
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|&element| std::cmp::Reverse(sizes[element]));
    let mut drawing = Drawing {
        sizes,
        is_drawn: vec![false; sizes.len()],
        seen: vec![false; sizes.len()],
        ..Drawing::default()
    };
    for &element in by_size.iter().take(max_entries) {
        drawing.is_drawn[element] = true;
    }
    for &element in initially {
        drawing.add(element);
    }
    for &element in actions {
        drawing.act(element);
    }
    let Drawing { totals, .. } = drawing;
    let peak = totals.iter().copied().max().unwrap_or(0);
    let peak_step = totals.iter().position(|&sum| sum == peak);
    Timeline {
        elements: sizes.len(),
        steps: totals.len(),
        max_size: drawing.max_size,
        peak,
        peak_step: peak_step.map_or(-1, |step| step as i64),
        last: totals.last().copied(),
        series: drawing.polygons + 1,
        never_freed: Vec::new(),
        freed_last: drawing.freed_last,
    }
}

/// State that grows while the viewer processes the actions.
#[derive(Default)]
struct Drawing<'a> {
    sizes: &'a [u64],
    is_drawn: Vec<bool>,
    /// Elements that are in `summarised`.
    seen: Vec<bool>,
    /// Drawn elements from the bottom up.
    stack: Vec<usize>,
    /// Bytes of the drawn elements, and of the others.
    total: u64,
    summarised: u64,
    max_size: u64,
    polygons: usize,
    /// The sum at every step.
    totals: Vec<u64>,
    freed_last: u64,
}

impl Drawing<'_> {
    fn sum(&self) -> u64 {
        self.total + self.summarised
    }

    fn add(&mut self, element: usize) {
        if self.is_drawn[element] {
            self.stack.push(element);
            self.polygons += 1;
            self.total += self.sizes[element];
        } else {
            self.seen[element] = true;
            self.summarised += self.sizes[element];
        }
    }

    /// The first action of an element adds it, the second removes it.
    fn act(&mut self, element: usize) {
        let place = self.stack.iter().rposition(|&other| other == element);
        if place.is_none() && !self.seen[element] {
            self.add(element);
            self.totals.push(self.sum());
            self.freed_last = 0;
        } else {
            self.totals.push(self.sum());
            self.freed_last = self.sizes[element];
            match place {
                Some(place) => {
                    self.stack.remove(place);
                    if place < self.stack.len() {
                        self.totals.extend([self.sum(); 3]);
                    }
                    self.total -= self.sizes[element];
                }
                None => self.summarised -= self.sizes[element],
            }
        }
        // Upstream forgets elements that are not drawn here, which clips the peak.
        if self.is_drawn[element] {
            self.max_size = self.max_size.max(self.sum());
        }
    }
}

/// Segments and active blocks at a moment.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub segments: Vec<Range>,
    pub blocks: BTreeMap<u64, Block>,
}

impl State {
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    pub(crate) fn block_bytes(&self) -> u64 {
        self.blocks.values().map(|block| block.requested_size).sum()
    }
}

/// FORMAT.md 4.4: the final state with all events after entry `idx` undone. An error where the official
/// viewer throws.
pub(crate) fn state_after(device: &Device, idx: usize) -> Result<State, String> {
    state_with(device, idx + 1)
}

/// The same after the first `count` entries.
pub(crate) fn state_with(device: &Device, count: usize) -> Result<State, String> {
    let mut segments = device.segments.clone();
    segments.sort_by_key(|segment| segment.addr);
    let mut state = State {
        segments,
        blocks: device.blocks.iter().copied().collect(),
    };
    for entry in device.entries.iter().skip(count).rev() {
        undo(&mut state, entry)?;
    }
    Ok(state)
}

fn undo(state: &mut State, entry: &Entry) -> Result<(), String> {
    let block = Block {
        requested_size: entry.size,
        free_requested: false,
    };
    let range = Range {
        addr: entry.addr,
        size: entry.size,
        stream: entry.stream,
    };
    match entry.action {
        "free" => drop(state.blocks.insert(entry.addr, block)),
        "free_completed" => drop(state.blocks.insert(
            entry.addr,
            Block {
                free_requested: true,
                ..block
            },
        )),
        "free_requested" => {
            let block = state
                .blocks
                .get_mut(&entry.addr)
                .ok_or("free_requested of no block")?;
            block.free_requested = false;
        }
        "alloc" => drop(state.blocks.remove(&entry.addr)),
        "segment_free" => insert(&mut state.segments, range),
        "segment_unmap" => {
            insert(&mut state.segments, range);
            merge_touching(&mut state.segments, range.addr);
        }
        "segment_alloc" => state.segments.retain(|segment| segment.addr != entry.addr),
        "segment_map" => cut(&mut state.segments, range)?,
        _ => {}
    }
    Ok(())
}

fn insert(segments: &mut Vec<Range>, range: Range) {
    let at = segments.partition_point(|segment| segment.addr < range.addr);
    segments.insert(at, range);
}

/// Joins the segment at `addr` with its neighbours where they touch on one stream.
fn merge_touching(segments: &mut Vec<Range>, addr: u64) {
    let at = segments.partition_point(|segment| segment.addr < addr);
    for first in [at, at.wrapping_sub(1)] {
        let (Some(&a), Some(&b)) = (segments.get(first), segments.get(first.wrapping_add(1)))
        else {
            continue;
        };
        if a.addr + a.size == b.addr && a.stream == b.stream {
            segments[first].size += b.size;
            segments.remove(first + 1);
        }
    }
}

fn cut(segments: &mut Vec<Range>, range: Range) -> Result<(), String> {
    let end = range.addr + range.size;
    let holds = |segment: &Range| segment.addr <= range.addr && end <= segment.addr + segment.size;
    let at = segments
        .iter()
        .position(holds)
        .ok_or("segment_map of no segment")?;
    let whole = segments.remove(at);
    let before = Range {
        size: range.addr - whole.addr,
        ..whole
    };
    let after = Range {
        addr: end,
        size: whole.addr + whole.size - end,
        ..whole
    };
    for piece in [after, before] {
        if piece.size > 0 {
            segments.insert(at, piece);
        }
    }
    Ok(())
}

/// One line of the reference: what the official JavaScript printed for a file.
#[derive(Deserialize)]
pub(crate) struct GoldenFile {
    pub file: String,
    pub devices: Vec<GoldenRow>,
}

#[derive(Deserialize)]
pub(crate) struct GoldenRow {
    pub d: usize,
    pub seg: Option<bool>,
    pub elements: Option<usize>,
    pub steps: Option<usize>,
    pub max_size: Option<u64>,
    pub peak: Option<u64>,
    pub peak_step: Option<i64>,
    pub last: Option<u64>,
    pub series: Option<usize>,
    /// An entry's number, or the text `err`.
    pub sim: Option<serde_json::Value>,
    pub nseg: Option<usize>,
    pub segbytes: Option<u64>,
    pub nblk: Option<usize>,
    pub blkbytes: Option<u64>,
}

/// The reference for one cap on drawn allocations; none without the shared files.
pub(crate) fn golden(max_entries: usize) -> Vec<GoldenFile> {
    let Some(shared) = shared() else {
        return Vec::new();
    };
    let path = shared.join(format!("reference/golden/timeline_max{max_entries}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn check_row(place: &str, row: &GoldenRow, device: &Device, max_entries: usize) {
    if let Some(segment_view) = row.seg {
        let ours = timeline(device, segment_view, max_entries);
        assert_eq!(Some(ours.elements), row.elements, "{place}: elements");
        assert_eq!(Some(ours.steps), row.steps, "{place}: steps");
        assert_eq!(Some(ours.max_size), row.max_size, "{place}: max_size");
        assert_eq!(Some(ours.peak), row.peak, "{place}: peak");
        assert_eq!(Some(ours.peak_step), row.peak_step, "{place}: peak_step");
        assert_eq!(ours.last, row.last, "{place}: last");
        assert_eq!(Some(ours.series), row.series, "{place}: series");
        return;
    }
    let sim = row.sim.as_ref().unwrap();
    let Some(idx) = sim.as_u64() else {
        // The viewer threw while undoing everything down to the first entry, or to the middle one.
        assert_eq!(sim, "err", "{place}");
        assert!(
            state_after(device, 0).is_err(),
            "{place}: the viewer throws"
        );
        return;
    };
    let state = state_after(device, idx as usize).unwrap();
    assert_eq!(
        Some(state.segments.len()),
        row.nseg,
        "{place}: segments after {idx}"
    );
    assert_eq!(
        Some(state.segment_bytes()),
        row.segbytes,
        "{place}: segment bytes after {idx}"
    );
    assert_eq!(
        Some(state.blocks.len()),
        row.nblk,
        "{place}: blocks after {idx}"
    );
    assert_eq!(
        Some(state.block_bytes()),
        row.blkbytes,
        "{place}: block bytes after {idx}"
    );
}

#[test]
fn these_are_the_official_algorithms() {
    let files = real_files();
    for max_entries in [15_000, 50] {
        for golden in golden(max_entries) {
            let file = files
                .iter()
                .find(|file| file.name == golden.file)
                .expect(&golden.file);
            let devices = annotate(&decoded(file));
            for row in &golden.devices {
                let place = format!("{}, device {}, at most {max_entries}", file.name, row.d);
                check_row(&place, row, &devices[row.d], max_entries);
            }
        }
    }
}
